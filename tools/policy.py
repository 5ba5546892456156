"""Who may do what. Judged anew at every effect by what is in force then; every ruling names its rule.

This first policy is rows: who may start, approve, settle, grant budget and prune are permissions in the ledger, who may
write are grants in the business store. Another policy takes its place by answering the same questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from store import audit
from store.database import Connection
from tools.contract import WriteTool, foreign

Action = Literal["settle", "budget", "prune"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """Yes or no, by which rule of which policy version."""

    allowed: bool
    rule: str
    version: str


class Policy(Protocol):
    """`connection` is an open ledger transaction, so that a ruling is true at the moment of what follows it."""

    def may_start(self, connection: Connection, tenant: str, subject: str, agent_id: str) -> Ruling: ...

    def may_approve(self, connection: Connection, tenant: str, subject: str, tool: str) -> Ruling: ...

    def may_act(self, principal: str, tool: WriteTool, resource: str | None) -> Ruling:
        """Raises ToolError where the target cannot be asked."""
        ...

    def may(self, connection: Connection, tenant: str, subject: str, action: Action, resource: str) -> Ruling:
        """`settle` an outcome of a tool, give `budget` to runs of an agent, `prune` what is old."""
        ...


class RowPolicy:
    """Rows decide; what no row allows is denied."""

    version = "rows-1"

    def may_start(self, connection: Connection, tenant: str, subject: str, agent_id: str) -> Ruling:
        return self._held(connection, tenant, subject, "start", agent_id)

    def may_approve(self, connection: Connection, tenant: str, subject: str, tool: str) -> Ruling:
        return self._held(connection, tenant, subject, "approve", tool)

    def may_act(self, principal: str, tool: WriteTool, resource: str | None) -> Ruling:
        grant = foreign(lambda: tool.permitted(principal, resource), "internal")
        if grant is None:
            return Ruling(False, f"no grant: {principal} {tool.name} {resource or '*'}", self.version)
        return Ruling(True, f"grant: {principal} {tool.name} {grant}", self.version)

    def may(self, connection: Connection, tenant: str, subject: str, action: Action, resource: str) -> Ruling:
        return self._held(connection, tenant, subject, action, resource)

    def _held(self, connection: Connection, tenant: str, subject: str, action: str, resource: str) -> Ruling:
        pattern = audit.held(connection, tenant, subject, action, resource)
        if pattern is None:
            return Ruling(False, f"no permission: {subject} {action} {resource}", self.version)
        return Ruling(True, f"permission: {subject} {action} {pattern}", self.version)
