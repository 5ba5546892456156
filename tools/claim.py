"""The claim of an effect: every check is made again, at this moment, in the transaction that takes the key.

Approval, arguments, expiry, the approvers' authority, the principal's permission, the resource's version, the budget
and the wish all have to hold together with the claim, or it is not made.
"""

from __future__ import annotations

from state.approval import Approval
from state.budget import shortfall
from state.digest import operation_digest
from state.errors import OperationKeyConflict
from state.operation import Operation
from state.run import Lease
from store import approvals, effects, operations
from store.ledger import Ledger
from store.runs import budget_of
from store.transaction import RunTransaction
from tools.contract import WriteTool
from tools.policy import Policy
from tools.settle import moved, named, settled

MAX_CALLS = 3
IN_DOUBT = frozenset({"dispatched", "unknown"})


class Claim:
    """Takes operation keys for one ledger under one policy."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        self._ledger = ledger
        self._policy = policy

    def take(self, lease: Lease, operation: Operation, tool: WriteTool) -> str:
        """Everything is checked at this moment, in the transaction that claims the key."""
        current = None if operation.resource is None else tool.resource_version(operation.resource)
        with self._ledger.acting(lease) as tx:
            spent = self._spent(tx, operation, tool)
            if spent is not None:
                return spent
            refused = self._refusal(tx, operation, tool, current)
            if refused is not None:
                return refused
            if not effects.own_effect(tx, operation, lease.fence):
                taken = self._taken(tx, operation, tool, lease)
                if taken is not None:
                    return taken
            tx.add(used_tool_calls=1, inflight=0 if operation.status == "dispatched" else 1)
            operations.move(tx, operation, "dispatched")
            number = effects.start_try(tx, operation.operation_id, "call", lease.fence)
            effects.end_try(tx, operation.operation_id, number - 1, "lost", None, "nobody heard of it again")
            tx.event("tool.call.started", {**named(operation), "try": number})
        return "dispatched"

    def _spent(self, tx: RunTransaction, operation: Operation, tool: WriteTool) -> str | None:
        """No call is left, in the run's budget or for this operation. A claim that was made before is given back."""
        missing = shortfall(*budget_of(tx.run), {"tool_calls": 1})
        made = effects.calls_made(tx.connection, tx.tenant, operation.operation_id)
        if missing is None and made < MAX_CALLS:
            return None
        if operation.status not in IN_DOUBT:
            return "no_budget"
        if not tool.lookup_is_authoritative:
            settled(tx, operation, "unknown", error_class="unknown_outcome", detail=f"not found after {made} calls")
            return "unknown"
        settled(tx, operation, "failed", error_class="transient", detail=f"not done after {made} calls")
        return "failed"

    def _refusal(self, tx: RunTransaction, operation: Operation, tool: WriteTool, current: int | None) -> str | None:
        """The status an operation gets instead of being claimed, or None if it may happen now."""
        ruling = self._policy.may_act(tx.run["requester"], tool, operation.resource)
        start = self._policy.may_start(tx.connection, tx.tenant, tx.run["requester"], tx.run["agent_id"])
        for each in (ruling, start):
            if not each.allowed:
                return self._deny(tx, operation, each.rule)
        if tool.needs_approval:
            approval = approvals.of_operation(tx.connection, tx.tenant, operation.operation_id)
            refused = self._approval_refusal(tx, operation, approval)
            if refused is not None:
                return refused
        if tool.version != operation.tool_version:
            return self._deny(tx, operation, f"{tool.id} is not the version that was approved")
        if current != operation.resource_version:
            return self._resource_changed(tx, operation)
        return None

    def _approval_refusal(self, tx: RunTransaction, operation: Operation, approval: Approval | None) -> str | None:
        """Still approved, for exactly these arguments, by people who may still say so, and not expired."""
        digest = operation_digest(operation.tool, operation.tool_version, operation.arguments)
        if approval is None or approval.status != "approved":
            return self._deny(tx, operation, "not approved")
        if not approval.digest == operation.digest == digest:
            return self._deny(tx, operation, "ApprovalDigestMismatch: these are not the arguments that were approved")
        decisions = approvals.decisions_of(tx.connection, tx.tenant, approval.approval_id)
        for decision in decisions:
            ruling = self._policy.may_approve(tx.connection, tx.tenant, decision.approver, operation.tool)
            if decision.answer == "approve" and not ruling.allowed:
                return self._deny(tx, operation, ruling.rule)
        if approval.expires_at <= tx.now and operation.status in IN_DOUBT:
            settled(tx, operation, "failed", error_class="approval_expired", detail="not done; its approval expired")
            return "failed"
        if approval.expires_at <= tx.now:
            approvals.move(tx, approval, "expired")
            operations.move(tx, operation, "expired", detail="approved")
            tx.event("approval.expired", {"approval_id": approval.approval_id, "after": "approval"})
            return "expired"
        return None

    def _deny(self, tx: RunTransaction, operation: Operation, rule: str) -> str:
        if operation.status in IN_DOUBT:  # looked up and not done: the claim is given back
            settled(tx, operation, "failed", error_class="not_permitted", detail=rule)
        else:
            operations.move(tx, operation, "denied", error_class="permission_revoked", detail=rule)
        tx.event("policy.denied", {**named(operation), "rule": rule})
        return "denied"

    def _resource_changed(self, tx: RunTransaction, operation: Operation) -> str:
        if operation.status in IN_DOUBT:
            settled(tx, operation, "failed", error_class="resource_changed", detail="resource changed")
        else:
            approval = approvals.of_operation(tx.connection, tx.tenant, operation.operation_id)
            if approval is not None:
                approvals.move(tx, approval, "superseded")
            operations.move(tx, operation, "superseded", detail="resource changed")
        tx.event("approval.superseded", {**named(operation), "why": "resource changed"})
        return "superseded"

    def _taken(self, tx: RunTransaction, operation: Operation, tool: WriteTool, lease: Lease) -> str | None:
        """What an effect that exists under the key means for this operation; None if it may be claimed again."""
        owner = effects.effect(tx.connection, tx.tenant, operation.operation_key)
        assert owner is not None
        mine = owner["operation_id"] == operation.operation_id
        if owner["status"] == "failed" or mine:
            effects.reclaim_effect(tx, operation, lease.fence)
            return None
        if owner["digest"] != operation.digest:
            return self._conflict(tx, operation, owner["operation_id"])
        if owner["status"] != "committed":
            return "busy"
        operations.move(tx, operation, "dispatched")
        operations.move(
            tx,
            moved(operation, "dispatched"),
            "committed",
            object_id=owner["object_id"],
            detail="deduplicated",
        )
        tx.event("tool.deduplicated", {**named(operation), "object_id": owner["object_id"]})
        return "committed"

    def _conflict(self, tx: RunTransaction, operation: Operation, other: str) -> str:
        operations.move(tx, operation, "dispatched")
        detail = f"{OperationKeyConflict.__name__}: the key stands for operation {other} with other arguments"
        operations.move(tx, moved(operation, "dispatched"), "failed", error_class="key_conflict", detail=detail)
        tx.event("tool.call.failed", {**named(operation), "error_class": "key_conflict", "detail": detail})
        return "failed"
