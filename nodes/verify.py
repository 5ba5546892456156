"""The node that believes nothing: it reads an effect back through a reader that is not the writer.

Field by field it must agree with what was approved, and with the acceptance criteria worked out from the recorded
sources.
"""

from __future__ import annotations

from typing import Any, cast

from nodes.step import Moment, Step, Update
from state.acceptance import Expectation
from state.digest import Json
from state.errors import GuardRefused, ToolError
from state.operation import Operation
from store import operations
from tools.backoff import backoff_ms
from tools.contract import CancelToken, WriteTool, foreign

UNREADABLE_FOR_S = 3.0  # a reader that fails is asked again for so long


class Verify(Step):
    """Records `verified` for every committed write of the turn."""

    name = "verify"
    stands_at = frozenset({"verify"})

    def act(self, at: Moment) -> Update:
        lease, facts = at.lease, at.facts
        tools = self.agents.tools(facts.run.agent_id)
        expected = self.judge.expectation(facts.run)
        open_ = [
            each
            for each in facts.operations
            if each.effect == "write" and each.status == "committed" and each.verified is None
        ]
        judged = [
            (each, self._differences(each, cast(WriteTool, tools[each.tool]), expected, at.token)) for each in open_
        ]
        if judged:
            with self.ledger.settling(lease) as tx:
                for each, wrong in judged:
                    operations.set_verified(tx, each.operation_id, not wrong)
                    named = {"operation_id": each.operation_id, "object_id": each.object_id}
                    if wrong:
                        tx.event("verification.failed", {**named, "fields": wrong})
                    else:
                        tx.event("verification.passed", named)
                if not any(wrong for _, wrong in judged):
                    tx.set(repairs=0)
        where = self.where(self.ledger.facts(lease.run_id))
        return {"outcome": where.step if where.step in {"finish", "decide"} else "reread"}

    def _differences(
        self, operation: Operation, tool: WriteTool, expected: Expectation, token: CancelToken
    ) -> list[str]:
        """Names of the fields that do not hold; an object that cannot be read back has not been shown to exist."""
        found = self._read_back(operation, tool, token)
        if found is None:
            return ["(not found)"]
        wrong = sorted(name for name, value in operation.arguments.items() if found.get(name) != value)
        if expected.kind == "effect" and expected.effect is not None and expected.effect.tool == operation.tool:
            wrong += [name for name in expected.differences(found) if name not in wrong]
        elif expected.kind != "open":
            wrong.append("(not called for by the sources)")
        return wrong

    def _read_back(self, operation: Operation, tool: WriteTool, token: CancelToken) -> Json | None:
        """The object, or None. What is not visible yet, or cannot be read now, is waited for as long as it may take.

        Raises GuardRefused when the run is to stop meanwhile: then nothing is said about the effect.
        """
        clock = self.ledger.clock
        begun, attempt = clock.monotonic(), 0
        while True:
            attempt += 1
            found, patience_s = _seen(operation, tool)
            left = begun + int(patience_s * 1000) - clock.monotonic()
            if found is not None or left <= 0:
                return found
            clock.wait(min(backoff_ms(attempt, base_ms=100, cap_ms=10_000), left), token.event)
            if token.tripped:
                raise GuardRefused(f"{token.tripped}, while {operation.object_id} was not readable yet.")


def _seen(operation: Operation, tool: WriteTool) -> tuple[Json | None, float]:
    """The object as a reader sees it now; and where it sees none, for how many seconds that proves nothing."""
    try:
        found: Any = foreign(lambda: tool.read_back(operation.object_id or ""), "transient")
    except ToolError:
        return None, max(tool.visible_within_s, UNREADABLE_FOR_S)
    if found is None:
        return None, tool.visible_within_s
    return (cast(Json, found), 0.0) if isinstance(found, dict) else (None, 0.0)
