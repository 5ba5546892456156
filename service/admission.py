"""Who may have a server drive a run in service mode. Driving gives nobody a right: whatever a run does, it does for the
principal who was recorded when it was accepted. But a run is not everybody's to wake, to stop and to look into.
"""

from __future__ import annotations

from graphs.wiring import Parts
from service.sight import Sight
from state.actor import Actor
from state.approval import Approval
from state.errors import NotAllowed, NotAnApprover, RunNotFound
from state.run import Run
from store import approvals, audit


class Admission:
    """Asks the policy, and writes every no into the audit."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ledger = parts.ledger

    def to_touch(self, actor: Actor, thread_id: str) -> bool:
        """Make a thread, change it, delete it, cancel on it: where the ledger knows a run under its id, who takes part
        in that run. False where it knows none. Raises NotAllowed.
        """
        run = self._find(thread_id)
        if run is not None:
            self._take_part(actor, run, "thread.change")
        return run is not None

    def to_start_or_drive(self, actor: Actor, thread_id: str | None, agent_id: str) -> bool:
        """A server run with an input. A new run: who may start this agent. A known one: who takes part in it.

        Answers whether it is known. Raises NotAllowed.
        """
        run = None if thread_id is None else self._find(thread_id)
        if run is None:
            self._parts.accept.check_start(actor, agent_id)
        else:
            self._take_part(actor, run, "run.drive")
        return run is not None

    def to_decide(self, actor: Actor, run_id: str) -> None:
        """A server run with a command: who may decide what this run has asked. Raises RunNotFound, NotAllowed.

        Where nothing was ever asked, a command can only make the run go on.
        """
        run = self._ledger.run(run_id)
        sight, asked = Sight(self._parts, actor), self._asked(run)
        if any(sight.decides(each, run) for each in asked) or (not asked and sight.ruling("control", run).allowed):
            return
        self._deny(actor, run, "approval.decide")
        raise NotAnApprover(f"{actor.subject} may not decide what run {run_id} asks.")

    def _take_part(self, actor: Actor, run: Run, action: str) -> None:
        sight = Sight(self._parts, actor)
        if sight.ruling("control", run).allowed or any(sight.decides(each, run) for each in self._asked(run)):
            return
        self._deny(actor, run, action)
        raise NotAllowed(
            f"{actor.subject} takes no part in run {run.run_id}: neither permitted to control runs of {run.agent_id},"
            " nor to decide what this one asks."
        )

    def _asked(self, run: Run) -> list[Approval]:
        with self._ledger.database.read() as connection:
            return approvals.of_run(connection, self._ledger.tenant, run.run_id)

    def _deny(self, actor: Actor, run: Run, action: str) -> None:
        ledger = self._ledger
        with ledger.database.write() as connection:
            audit.append(connection, ledger.tenant, ledger.clock.now(), actor, action, f"run:{run.run_id}", "denied")

    def _find(self, run_id: str) -> Run | None:
        try:
            return self._ledger.run(run_id)
        except RunNotFound:
            return None
