"""Who may do what. Judged anew at every effect by what is in force then; every ruling names its rule.

Rules are data in Cedar (`tools/policies/`, docs/policies.md); who somebody is to them (permissions, roles) and what is
stopped are rows of the ledger, grants to write are rows of the target. Both are read at the moment of the ruling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from state.approval import NOTHING_MORE, Approval, Needs
from state.digest import Json
from store import permissions
from store.database import Connection
from tools.cedar import Cedar, Verdict
from tools.contract import Tool, WriteTool, foreign

Action = Literal[
    "start", "approve", "settle", "rule", "budget", "control", "see", "watch", "evidence", "prune", "audit", "stop"
]
# Rows of other actions that give the right to this one as well.
_ALSO: dict[str, tuple[str, ...]] = {
    "control": ("start",),
    "see": ("start", "control", "budget", "evidence", "approve", "settle", "rule"),
    "watch": ("see", "start", "control", "budget", "evidence", "approve", "settle", "rule"),
}
_KINDS: dict[str, str] = {
    **dict.fromkeys(("start", "budget", "control", "see", "watch", "evidence"), "Agent"),
    **dict.fromkeys(("approve", "settle", "rule"), "Tool"),
    **dict.fromkeys(("prune", "audit", "stop"), "Tenant"),
}
_WITH_OWN = frozenset({"approve", "budget", "control", "see", "watch", "evidence"})


@dataclass(frozen=True, slots=True)
class Ruling:
    """Yes or no, by which rule of which policy version, and what a yes asks for besides.

    `no` is the class of a refusal: `policy`, or `emergency_stop`.
    """

    allowed: bool
    rule: str
    version: str
    needs: Needs = NOTHING_MORE
    no: Literal["policy", "emergency_stop"] = "policy"


@dataclass(frozen=True, slots=True)
class Use:
    """What somebody would have done in their name: by this agent, with this tool and arguments, to this resource."""

    principal: str
    agent_id: str
    tool: Tool
    arguments: Json
    resource: str | None = None
    amount: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What an approval is about, as far as it decides who may answer."""

    tool: str
    requester: str
    agent_id: str
    resource: str | None = None
    amount: int | None = None
    roles: frozenset[str] = frozenset()
    arguments: Json = field(default_factory=dict[str, Any])
    editor: str | None = None  # who put these arguments in place of what was proposed

    @staticmethod
    def of(approval: Approval, agent_id: str, amount: int | None) -> Question:
        return Question(
            approval.tool,
            approval.requester,
            agent_id,
            approval.resource,
            amount,
            approval.roles,
            approval.arguments,
            approval.preview.get("edited_by"),
        )


class Policy(Protocol):
    """`connection` is an open ledger transaction, so that a ruling is true at the moment of what follows it."""

    @property
    def version(self) -> str: ...

    def may(
        self, connection: Connection, tenant: str, subject: str, action: Action, resource: str, *, own: bool = False
    ) -> Ruling:
        """`resource` is an agent's id for start, budget, control, see, watch and evidence, a tool's name for settle and
        rule, `*` for prune, audit and stop. `own`: it is about a run that the subject has asked for.
        """
        ...

    def may_approve(
        self, connection: Connection, tenant: str, subject: str, question: Question, *, by_rule: bool = False
    ) -> Ruling: ...

    def may_use(self, connection: Connection, tenant: str, use: Use) -> Ruling:
        """Asks the target for a live grant. Raises ToolError where it cannot be asked."""
        ...


class CedarPolicy:
    """Cedar decides, on the rows that hold now. A stop is above every rule."""

    def __init__(self, cedar: Cedar) -> None:
        self._cedar = cedar

    @property
    def version(self) -> str:
        return self._cedar.version

    def may(
        self, connection: Connection, tenant: str, subject: str, action: Action, resource: str, *, own: bool = False
    ) -> Ruling:
        held = permissions.held(connection, tenant, subject, resource)
        if action == "start":
            stopped = self._stopped(held, resource)
            if stopped is not None:
                return stopped
        pattern = _pattern(held, action)
        context: dict[str, Json | bool] = {"granted": pattern is not None}
        if action in _WITH_OWN:
            context["own"] = own
        verdict = self._cedar.judge(subject, held.roles, action, (_KINDS[action], resource), context)
        return self._ruling(verdict, f"{subject} {action} {pattern or resource}")

    def may_approve(
        self, connection: Connection, tenant: str, subject: str, question: Question, *, by_rule: bool = False
    ) -> Ruling:
        held = permissions.held(connection, tenant, subject, question.tool)
        said = f"{subject} approve {question.tool}"
        if question.roles and not question.roles & set(held.roles):
            asked = " or ".join(sorted(question.roles))
            return Ruling(False, f"asked of {asked}: {said}", self.version)
        context = {
            "granted": _pattern(held, "approve") is not None,
            "own": subject in {question.requester, question.editor},
            "rule": by_rule,
            **_about(question.agent_id, question.resource, question.amount),
        }
        return self._ruling(self._cedar.judge(subject, held.roles, "approve", ("Tool", question.tool), context), said)

    def may_use(self, connection: Connection, tenant: str, use: Use) -> Ruling:
        tool, principal = use.tool, use.principal
        held = permissions.held(connection, tenant, principal, tool.name)
        stopped = self._stopped(held, use.agent_id, tool.name)
        if stopped is not None:
            return stopped
        grant = None
        if isinstance(tool, WriteTool):
            grant = foreign(lambda: tool.permitted(principal, use.resource), "internal")
        context = {
            "granted": grant is not None,
            "effect": tool.effect,
            **_about(use.agent_id, use.resource, use.amount),
        }
        verdict = self._cedar.judge(principal, held.roles, "use", ("Tool", tool.name), context)
        return self._ruling(verdict, f"{principal} {tool.name} {grant or use.resource or '*'}")

    def _stopped(self, held: permissions.Held, agent_id: str, tool: str | None = None) -> Ruling | None:
        for kind, name in (("tenant", "*"), ("agent", agent_id), ("tool", tool)):
            if (kind, name) in held.stops:
                return Ruling(False, f"stop: {kind} {name}", self.version, no="emergency_stop")
        return None

    def _ruling(self, verdict: Verdict, said: str) -> Ruling:
        return Ruling(verdict.allowed, f"{verdict.rule}: {said}", self.version, verdict.needs)


def _pattern(held: permissions.Held, action: str) -> str | None:
    """The pattern of the row under which an action is granted, or None."""
    return next((held.rows[each] for each in (action, *_ALSO.get(action, ())) if each in held.rows), None)


def _about(agent_id: str, resource: str | None, amount: int | None) -> Mapping[str, object]:
    known: dict[str, object] = {"agent": {"__entity": {"type": "Agent", "id": agent_id}}}
    if resource is not None:
        known["target"] = resource
    if amount is not None:
        known["amount"] = amount
    return known
