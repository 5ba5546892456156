"""Who may have a server drive a run in service mode. Driving gives nobody a right: whatever a run does, it does for the
principal who was recorded when it was accepted. But a run is not everybody's to wake, to stop and to look into.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphs.wiring import Parts
from state.actor import Actor
from state.approval import Approval
from state.errors import NotAllowed, NotAnApprover, RunNotFound, ToolError
from state.run import Run
from store import approvals, audit
from store.database import Connection
from tools.approving import question_of
from tools.policy import Question


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

    def to_decide(self, actor: Actor, run_id: str) -> bool:
        """A server run with a command: who may decide what this run has asked. Raises RunNotFound, NotAllowed."""
        run = self._ledger.run(run_id)
        with self._ledger.database.read() as connection:
            if self._decides(connection, actor, run):
                return True
        self._deny(actor, run, "approval.decide")
        raise NotAnApprover(f"{actor.subject} may not decide what run {run_id} asks.")

    def _take_part(self, actor: Actor, run: Run, action: str) -> None:
        with self._ledger.database.read() as connection:
            if self._takes_part(connection, actor, run):
                return
        self._deny(actor, run, action)
        raise NotAllowed(
            f"{actor.subject} takes no part in run {run.run_id}: neither permitted to control runs of {run.agent_id},"
            " nor to decide what this one asks."
        )

    # --- by what is in force now ------------------------------------------------------------------------------

    def _takes_part(self, connection: Connection, actor: Actor, run: Run) -> bool:
        if self._controls(connection, actor, run):
            return True
        return self._decides_one(connection, actor, run, self._asked(connection, run))

    def _decides(self, connection: Connection, actor: Actor, run: Run) -> bool:
        """Where nothing was ever asked, a command can only make the run go on."""
        asked = self._asked(connection, run)
        if not asked:
            return self._takes_part(connection, actor, run)
        return self._decides_one(connection, actor, run, asked)

    def _controls(self, connection: Connection, actor: Actor, run: Run) -> bool:
        own, tenant = actor.subject == run.requester, self._ledger.tenant
        return self._parts.policy.may(connection, tenant, actor.subject, "control", run.agent_id, own=own).allowed

    def _decides_one(self, connection: Connection, actor: Actor, run: Run, asked: Sequence[Approval]) -> bool:
        policy, tenant = self._parts.policy, self._ledger.tenant
        questions = [self._question(run, each) for each in asked]
        return any(policy.may_approve(connection, tenant, actor.subject, each).allowed for each in questions)

    def _question(self, run: Run, approval: Approval) -> Question:
        try:
            return question_of(approval, run.agent_id, self._parts.agents.tools(run.agent_id).get(approval.tool))
        except ToolError:
            return Question.of(approval, run.agent_id, None)

    def _asked(self, connection: Connection, run: Run) -> list[Approval]:
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
