"""The node that believes nothing: it reads an effect back through a reader that is not the writer.

Field by field it must agree with what was approved, and with the acceptance criteria worked out from the recorded
sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from nodes.step import Moment, Step, Update
from state.acceptance import Expectation
from state.clock import iso
from state.digest import Json, same
from state.errors import ToolError
from state.operation import Operation
from state.run import Lease
from store import operations
from store.transaction import RunTransaction
from tools import calling
from tools.contract import CancelToken, WriteTool
from tools.gateway import SHORT_WAIT_MS

UNREADABLE_FOR_S = 3600.0  # so long a reader that fails is asked again
FIRST_WAIT_MS, LONGEST_WAIT_MS = 250, 60_000


@dataclass(frozen=True, slots=True)
class Seen:
    """What a read-back showed: the fields that do not hold, and when to look again where it showed nothing yet."""

    wrong: list[str]
    again_at: int | None = None


class Verify(Step):
    """Records `verified` for every committed write of the turn.

    What is not visible yet, or cannot be read now, is read again: soon in place, later after the run has waited.
    """

    name = "verify"
    stands_at = frozenset({"verify"})

    def act(self, at: Moment) -> Update:
        tools = self.agents.tools(at.facts.run.agent_id)
        expected = self.judge.expectation(at.facts.run)
        open_ = [
            each
            for each in at.facts.operations
            if each.effect == "write" and each.status == "committed" and each.verified is None
        ]
        seen = [(each, self._look(each, cast(WriteTool, tools[each.tool]), expected, at.token)) for each in open_]
        self._record(at.lease, seen)
        where = self.where(self.ledger.facts(at.lease.run_id))
        return {"outcome": where.step if where.step in {"finish", "decide"} else "reread"}

    def _record(self, lease: Lease, seen: list[tuple[Operation, Seen]]) -> None:
        if not seen:
            return
        with self.ledger.settling(lease) as tx:
            for operation, shown in seen:
                if shown.again_at is not None:
                    _read_later(tx, operation, shown.again_at)
                    continue
                operations.set_verified(tx, operation.operation_id, not shown.wrong)
                named = {"operation_id": operation.operation_id, "object_id": operation.object_id}
                if shown.wrong:
                    tx.event("verification.failed", {**named, "fields": shown.wrong})
                else:
                    tx.event("verification.passed", named)
            if not any(shown.wrong or shown.again_at for _, shown in seen):
                tx.set(repairs=0)

    def _look(self, operation: Operation, tool: WriteTool, expected: Expectation, token: CancelToken) -> Seen:
        """Read back, and again as long as that is due soon."""
        clock = self.ledger.clock
        while True:
            shown = self._once(operation, tool, expected)
            wait = 0 if shown.again_at is None else shown.again_at - clock.now()
            if shown.again_at is None or wait > SHORT_WAIT_MS or token.tripped:
                return shown
            clock.wait(wait, token.event)

    def _once(self, operation: Operation, tool: WriteTool, expected: Expectation) -> Seen:
        """An object that cannot be read back, however long that was tried, has not been shown to exist."""
        try:
            found: Any = calling.read_back(tool, operation.object_id or "")
        except ToolError as error:
            patience_s = max(tool.visible_within_s, UNREADABLE_FOR_S)
            return Seen([f"(could not be read: {str(error)[:200]})"], self._again_at(operation, patience_s))
        if found is None:
            return Seen(["(not found)"], self._again_at(operation, tool.visible_within_s))
        if not isinstance(found, dict):
            return Seen([f"(the reader gave {type(found).__name__[:80]})"])
        return Seen(_differences(operation, cast(Json, found), expected))

    def _again_at(self, operation: Operation, patience_s: float) -> int | None:
        """The longer it has taken, the longer it may take; None when it has taken too long."""
        claim = self.ledger.claim_of(operation.operation_key)
        now = self.ledger.clock.now()
        taken = now - (now if claim is None else claim.claimed_at)
        if taken >= patience_s * 1000:
            return None
        wait = min(max(taken, FIRST_WAIT_MS), LONGEST_WAIT_MS)
        return now + min(wait, int(patience_s * 1000) - taken + 1)


def _read_later(tx: RunTransaction, operation: Operation, again_at: int) -> None:
    operations.keep(tx, operation, error_class=operation.error_class, detail=operation.detail, next_at=again_at)
    said = {"operation_id": operation.operation_id, "stage": "read back later", "again_at": iso(again_at)}
    tx.event("run.stage", said)


def _differences(operation: Operation, found: Json, expected: Expectation) -> list[str]:
    """Names of the fields that do not hold, as approved and as the sources call for."""
    wrong = sorted(name for name, value in operation.arguments.items() if not same(found.get(name), value))
    if expected.kind == "effect" and expected.effect is not None and expected.effect.tool == operation.tool:
        wrong += [name for name in expected.differences(found) if name not in wrong]
    elif expected.kind != "open":
        wrong.append("(not called for by the sources)")
    return wrong
