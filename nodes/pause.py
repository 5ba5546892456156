"""The only nodes that pause a run: `approve` for approvals, `wait` for everything else.

In this order: claim the lease (before reading anything), read the question from the ledger, go on if nothing is open,
else put it; when the engine takes the run off the thread, park and release in one transaction. What comes back from the
engine is not looked at: no authority and no decision is taken from it. The ledger is read again instead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from nodes.agent import Agents
from nodes.driver import Driving
from nodes.due import expire, next_look
from nodes.ending import take_over
from nodes.judge import Judge
from nodes.question import question
from nodes.standing import Standing
from nodes.step import Moment, Step, Update
from state.clock import iso
from state.run import Lease
from store import approvals, runs
from store.ledger import Facts
from store.transaction import RunTransaction

EXTERNAL_RETRY_MS = 5_000

Suspend = Callable[[dict[str, Any]], Any]


class Suspended(Exception):
    """How the loop engine takes a run off its thread; LangGraph has its own way."""


def suspend(question: dict[str, Any]) -> None:
    """The loop engine's pause."""
    raise Suspended(question)


class _Pause(Step):
    """`suspend` puts the question and, unless the engine resumes with a value, raises one of `suspended`."""

    def __init__(
        self,
        driving: Driving,
        agents: Agents,
        judge: Judge,
        suspend: Suspend,
        suspended: type[Exception],
    ) -> None:
        super().__init__(driving, agents, judge)
        self._suspend = suspend
        self._suspended = suspended

    def act(self, at: Moment) -> Update:
        if not self._open(at.lease, at.facts):
            return {"outcome": "go_on"}
        try:
            self._suspend(self._question(at.facts, at.where))
        except self._suspended:
            self._park(at.lease)
            raise
        return {"outcome": "ask_again" if self._open(at.lease, self.ledger.facts(at.facts.run.run_id)) else "go_on"}

    def _open(self, lease: Lease, facts: Facts) -> bool:
        """Is there still something to wait for?"""
        del lease
        return self.fits(self.where(facts))

    @abstractmethod
    def _question(self, facts: Facts, where: Standing) -> dict[str, Any]:
        """The interrupt's value."""

    def _park(self, lease: Lease) -> None:
        """Park and release. If nothing is open any more (the answer came in between), the run is queued instead."""
        with self.ledger.settling(lease) as tx:
            facts = self.ledger.facts_in(tx.connection, lease.run_id)
            where = self.where(facts)
            if not self.fits(where) or where.status is None:
                self._queue(tx)
            else:
                self._wait(tx, facts, where)
            runs.end_attempt(tx, lease.fence, "parked")
            tx.event("attempt.ended", {"attempt": lease.fence, "how": "parked"})

    def _wait(self, tx: RunTransaction, facts: Facts, where: Standing) -> None:
        assert where.status is not None
        tx.set(wake_at=self._wake_at(facts, where))
        if tx.run["status"] == "cancelling":
            tx.let_go()  # it is cancelled when what is in flight has been looked up; until then it stays what it is
        else:
            tx.move(where.status, where.reason, self._payload(facts, where))

    @staticmethod
    def _queue(tx: RunTransaction) -> None:
        if tx.run["status"] == "running":
            tx.move("queued")
        tx.let_go()

    def _wake_at(self, facts: Facts, where: Standing) -> int | None:
        """When whoever looks next should make a move, in milliseconds since 1970 UTC."""
        del where
        return facts.run.deadline

    def _payload(self, facts: Facts, where: Standing) -> dict[str, Any]:
        del facts, where
        return {}


class Approve(_Pause):
    """Waits until every question of the turn is answered; until then no effect of the turn is made."""

    name = "approve"
    stands_at = frozenset({"approve"})

    def _open(self, lease: Lease, facts: Facts) -> bool:
        now = self.ledger.clock.now()
        if any(each.expires_at <= now for each in facts.questions):
            with self.ledger.settling(lease) as tx:
                expire(tx, facts)
            facts = self.ledger.facts(lease.run_id)
        return super()._open(lease, facts)

    def _question(self, facts: Facts, where: Standing) -> dict[str, Any]:
        with self.ledger.database.read() as connection:
            decided = approvals.decided_so_far(connection, self.ledger.tenant, facts.questions)
        return question(facts, self.agents.tools(facts.run.agent_id), decided)

    def _wake_at(self, facts: Facts, where: Standing) -> int | None:
        return next_look(facts, facts.run.deadline, self.ledger.clock.now())

    def _payload(self, facts: Facts, where: Standing) -> dict[str, Any]:
        return {"approvals": [each.approval_id for each in facts.questions]}


class Wait(_Pause):
    """Waits for a person who paused the run, took it over, settles an outcome or grants more budget, for a target that
    is asked again later, for another run's effect, or for a program that knows the run.
    """

    name = "wait"
    stands_at = frozenset({"wait"})

    def _question(self, facts: Facts, where: Standing) -> dict[str, Any]:
        asked = {"run_id": facts.run.run_id, "status": where.status, "status_reason": where.reason}
        return {**asked, **self._payload(facts, where)}

    def _wait(self, tx: RunTransaction, facts: Facts, where: Standing) -> None:
        if where.reason == "takeover":
            take_over(tx, facts)
        super()._wait(tx, facts, where)

    def _wake_at(self, facts: Facts, where: Standing) -> int | None:
        if where.reason != "external":
            return super()._wake_at(facts, where)
        now = self.ledger.clock.now()
        times = [each.to_come for each in facts.operations if each.to_come is not None and each.to_come > now]
        return min(times, default=now + EXTERNAL_RETRY_MS)

    def _payload(self, facts: Facts, where: Standing) -> dict[str, Any]:
        """What is waited for: the outcomes that somebody has to settle, or the time of the next look."""
        if where.reason == "reconciliation":
            return {"operations": [each.operation_id for each in facts.operations if each.status == "unknown"]}
        if where.reason == "migration":
            return {**(self.agents.lacks(facts, self.ledger.definition) or {})}
        if where.reason == "external":
            return {"again_at": iso(self._wake_at(facts, where))}
        return {}
