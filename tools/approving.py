"""Who may answer a question, people and standing rules alike, and whether enough of them have.

A standing rule is a person's yes given beforehand: it counts as its maker's, only while it is in force, and only while
its maker might say yes themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from state.actor import RULE, Actor
from state.approval import Approval, Decision
from state.digest import Json, canonical
from state.errors import InputInvalid, ToolError
from state.operation import Operation
from store import approvals, audit, operations, standing_rules
from store.database import Connection
from store.standing_rules import StandingRule
from store.transaction import RunTransaction
from tools.contract import Tool, WriteTool, amount_of
from tools.policy import Policy, Question, Ruling

BOUNDS = ("agent", "requester", "resource", "max_amount", "arguments")
MAX_BOUNDS_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Approver:
    """Whose answer a decision is: a person's, or a rule's (`rule` is None for one that is not there any more)."""

    person: str
    by_rule: bool = False
    rule: StandingRule | None = None


class Approving:
    """Judges answers that were given, by people and by standing rules, under one policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def still(self, tx: RunTransaction, decision: Decision, question: Question) -> Ruling:
        """Might whoever gave this answer give it at this moment?"""
        approver = _approver(tx.connection, tx.tenant, decision.approver)
        if not approver.by_rule:
            return self._policy.may_approve(tx.connection, tx.tenant, approver.person, question)
        if approver.rule is None or not approver.rule.in_force(tx.now):
            return Ruling(False, f"{decision.approver} is not in force any more", self._policy.version)
        if not covers(approver.rule, question):
            return Ruling(False, f"{decision.approver} does not cover it any more", self._policy.version)
        return self._policy.may_approve(tx.connection, tx.tenant, approver.person, question, by_rule=True)

    def by_rules(self, tx: RunTransaction, approval: Approval, question: Question) -> bool:
        """Let the standing rules answer that cover the question; True if that makes it approved."""
        for rule in standing_rules.for_tool(tx.connection, tx.tenant, approval.tool, tx.now):
            if not covers(rule, question):
                continue
            ruling = self._policy.may_approve(tx.connection, tx.tenant, rule.maker, question, by_rule=True)
            if ruling.allowed:
                self._record(tx, approval, rule, ruling)
        if not enough(tx.connection, tx.tenant, approval):
            return False
        operation = operations.get(tx.connection, tx.tenant, approval.operation_id)
        assert operation is not None
        approve(tx, approval, operation)
        return True

    @staticmethod
    def _record(tx: RunTransaction, approval: Approval, rule: StandingRule, ruling: Ruling) -> None:
        comment = f"standing rule of {rule.maker}: {rule.why}"
        given = Decision(rule.approver, "approve", comment, approval.digest, tx.now, ruling.version, ruling.rule)
        record(tx, approval, given, Actor(rule.approver, tx.tenant, "remit"), {"rule": rule.shown()})


def question_of(approval: Approval, agent_id: str, tool: Tool | None) -> Question:
    """Raises ToolError where the tool cannot say its amount."""
    amount = amount_of(tool, approval.arguments) if isinstance(tool, WriteTool) else None
    return Question.of(approval, agent_id, amount)


def answerable(approval: Approval, agent_id: str, tool: Tool | None, *, says_no: bool) -> Question:
    """The question, for somebody who answers it. Raises InputInvalid where its amount cannot be told now, which matters
    to every answer but a no.
    """
    try:
        return question_of(approval, agent_id, tool)
    except ToolError as error:
        if says_no:
            return Question.of(approval, agent_id, None)
        said = f"{approval.tool} cannot say its amount ({error}): say no, or try later."
        raise InputInvalid(said) from error


def record(tx: RunTransaction, approval: Approval, decision: Decision, actor: Actor, more: Json | None = None) -> bool:
    """One answer as a row, a line of the timeline and one of the audit; False if one of this approver stands."""
    if not approvals.decide(tx, approval, decision):
        return False
    said = {"approval_id": approval.approval_id, "answer": decision.answer, "digest": approval.digest}
    by = {"policy": {"version": decision.policy_version, "rule": decision.policy_rule}}
    tx.event("approval.decided", said | by, actor=decision.approver)
    audit.append(
        tx.connection,
        tx.tenant,
        tx.now,
        actor,
        "approval.decide",
        f"approval:{approval.approval_id}",
        decision.answer,
        rule=decision.policy_rule,
        detail={"run": tx.run_id, "digest": approval.digest, **(more or {})},
    )
    return True


def enough(connection: Connection, tenant: str, approval: Approval) -> bool:
    """Have as many people said yes as were asked for? A rule counts as its maker, and nobody counts twice."""
    standing = approvals.decisions_of(connection, tenant, approval.approval_id)
    yes = {_approver(connection, tenant, each.approver).person for each in standing if each.answer == "approve"}
    return len(yes) >= approval.quorum


def approve(tx: RunTransaction, approval: Approval, operation: Operation) -> None:
    """The question is answered with yes."""
    approvals.move(tx, approval, "approved")
    operations.move(tx, operation, "approved")


def _approver(connection: Connection, tenant: str, named: str) -> Approver:
    if not named.startswith(RULE):
        return Approver(named)
    name, _, version = named.removeprefix(RULE).rpartition("@")
    known = version.isascii() and version.isdecimal()
    rule = standing_rules.get(connection, tenant, name, int(version)) if known else None
    return Approver(named if rule is None else rule.maker, True, rule)


# --- what a rule covers -----------------------------------------------------------------------------------------


def covers(rule: StandingRule, question: Question) -> bool:
    """Is this use within the bounds of the rule? A bound that asks for what a use does not have is not met."""
    bounds, arguments = rule.bounds, question.arguments
    of = {"agent": question.agent_id, "requester": question.requester}
    if any(name in bounds and bounds[name] != value for name, value in of.items()):
        return False
    if "resource" in bounds and not _matches(bounds["resource"], question.resource):
        return False
    if "max_amount" in bounds and (question.amount is None or question.amount > bounds["max_amount"]):
        return False
    asked: Json = bounds.get("arguments", {})
    return all(name in arguments and canonical(arguments[name]) == canonical(value) for name, value in asked.items())


def _matches(pattern: str, resource: str | None) -> bool:
    if resource is None:
        return False
    return resource.startswith(pattern[:-1]) if pattern.endswith("*") else resource == pattern


def checked_bounds(given: Json) -> Json:
    """Raises InputInvalid unless these are bounds that a rule can have: at least one of BOUNDS."""
    unknown = sorted(set(given) - set(BOUNDS))
    if unknown or not given:
        raise InputInvalid(f"Bounds are {', '.join(BOUNDS)}, at least one of them; not {unknown or 'none'}.")
    for name in ("agent", "requester", "resource"):
        value: Any = given.get(name, "x")
        if not isinstance(value, str) or not value:
            raise InputInvalid(f"{name}: give a text.")
    amount: Any = given.get("max_amount", 0)
    if type(amount) is not int or not 0 <= amount < 2**63:
        raise InputInvalid("max_amount: give a whole number that is not negative.")
    arguments: Any = given.get("arguments", {})
    if not isinstance(arguments, dict) or ("arguments" in given and not arguments):
        raise InputInvalid("arguments: give names and values.")
    try:
        if len(canonical(given)) <= MAX_BOUNDS_BYTES:
            return given
    except (ValueError, RecursionError) as error:
        raise InputInvalid(f"arguments: they are not plain JSON ({error}).") from error
    raise InputInvalid(f"The bounds are longer than {MAX_BOUNDS_BYTES} bytes.")
