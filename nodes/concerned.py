"""Whom a question concerns: who may answer it, and who has. Nobody else learns by trying what became of it."""

from __future__ import annotations

from nodes.agent import Agents
from state.approval import Approval
from state.run import Run
from store import approvals
from store.database import Connection
from tools.approving import answerable
from tools.policy import Policy, Ruling


class Concerned:
    """Rules on it each time. `connection` is an open ledger transaction."""

    def __init__(self, agents: Agents, policy: Policy) -> None:
        self._agents = agents
        self._policy = policy

    def ruling(
        self, connection: Connection, tenant: str, subject: str, approval: Approval, run: Run, *, says_no: bool = True
    ) -> Ruling:
        """May they answer it? Raises InputInvalid where its amount cannot be told and the answer is not a no."""
        tool = self._agents.tools(run.agent_id).get(approval.tool)
        question = answerable(approval, run.agent_id, tool, says_no=says_no)
        return self._policy.may_approve(connection, tenant, subject, question)

    def by_question(self, connection: Connection, tenant: str, subject: str, approval: Approval, run: Run) -> bool:
        """May they answer it, or have they?"""
        made = approvals.decisions_of(connection, tenant, approval.approval_id)
        answered = any(each.approver == subject for each in made)
        return answered or self.ruling(connection, tenant, subject, approval, run).allowed

    def by_run(self, connection: Connection, tenant: str, subject: str, run: Run) -> bool:
        """May they know how it stands: as who may watch it, or by one of its questions?"""
        own = run.requester == subject
        if self._policy.may(connection, tenant, subject, "watch", run.agent_id, own=own).allowed:
            return True
        asked = approvals.of_run(connection, tenant, run.run_id)
        return any(self.by_question(connection, tenant, subject, each, run) for each in asked)
