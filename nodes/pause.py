"""The only nodes that pause a run: `approve` for approvals, `wait` for everything else.

In this order: claim the lease (before reading anything), read the question from the ledger, go on if nothing is open,
else put it; when the engine takes the run off the thread, park and release in one transaction. What comes back from the
engine is not looked at: no authority and no decision is taken from it. The ledger is read again instead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from nodes.agent import Agents
from nodes.driver import Driving
from nodes.due import expire
from nodes.judge import Judge
from nodes.question import question
from nodes.standing import Standing
from nodes.step import State, Step, Update
from state.run import Lease
from store import runs
from store.ledger import Facts
from store.transaction import RunTransaction
from tools.contract import CancelToken

Suspend = Callable[[dict[str, Any]], Any]


class Suspended(Exception):
    """How the loop engine takes a run off its thread; LangGraph has its own way."""


def suspend(question: dict[str, Any]) -> None:
    """The loop engine's pause."""
    raise Suspended(question)


class _Pause(Step):
    """`suspend` puts the question and, unless the engine resumes with a value, raises one of `suspended`."""

    pauses_for: ClassVar[str]

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

    def act(self, state: State, lease: Lease, token: CancelToken) -> Update:
        del state, token
        asked = self._asked(lease)
        if asked is None:
            return {"outcome": "go_on"}
        facts, where = asked
        try:
            self._suspend(self._question(facts, where))
        except self._suspended:
            self._park(lease, where)
            raise
        return {"outcome": "go_on" if self._asked(lease) is None else "ask_again"}

    def _asked(self, lease: Lease) -> tuple[Facts, Standing] | None:
        """What is open now, or None if the run can go on."""
        facts = self.ledger.facts(lease.run_id)
        where = self._where(facts)
        return (facts, where) if where.step == self.pauses_for else None

    def _where(self, facts: Facts) -> Standing:
        return self.where(facts)

    @abstractmethod
    def _question(self, facts: Facts, where: Standing) -> dict[str, Any]:
        """The interrupt's value."""

    def _park(self, lease: Lease, where: Standing) -> None:
        """Park and release. If nothing is open any more (the answer came in between), the run is queued instead."""
        with self.ledger.settling(lease) as tx:
            facts = self.ledger.facts_in(tx.connection, lease.run_id)
            now = self._where(facts)
            if now.step != self.pauses_for or tx.run["desired_action"] == "cancel":
                self._queue(tx)
            else:
                tx.set(wake_at=self._wake_at(facts))
                tx.move(now.status or "waiting", now.reason, self._payload(facts))
                if now.status == "paused":
                    tx.event("run.paused")
            runs.end_attempt(tx, lease.fence, "parked")
            tx.event("attempt.ended", {"attempt": lease.fence, "how": "parked"})

    @staticmethod
    def _queue(tx: RunTransaction) -> None:
        if tx.run["status"] == "running":
            tx.move("queued")
            tx.event("run.queued")
        tx.let_go()

    def _wake_at(self, facts: Facts) -> int | None:
        return facts.run.deadline

    def _payload(self, facts: Facts) -> dict[str, Any]:
        del facts
        return {}


class Approve(_Pause):
    """Waits until every question of the turn is answered; until then no effect of the turn is made."""

    name = "approve"
    pauses_for = "approve"

    def _asked(self, lease: Lease) -> tuple[Facts, Standing] | None:
        facts = self.ledger.facts(lease.run_id)
        now = self.ledger.clock.now()
        if any(each.status == "pending" and each.expires_at <= now for each in facts.approvals.values()):
            with self.ledger.settling(lease) as tx:
                expire(tx, facts)
        return super()._asked(lease)

    def _where(self, facts: Facts) -> Standing:
        where = super()._where(facts)
        return Standing("approve", "waiting", "approval") if where.step == "approve" else where

    def _question(self, facts: Facts, where: Standing) -> dict[str, Any]:
        tools = self.agents.tools(facts.run.agent_id)
        return question(facts, tools)

    def _wake_at(self, facts: Facts) -> int | None:
        times = [each.expires_at for each in facts.approvals.values() if each.status == "pending"]
        return min([*times, *([facts.run.deadline] if facts.run.deadline else [])], default=None)

    def _payload(self, facts: Facts) -> dict[str, Any]:
        return {"approvals": [each.approval_id for each in facts.approvals.values() if each.status == "pending"]}


class Wait(_Pause):
    """Waits for a person who paused the run, for a settlement, for a version of the program that knows the run."""

    name = "wait"
    pauses_for = "wait"

    def _question(self, facts: Facts, where: Standing) -> dict[str, Any]:
        return {"run_id": facts.run.run_id, "status": where.status, "status_reason": where.reason}
