"""Acceptance criteria: what the recorded sources say should happen, worked out without looking at any proposal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from state.operation import Action


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the task needs, given what has been read so far.

    `incomplete`: `read` has to be read first. `effect`: exactly `effect` has to be done (`free` names arguments that
    may differ). `nothing_to_do` and `insufficient_evidence` are honest ends. `open`: the agent states no criteria, so
    any valid proposal will do and its final word counts.
    """

    kind: Literal["incomplete", "effect", "nothing_to_do", "insufficient_evidence", "open"]
    explanation: str
    read: Action | None = None
    effect: Action | None = None
    free: frozenset[str] = frozenset()

    def admits(self, tool: str, arguments: dict[str, Any]) -> bool:
        """Is this call the effect that is needed? Always true without criteria."""
        if self.kind == "open":
            return True
        return self.effect is not None and self.effect.tool == tool and not self.differences(arguments)

    def differences(self, arguments: dict[str, Any]) -> list[str]:
        """Names of the arguments that are not what the sources say."""
        if self.effect is None:
            return []
        wanted = self.effect.arguments
        names = sorted((wanted.keys() | arguments.keys()) - self.free)
        return [name for name in names if wanted.get(name) != arguments.get(name)]
