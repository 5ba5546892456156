"""Who may have a server drive a run in service mode. Driving gives nobody a right: whatever a run does, it does for the
principal who was recorded when it was accepted. But a run is not everybody's to wake, to stop and to look into.
"""

from __future__ import annotations

from graphs.wiring import Parts
from state.actor import Actor
from state.errors import NotAllowed, NotAnApprover, RunNotFound
from state.run import Run
from store import approvals, audit
from store.database import Connection


class Admission:
    """Asks the policy, and writes every no into the audit."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ledger = parts.ledger

    def to_touch(self, actor: Actor, thread_id: str) -> None:
        """Make a thread, change it, delete it, cancel on it: anybody, unless the ledger knows a run under its id.

        Then only who takes part in that run. Raises NotAllowed.
        """
        run = self._find(thread_id)
        if run is not None:
            self._take_part(actor, run, "thread.change")

    def to_start_or_drive(self, actor: Actor, thread_id: str | None, agent_id: str) -> None:
        """A server run with an input. A new run: who may start this agent. A known one: who takes part in it.

        Raises NotAllowed.
        """
        run = None if thread_id is None else self._find(thread_id)
        if run is None:
            self._parts.accept.check_start(actor, agent_id)
        else:
            self._take_part(actor, run, "run.drive")

    def to_decide(self, actor: Actor, run_id: str) -> None:
        """A server run with a command: who may decide what this run has asked. Raises RunNotFound, NotAllowed."""
        run = self._ledger.run(run_id)
        with self._ledger.database.read() as connection:
            if self._decides(connection, actor, run):
                return
        self._deny(actor, run, "approval.decide")
        raise NotAnApprover(f"{actor.subject} may not decide what run {run_id} asks.")

    def _take_part(self, actor: Actor, run: Run, action: str) -> None:
        with self._ledger.database.read() as connection:
            if self._takes_part(connection, actor, run):
                return
        self._deny(actor, run, action)
        raise NotAllowed(
            f"{actor.subject} takes no part in run {run.run_id}: neither its requester, nor permitted to start"
            f" {run.agent_id} or to decide what the run asks."
        )

    # --- by what is in force now ------------------------------------------------------------------------------

    def _takes_part(self, connection: Connection, actor: Actor, run: Run) -> bool:
        if actor.subject == run.requester or self._starts(connection, actor, run):
            return True
        return self._approves(connection, actor, self._asked_about(connection, run))

    def _decides(self, connection: Connection, actor: Actor, run: Run) -> bool:
        """Where nothing was ever asked, a command can only make the run go on."""
        tools = self._asked_about(connection, run)
        return self._approves(connection, actor, tools) if tools else self._takes_part(connection, actor, run)

    def _starts(self, connection: Connection, actor: Actor, run: Run) -> bool:
        return self._parts.policy.may_start(connection, self._ledger.tenant, actor.subject, run.agent_id).allowed

    def _approves(self, connection: Connection, actor: Actor, tools: set[str]) -> bool:
        policy, tenant = self._parts.policy, self._ledger.tenant
        return any(policy.may_approve(connection, tenant, actor.subject, each).allowed for each in tools)

    def _asked_about(self, connection: Connection, run: Run) -> set[str]:
        return {each.tool for each in approvals.of_run(connection, self._ledger.tenant, run.run_id)}

    def _deny(self, actor: Actor, run: Run, action: str) -> None:
        ledger = self._ledger
        with ledger.database.write() as connection:
            audit.append(connection, ledger.tenant, ledger.clock.now(), actor, action, f"run:{run.run_id}", "denied")

    def _find(self, run_id: str) -> Run | None:
        try:
            return self._ledger.run(run_id)
        except RunNotFound:
            return None
