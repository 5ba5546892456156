"""The only door to an effect: check, claim, act, settle.

    check ── claim ──A──> act ──B──> settle ──C──> checkpoint

    A  claimed, not done         B  done, not recorded         C  recorded, not checkpointed

A process may die at any of the letters. What was claimed is found again as `dispatched`; it is looked up under the same
key before anything else happens, and repeated only where the target itself makes one object per key or its "not
found" is authoritative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from state.approval import Approval
from state.budget import shortfall
from state.digest import Json, operation_digest
from state.errors import ErrorClass, ToolError
from state.operation import Operation
from state.run import Lease
from store import approvals, operations
from store.ledger import Ledger
from store.runs import budget_of
from store.transaction import RunTransaction
from tools.contract import Call, CancelToken, ReadTool, Receipt, WriteTool, foreign
from tools.policy import Policy

LOOKUPS = 3


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """What a read gave, or why it failed."""

    result: Json | None
    error_class: ErrorClass | None = None
    detail: str | None = None


def read(tool: ReadTool, call: Call) -> ReadOutcome:
    """Call a reading tool. Whatever it does, the answer is a value."""
    try:
        return ReadOutcome(foreign(lambda: tool.read(call), "internal"))
    except ToolError as error:
        return ReadOutcome(None, error.error_class, str(error))


class Gateway:
    """Executes one approved write of one run. Every method answers the operation's status afterwards."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        self._ledger = ledger
        self._policy = policy

    def execute(self, lease: Lease, operation: Operation, tool: WriteTool, task: Json, token: CancelToken) -> str:
        """Bring an operation as far as it can get now. Raises LeaseLost, GuardRefused."""
        call = self._call(operation, task, token)
        if operation.status == "dispatched":
            found = self._look_up(lease, operation, tool, call)
            if found != "not_found":
                return found
        status = self._claim(lease, operation, tool)
        if status != "dispatched":
            return status
        return self._act(lease, _as(operation, "dispatched"), tool, call)

    def look_up(self, lease: Lease, operation: Operation, tool: WriteTool, task: Json, token: CancelToken) -> str:
        """Find out what became of a dispatched or unknown operation, without doing anything.

        Ends as committed, failed (proven not done) or unknown.
        """
        call = self._call(operation, task, token)
        found = self._look_up(lease, operation, tool, call)
        if found != "not_found":
            return found
        self._settle(lease, operation, "failed", error_class="transient", detail="looked up: it was not done")
        return "failed"

    def _call(self, operation: Operation, task: Json, token: CancelToken) -> Call:
        return Call(
            run_id=operation.run_id,
            operation_id=operation.operation_id,
            key=operation.operation_key,
            digest=operation.digest,
            arguments=operation.arguments,
            principal=self._ledger.run(operation.run_id).requester,
            resource=operation.resource,
            resource_version=operation.resource_version,
            task=task,
            token=token,
        )

    # --- claim ----------------------------------------------------------------------------------------------

    def _claim(self, lease: Lease, operation: Operation, tool: WriteTool) -> str:
        """Everything is checked at this moment, in the transaction that claims the key."""
        current = None if operation.resource is None else tool.resource_version(operation.resource)
        with self._ledger.acting(lease) as tx:
            if shortfall(*budget_of(tx.run), {"tool_calls": 1}) is not None:
                return "no_budget"
            refused = self._refusal(tx, operation, tool, current)
            if refused is not None:
                return refused
            if not operations.own_effect(tx, operation, lease.fence):
                taken = self._taken(tx, operation, tool, lease)
                if taken is not None:
                    return taken
            tx.add(used_tool_calls=1, inflight=0 if operation.status == "dispatched" else 1)
            operations.move(tx, operation, "dispatched")
            number = operations.start_try(tx, operation.operation_id, "call", lease.fence)
            operations.end_try(tx, operation.operation_id, number - 1, "lost", None, "its driver died")
            tx.event("tool.call.started", {**_named(operation), "try": number})
        return "dispatched"

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
        if approval.expires_at <= tx.now and operation.status == "approved":
            approvals.move(tx, approval, "expired")
            operations.move(tx, operation, "expired", detail="approved")
            tx.event("approval.expired", {"approval_id": approval.approval_id, "after": "approval"})
            return "expired"
        return None

    def _deny(self, tx: RunTransaction, operation: Operation, rule: str) -> str:
        if operation.status == "dispatched":  # looked up and not done: the claim is given back first
            self._settled(tx, operation, "failed", error_class="not_permitted", detail=rule)
        else:
            operations.move(tx, operation, "denied", error_class="permission_revoked", detail=rule)
        tx.event("policy.denied", {**_named(operation), "rule": rule})
        return "denied"

    def _resource_changed(self, tx: RunTransaction, operation: Operation) -> str:
        if operation.status == "dispatched":
            self._settled(tx, operation, "failed", error_class="resource_changed", detail="resource changed")
        else:
            approval = approvals.of_operation(tx.connection, tx.tenant, operation.operation_id)
            if approval is not None:
                approvals.move(tx, approval, "superseded")
            operations.move(tx, operation, "superseded", detail="resource changed")
        tx.event("approval.superseded", {**_named(operation), "why": "resource changed"})
        return "superseded"

    def _taken(self, tx: RunTransaction, operation: Operation, tool: WriteTool, lease: Lease) -> str | None:
        """What an effect that exists under the key means for this operation; None if it may be claimed again."""
        effect = operations.effect(tx.connection, tx.tenant, operation.operation_key)
        assert effect is not None
        mine = effect["operation_id"] == operation.operation_id
        if effect["status"] == "failed" or mine:
            operations.reclaim_effect(tx, operation, lease.fence)
            return None
        if effect["digest"] != operation.digest:
            return self._conflict(tx, operation, effect["operation_id"])
        if effect["status"] != "committed":
            return "busy"
        operations.move(tx, operation, "dispatched")
        operations.move(
            tx,
            _as(operation, "dispatched"),
            "committed",
            object_id=effect["object_id"],
            detail="deduplicated",
        )
        tx.event("tool.deduplicated", {**_named(operation), "object_id": effect["object_id"]})
        return "committed"

    def _conflict(self, tx: RunTransaction, operation: Operation, other: str) -> str:
        operations.move(tx, operation, "dispatched")
        detail = f"OperationKeyConflict: the key stands for operation {other} with other arguments"
        operations.move(tx, _as(operation, "dispatched"), "failed", error_class="key_conflict", detail=detail)
        tx.event("tool.call.failed", {**_named(operation), "error_class": "key_conflict", "detail": detail})
        return "failed"

    # --- act ------------------------------------------------------------------------------------------------

    def _act(self, lease: Lease, operation: Operation, tool: WriteTool, call: Call) -> str:
        # window A: claimed, not done
        try:
            receipt = foreign(lambda: tool.act(call), "unknown_outcome")  # it may have happened
        except ToolError as error:
            return self._failed(lease, operation, tool, call, error)
        # window B: done, not recorded
        return self._committed(lease, operation, receipt)

    def _failed(self, lease: Lease, operation: Operation, tool: WriteTool, call: Call, error: ToolError) -> str:
        if error.error_class != "unknown_outcome":
            self._settle(lease, operation, "failed", error_class=error.error_class, detail=str(error))
            return "failed"
        with self._ledger.settling(lease) as tx:
            number = len(operations.tries_of(tx.connection, tx.tenant, operation.operation_id))
            operations.end_try(tx, operation.operation_id, number, "unknown", error.error_class, str(error))
            tx.event("tool.call.unknown", {**_named(operation), "try": number, "detail": str(error)[:500]})
        found = self._look_up(lease, operation, tool, call)
        return self.execute(lease, operation, tool, call.task, call.token) if found == "not_found" else found

    def _committed(self, lease: Lease, operation: Operation, receipt: Receipt) -> str:
        if not receipt.object_id or receipt.digest != operation.digest:
            detail = "the target gave no receipt for exactly this operation"
            self._settle(lease, operation, "unknown", error_class="unknown_outcome", detail=detail)
            return "unknown"
        self._settle(lease, operation, "committed", object_id=receipt.object_id)
        # window C: recorded, not checkpointed
        return "committed"

    # --- look up --------------------------------------------------------------------------------------------

    def _look_up(self, lease: Lease, operation: Operation, tool: WriteTool, call: Call) -> str:
        """committed, failed (other arguments under the key), unknown, or not_found where that is proof."""
        problem = ""
        for _ in range(LOOKUPS):
            try:
                receipt = foreign(lambda: tool.lookup(call), "transient")
            except ToolError as error:
                if error.error_class == "key_conflict":
                    self._settle(lease, operation, "failed", error_class="key_conflict", detail=str(error))
                    return "failed"
                problem = str(error)
                continue
            if receipt is not None:
                self._settle(lease, operation, "committed", object_id=receipt.object_id, looked_up=True)
                return "committed"
            if tool.dedups_by_key or tool.lookup_is_authoritative:
                return "not_found"
            problem = "not found, which this target does not vouch for"
        if operation.status != "unknown":
            self._settle(lease, operation, "unknown", error_class="unknown_outcome", detail=problem)
        return "unknown"

    # --- settle ---------------------------------------------------------------------------------------------

    def _settle(
        self,
        lease: Lease,
        operation: Operation,
        status: str,
        *,
        error_class: str | None = None,
        detail: str | None = None,
        object_id: str | None = None,
        looked_up: bool = False,
    ) -> None:
        with self._ledger.settling(lease) as tx:
            self._settled(
                tx,
                operation,
                status,
                error_class=error_class,
                detail=detail,
                object_id=object_id,
                looked_up=looked_up,
            )

    def _settled(
        self,
        tx: RunTransaction,
        operation: Operation,
        status: str,
        *,
        error_class: str | None = None,
        detail: str | None = None,
        object_id: str | None = None,
        looked_up: bool = False,
    ) -> None:
        """Outcome of the operation, of its effect, of its try, and the run's count of what is in flight."""
        operations.move(tx, operation, status, error_class=error_class, detail=detail, object_id=object_id)
        operations.settle_effect(tx, operation, status, object_id)
        number = len(operations.tries_of(tx.connection, tx.tenant, operation.operation_id))
        operations.end_try(tx, operation.operation_id, number, status, error_class, detail)
        if operation.status == "dispatched":
            tx.add(inflight=-1)
        tx.add(repairs=1 if status == "failed" else 0)
        kind = {
            "committed": "tool.call.completed",
            "failed": "tool.call.failed",
            "unknown": "tool.call.unknown",
        }
        named = {**_named(operation), "object_id": object_id, "error_class": error_class, "detail": detail}
        payload = {name: value for name, value in named.items() if value is not None}
        tx.event("tool.reconciled" if looked_up else kind[status], {**payload, "outcome": status})


def _as(operation: Operation, status: str) -> Operation:
    """The operation after a move of this transaction."""
    return replace(operation, status=status)


def cancel_later_writes(tx: RunTransaction, later: list[Operation]) -> None:
    """After an effect of a turn that was not committed, later effects of the same turn are not made."""
    for operation in later:
        if operation.effect == "write" and operation.status in {"planned", "approved", "awaiting_approval"}:
            approval = approvals.of_operation(tx.connection, tx.tenant, operation.operation_id)
            if approval is not None and approval.status in {"pending", "approved"}:
                approvals.move(tx, approval, "cancelled")
            operations.move(tx, operation, "cancelled", detail="an earlier effect of the turn was not committed")


def _named(operation: Operation) -> Json:
    return {"operation_id": operation.operation_id, "tool": operation.tool}
