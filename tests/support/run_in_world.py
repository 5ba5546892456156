"""One run, as people see it: what they do with it, what they see of it, and what the ledger has of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nodes.due import look
from nodes.settlements import Settlement
from state.actor import Actor
from state.approval import Approval
from state.errors import RemitError
from state.operation import Operation
from state.run import Lease, Run, effect_of
from store import events, operations
from store.ledger import Facts

if TYPE_CHECKING:
    from tests.support.world import World
from tests.support.faults import Crash

USER = "ada"


@dataclass
class RunInWorld:
    """One run, as people see it. Every verb goes through a door; `goes_on` lets the engine drive."""

    world: World
    run_id: str

    # --- when -----------------------------------------------------------------------------------------------

    def goes_on(self) -> RunInWorld:
        self.world.engine.drive(self.run_id)
        return self

    def waits_it_out(self) -> RunInWorld:
        """Time passes, and whoever looks makes what is due, until nothing comes by itself any more."""
        while self.row.reason == "external" or (self.row.status == "cancelling" and self.row.wake_at is not None):
            self.world.clock.passes(seconds=((self.row.wake_at or 0) - self.world.clock.now()) / 1000 + 0.001)
            look(self.world.parts.ledger, self.run_id)
            self.goes_on()
        return self

    def crashes(self) -> RunInWorld:
        """It goes on, until its process dies."""
        try:
            self.goes_on()
        except Crash:
            return self
        raise AssertionError("nothing died")

    def approve(self, by: str = USER, *, drive: bool = True) -> RunInWorld:
        return self._decide("approve", by, drive)

    def reject(self, by: str = USER, *, drive: bool = True) -> RunInWorld:
        return self._decide("reject", by, drive)

    def edit(self, by: str = USER, *, drive: bool = True, **arguments: Any) -> RunInWorld:
        changed = {**self.question.arguments, **arguments}
        return self._decide("edit", by, drive, arguments=changed)

    def _decide(self, kind: str, by: str, drive: bool, **more: Any) -> RunInWorld:
        for each in self.questions:
            answer = {"approval_id": each.approval_id, "digest": each.digest, "type": kind, **more}
            self.answer({"decisions": [answer]}, by)
        return self.goes_on() if drive else self

    def withdraw(self, by: str = USER) -> RunInWorld:
        """Somebody takes back their answer to the one question of the turn."""
        (approval,) = self.facts.approvals.values()
        self.world.parts.answers.withdraw(Actor(by), approval.approval_id)
        return self

    def answer(self, value: Any, by: str = USER) -> RunInWorld:
        """Raises the first refusal."""
        recorded = self.world.parts.answers.record(Actor(by), self.run_id, value)
        if recorded.refused:
            raise recorded.refused[0]
        return self

    def refused(self, value: Any, by: str = USER) -> RemitError:
        """The answer must be refused; gives the refusal."""
        recorded = self.world.parts.answers.record(Actor(by), self.run_id, value)
        (refusal,) = recorded.refused
        assert recorded.decided == []
        return refusal

    def cancel(self, by: str = USER) -> str:
        return self.world.parts.controls.cancel(Actor(by), self.run_id)

    def pause(self, by: str = USER) -> str:
        return self.world.parts.controls.pause(Actor(by), self.run_id)

    def take_over(self, by: str = USER) -> str:
        return self.world.parts.controls.take_over(Actor(by), self.run_id)

    def settle(self, object_id: str | None, by: str = USER, comment: str = "") -> RunInWorld:
        """A person says what became of the one write whose outcome is unknown; None: it was not done."""
        (operation,) = [each for each in self.operations if each.effect == "write" and each.status == "unknown"] or [
            each for each in self.operations if each.effect == "write"
        ][-1:]
        self.world.parts.settlements.settle(Actor(by), Settlement(operation.operation_id, object_id, comment))
        return self

    def gets(self, by: str = USER, **more: int) -> RunInWorld:
        """Somebody gives it more budget, and it goes on."""
        self.world.parts.budgets.grant(Actor(by), self.run_id, more)
        return self.goes_on()

    def resume(self, by: str = USER) -> RunInWorld:
        self.world.parts.controls.resume(Actor(by), self.run_id)
        return self.goes_on()

    # --- then -----------------------------------------------------------------------------------------------

    @property
    def row(self) -> Run:
        return self.world.parts.ledger.run(self.run_id)

    @property
    def facts(self) -> Facts:
        return self.world.parts.ledger.facts(self.run_id)

    @property
    def status(self) -> str:
        """`status/reason`, or the status alone where there is no reason."""
        row = self.row
        return f"{row.status}/{row.reason}" if row.reason else row.status

    @property
    def effect(self) -> str:
        with self.world.parts.ledger.database.read() as connection:
            return effect_of(operations.effects(connection, "local", self.run_id))

    @property
    def questions(self) -> list[Approval]:
        return self.facts.questions

    @property
    def question(self) -> Approval:
        (only,) = self.questions
        return only

    @property
    def operations(self) -> list[Operation]:
        with self.world.parts.ledger.database.read() as connection:
            return operations.of_run(connection, "local", self.run_id)

    @property
    def ticket_made(self) -> Operation:
        """The operation that made the run's one ticket."""
        (made,) = [each for each in self.operations if each.tool == "create_ticket" and each.status == "committed"]
        return made

    @property
    def writes(self) -> list[str]:
        """Statuses of the writes, in order, all generations."""
        return [each.status for each in self.operations if each.effect == "write"]

    @property
    def timeline(self) -> list[str]:
        """Types of events, after checking that numbers and hashes are whole."""
        with self.world.parts.ledger.database.read() as connection:
            assert events.first_broken(connection, "local", self.run_id) is None
            return [each["type"] for each in events.page(connection, "local", self.run_id, 0, 10_000)]

    @property
    def events(self) -> list[dict[str, Any]]:
        with self.world.parts.ledger.database.read() as connection:
            return events.page(connection, "local", self.run_id, 0, 10_000)

    @property
    def denied_by(self) -> str:
        """The rule of the last denial on the timeline."""
        return [each["payload"]["rule"] for each in self.events if each["type"] == "policy.denied"][-1]

    @property
    def decided(self) -> int:
        """How many turns were recorded."""
        return self.row.turn

    @property
    def tries(self) -> list[dict[str, Any]]:
        """Calls and lookups of the run's operations, in order."""
        mine = {each.operation_id for each in self.operations}
        return [each for each in self.world.rows("tries") if each["operation_id"] in mine]

    @property
    def tried(self) -> list[tuple[str, str | None]]:
        """Kind and outcome of each try."""
        return [(each["kind"], each["outcome"]) for each in self.tries]

    @property
    def attempts(self) -> list[tuple[int, str | None]]:
        """Fence of each hold of the run, and how it ended."""
        rows = [each for each in self.world.rows("attempts") if each["run_id"] == self.run_id]
        return [(each["fence"], each["ended_how"]) for each in sorted(rows, key=lambda each: each["fence"])]

    @property
    def decisions(self) -> list[tuple[str, str]]:
        """Approver and answer of each decision about the run that stands."""
        mine = {each["approval_id"] for each in self.world.rows("approvals") if each["run_id"] == self.run_id}
        return [
            (each["approver"], each["answer"])
            for each in self.world.rows("decisions")
            if each["approval_id"] in mine and each["withdrawn_at"] is None
        ]

    @property
    def versions(self) -> list[tuple[int | None, str]]:
        """Resource version that each question of the run showed, and what became of the question."""
        mine = [each for each in self.world.rows("approvals") if each["run_id"] == self.run_id]
        return [(each["resource_version"], each["status"]) for each in mine]

    @property
    def lease(self) -> Lease:
        """The lease under which the run is held now, as its holder knows it."""
        row = self.row
        return Lease(self.run_id, row.fence, row.nonce or "")
