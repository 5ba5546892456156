"""The claim of an effect: every check is made again, at this moment, in the transaction that takes the key.

Approval, arguments, expiry, the approvers' authority, the principal's permission, the resource's version, the budget
and the wish all have to hold together with the claim, or it is not made.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

from state.actor import RULE
from state.approval import Approval, Needs
from state.budget import shortfall
from state.digest import operation_digest
from state.errors import RETRYABLE, ErrorClass, OperationKeyConflict, ToolError
from state.operation import ADOPTED, Operation
from state.run import Lease
from store import approvals, effects, operations
from store.ledger import Ledger
from store.runs import budget_of
from store.transaction import RunTransaction
from tools.approving import Approving, question_of
from tools.backoff import backoff_ms
from tools.contract import CancelToken, WriteTool, amount_of, version_of
from tools.lookup import call_span_ms, next_lookup
from tools.policy import Policy, Ruling, Use
from tools.settle import moved, named, settled

MAX_CALLS = 3
HOUR_MS = 3_600_000
FOR_EVER = 2**62  # milliseconds since 1970
IN_DOUBT = frozenset({"dispatched", "unknown"})


@dataclass(frozen=True, slots=True)
class No:
    """Why an operation is not claimed: what it becomes, or for one claimed before, the class of its failure."""

    becomes: Literal["no_budget", "denied", "expired", "superseded", "cancelled"]
    error_class: ErrorClass
    detail: str


def _denied(rule: str, error_class: ErrorClass = "not_permitted") -> No:
    return No("denied", error_class, rule)


def _ask_anew(why: str) -> No:
    """It is planned again, and the question that the policy puts by now is asked."""
    return No("superseded", "resource_changed", why)


class Claim:
    """Takes operation keys for one ledger under one policy."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        self._ledger = ledger
        self._policy = policy
        self._approving = Approving(policy)

    def take(self, lease: Lease, operation: Operation, tool: WriteTool, token: CancelToken) -> str:
        """The operation's status afterwards; `dispatched` if it is claimed. Raises LeaseLost, GuardRefused."""
        try:
            current = self._version_now(operation, tool, token)
            return self._take(lease, operation, tool, current)
        except ToolError as error:  # it cannot be found out whether it may happen, so it does not
            no = No("cancelled", error.error_class, f"it could not be checked: {error}")
            with self._ledger.acting(lease) as tx:
                return self._refuse(tx, operation, no, tool)

    def _version_now(self, operation: Operation, tool: WriteTool, token: CancelToken) -> int | None:
        """Asked of the target, a few times if need be. Raises ToolError."""
        resource = operation.resource
        if resource is None:
            return None
        for attempt in itertools.count(1):
            try:
                return version_of(tool, resource)
            except ToolError as error:
                if error.error_class not in RETRYABLE or attempt >= MAX_CALLS or token.tripped:
                    raise
                self._ledger.clock.wait(backoff_ms(attempt, base_ms=100, cap_ms=2_000), token.event)
        raise AssertionError("count() does not end")

    def _take(self, lease: Lease, operation: Operation, tool: WriteTool, current: int | None) -> str:
        with self._ledger.acting(lease) as tx:
            ruling = self._judged(tx, operation, tool, current)
            if isinstance(ruling, No):
                return self._refuse(tx, operation, ruling, tool)
            until = _dedups_until(tool, tx.now)
            if not effects.own_effect(tx, operation, lease.fence, until):
                taken = self._taken(tx, operation, lease, until)
                if taken is not None:
                    return taken
            tx.add(used_tool_calls=1, inflight=0 if operation.in_flight else 1)
            operations.move(tx, operation, "dispatched", policy_version=ruling.version, policy_rule=ruling.rule)
            number = effects.start_call(tx, operation.operation_id, lease.fence)
            said = {"try": number, "policy": {"version": ruling.version, "rule": ruling.rule}}
            tx.event("tool.call.started", {**named(operation), **said})
        return "dispatched"

    # --- may it happen now? -------------------------------------------------------------------------------

    def _judged(self, tx: RunTransaction, operation: Operation, tool: WriteTool, current: int | None) -> Ruling | No:
        """The ruling by which the operation may be claimed now, or why it must not be."""
        ruling = self._ruling(tx, operation, tool)
        if isinstance(ruling, No):
            return ruling
        no = self._not_approved(tx, operation, tool, ruling.needs)
        if no is None and current != operation.resource_version:
            no = No("superseded", "resource_changed", "resource changed")
        return no or self._too_many(tx, operation, ruling) or ruling

    def _ruling(self, tx: RunTransaction, operation: Operation, tool: WriteTool) -> Ruling | No:
        """May the principal still start this agent, and have it use this tool? Is there room for another call?"""
        no = self._spent(tx, operation)
        if no is not None:
            return no
        requester, agent_id = tx.run["requester"], tx.run["agent_id"]
        amount = amount_of(tool, operation.arguments)
        use = Use(requester, agent_id, tool, operation.arguments, operation.resource, amount)
        ruling = self._policy.may_use(tx.connection, tx.tenant, use)
        for each in (ruling, self._policy.may(tx.connection, tx.tenant, requester, "start", agent_id)):
            if not each.allowed:
                return _denied(each.rule, "not_permitted" if each.no == "policy" else each.no)
        if tool.version != operation.tool_version:
            return _denied(f"{tool.id} is not the version that was approved")
        return ruling

    @staticmethod
    def _too_many(tx: RunTransaction, operation: Operation, ruling: Ruling) -> No | None:
        """The place among the effects of an hour is taken with the claim, and given back where nothing was done."""
        most = ruling.needs.per_hour
        if most is None or effects.of_the_last(tx, operation, HOUR_MS) < most:
            return None
        return _denied(f"per_hour {most}: {ruling.rule}", "policy")

    @staticmethod
    def _spent(tx: RunTransaction, operation: Operation) -> No | None:
        made = effects.calls_made(tx.connection, tx.tenant, operation.operation_id)
        if made >= MAX_CALLS:
            return No("cancelled", "transient", f"given up after {made} calls")
        if shortfall(*budget_of(tx.run), {"tool_calls": 1}) is not None:
            return No("no_budget", "transient", "no budget is left for another call")
        return None

    def _not_approved(self, tx: RunTransaction, operation: Operation, tool: WriteTool, needs: Needs) -> No | None:
        """Still approved, for exactly these arguments, by people who may still say so, by enough, and not expired."""
        approval = approvals.of_operation(tx.connection, tx.tenant, operation.operation_id)
        if approval is None and not tool.needs_approval:
            return _ask_anew("the policy asks for an approval by now") if needs.approval else None
        digest = operation_digest(operation.tool, operation.tool_version, operation.arguments)
        if approval is None or approval.status != "approved":
            return _denied("not approved")
        if not approval.digest == operation.digest == digest:
            return _denied("ApprovalDigestMismatch: these are not the arguments that were approved")
        if _asks_more(needs, approval):
            return _ask_anew("the policy asks others, or more people, by now")
        return self._not_upheld(tx, approval, tool)

    def _not_upheld(self, tx: RunTransaction, approval: Approval, tool: WriteTool) -> No | None:
        question = question_of(approval, tx.run["agent_id"], tool)
        for decision in approvals.decisions_of(tx.connection, tx.tenant, approval.approval_id):
            ruling = self._approving.still(tx, decision, question)
            if decision.answer == "approve" and not ruling.allowed:
                by_rule = decision.approver.startswith(RULE)  # what a rule said yes to is asked of people instead
                return No("expired", "approval_expired", "approved") if by_rule else _denied(ruling.rule)
        if approval.expires_at <= tx.now:
            return No("expired", "approval_expired", "approved")
        return None

    def _refuse(self, tx: RunTransaction, operation: Operation, no: No, tool: WriteTool) -> str:
        """Write down that it was not claimed."""
        if no.becomes == "denied":
            tx.event("policy.denied", {**named(operation), "rule": no.detail})
        if operation.status in IN_DOUBT:
            return self._give_back(tx, operation, no, tool)
        if no.becomes == "no_budget":
            return no.becomes
        if operation.status == "failed":  # it was to be tried again
            operations.keep(tx, operation, error_class=no.error_class, detail=no.detail)
            tx.add(repairs=1)
            return "failed"
        if no.becomes == "cancelled":
            said = {"error_class": no.error_class, "detail": no.detail, "outcome": "cancelled"}
            tx.event("tool.call.failed", {**named(operation), **said})
            tx.add(repairs=1)
        approval = approvals.of_operation(tx.connection, tx.tenant, operation.operation_id)
        if approval is not None and no.becomes in {"expired", "superseded", "cancelled"}:
            approvals.move(tx, approval, no.becomes)
            if no.becomes != "cancelled":
                tx.event(f"approval.{no.becomes}", {"approval_id": approval.approval_id, "why": no.detail})
        told = "permission_revoked" if no.error_class == "not_permitted" else no.error_class
        error_class = told if no.becomes in {"denied", "cancelled"} else None
        operations.move(tx, operation, no.becomes, error_class=error_class, detail=no.detail)
        return no.becomes

    def _give_back(self, tx: RunTransaction, operation: Operation, no: No, tool: WriteTool) -> str:
        """A claim that was made before is not made again: failed where it is proven that nothing was done, and then
        still to be tried if only budget was wanting; else unknown, with the lookups that are left.
        """
        if effects.proven_not_done(tx.connection, tx.tenant, operation.operation_id):
            next_at = tx.now if no.becomes == "no_budget" else None
            known = {"error_class": no.error_class, "detail": no.detail}
            settled(tx, operation, "failed", **known, next_at=next_at, by="claim")
            return "failed"
        claim = effects.claim_of(tx.connection, tx.tenant, operation.operation_key)
        next_at = next_lookup(tx, operation, tool, claim, already_counted=True)
        known = {"error_class": "unknown_outcome", "detail": no.detail}
        settled(tx, operation, "unknown", **known, next_at=next_at, by="claim")
        return "unknown"

    # --- whose key is it? ---------------------------------------------------------------------------------

    def _taken(self, tx: RunTransaction, operation: Operation, lease: Lease, until: int | None) -> str | None:
        """What an effect that exists under the key means for this operation; None if it may be claimed again."""
        owner = effects.effect(tx.connection, tx.tenant, operation.operation_key)
        assert owner is not None
        mine = owner["operation_id"] == operation.operation_id
        if owner["status"] == "failed" or mine:
            effects.reclaim_effect(tx, operation, lease.fence, until)
            return None
        if owner["digest"] != operation.digest:
            return self._conflict(tx, operation, f"{owner['operation_id']} of run {owner['run_id']}")
        if owner["status"] != "committed":
            return "busy"
        operations.move(tx, operation, "dispatched")
        operations.move(
            tx,
            moved(operation, "dispatched"),
            "committed",
            object_id=owner["object_id"],
            detail=ADOPTED,
        )
        tx.event("tool.deduplicated", {**named(operation), "object_id": owner["object_id"]})
        return "committed"

    def _conflict(self, tx: RunTransaction, operation: Operation, other: str) -> str:
        operations.move(tx, operation, "dispatched")
        detail = f"{OperationKeyConflict.__name__}: the key stands for operation {other} with other arguments"
        operations.move(tx, moved(operation, "dispatched"), "failed", error_class="key_conflict", detail=detail)
        tx.event("tool.call.failed", {**named(operation), "error_class": "key_conflict", "detail": detail})
        return "failed"


def _asks_more(needs: Needs, approval: Approval) -> bool:
    """Does the policy ask others, or more people, than were asked?"""
    if needs.quorum > approval.quorum or needs.role not in {None, approval.role}:
        return True
    if needs.role is None or not approval.escalated or approval.escalate_at is None:
        return False
    waited_s = (approval.escalate_at - approval.created_at) / 1000
    return needs.escalate_to != approval.escalate_to or (needs.escalate_after_s or 0) > waited_s


def _dedups_until(tool: WriteTool, now: int) -> int | None:
    """Until when a repeat under the key may be claimed and still arrives while the target knows the key.

    In milliseconds since 1970 UTC; None for a target that makes no promise about keys.
    """
    if not tool.dedups_by_key:
        return None
    if tool.key_valid_for_s is None:
        return FOR_EVER
    return now + int(tool.key_valid_for_s * 1000) - call_span_ms(tool)
