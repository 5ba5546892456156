"""The order of the steps, known here and nowhere else.

    admit -> decide -> (validate) -> authorize -> approve -> execute_tool -> verify -> finish
               ^          |            (reads go straight to execute_tool)      |
               └──────────┴──────── refused, told, more to do ──────────────────┘
    validate: where there is something to refuse, or a final word to check
    wait: paused, migration, reconciliation; and whenever a node finds that things have changed: back to admit

Pure and total: an outcome that is not in the table leads back to `admit`, which asks the journal. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

END = "__end__"
START = "admit"

_NEXT: dict[tuple[str, str], str] = {
    ("admit", "refused"): END,
    ("admit", "ended"): END,
    ("admit", "decide"): "decide",
    ("admit", "validate"): "validate",
    ("admit", "authorize"): "authorize",
    ("admit", "approve"): "approve",
    ("admit", "wait"): "wait",
    ("admit", "execute_tool"): "execute_tool",
    ("admit", "verify"): "verify",
    ("admit", "finish"): "finish",
    ("decide", "decided"): "validate",
    ("decide", "reads"): "execute_tool",
    ("decide", "effects"): "authorize",
    ("decide", "word"): "finish",
    ("decide", "gave_up"): "finish",
    ("validate", "reads"): "execute_tool",
    ("validate", "effects"): "authorize",
    ("validate", "refused"): "decide",
    ("validate", "given_up"): "finish",
    ("validate", "word"): "finish",
    ("authorize", "ask"): "approve",
    ("authorize", "go"): "execute_tool",
    ("authorize", "tell"): "decide",
    ("authorize", "denied"): "finish",
    ("approve", "ask_again"): "approve",
    ("execute_tool", "read"): "decide",
    ("execute_tool", "done"): "verify",
    ("execute_tool", "superseded"): "authorize",
    ("execute_tool", "unknown"): "wait",
    ("verify", "finish"): "finish",
    ("verify", "decide"): "decide",
    ("finish", "ended"): END,
}

STEPS = ("admit", "decide", "validate", "authorize", "approve", "wait", "execute_tool", "verify", "finish")


def ways(step: str) -> list[str]:
    """Every node that can follow this one, END included; for drawing the graph."""
    found = {target for (source, _), target in _NEXT.items() if source == step} | {START}
    return [name for name in (*STEPS, END) if name in found]


def next_node(state: Mapping[str, Any]) -> str:
    """The name of the next node, or END."""
    return _NEXT.get((str(state.get("step")), str(state.get("outcome"))), START)
