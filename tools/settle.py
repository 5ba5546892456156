"""Recording what became of a claimed operation: the operation, its effect, its try, and what is in flight, together."""

from __future__ import annotations

from dataclasses import replace

from state.digest import Json
from state.operation import Operation
from store import approvals, effects, operations
from store.transaction import RunTransaction

UNCLAIMED = frozenset({"planned", "awaiting_approval", "approved"})
_EVENTS = {"committed": "tool.call.completed", "failed": "tool.call.failed", "unknown": "tool.call.unknown"}


def settled(
    tx: RunTransaction,
    operation: Operation,
    status: str,
    *,
    error_class: str | None = None,
    detail: str | None = None,
    object_id: str | None = None,
    lookups: int = 0,
) -> None:
    """Raises OperationMismatch unless this operation holds the claim of its key. `lookups` are a try of their own."""
    if operation.status != status:  # what was unknown may stay so
        operations.move(tx, operation, status, error_class=error_class, detail=detail, object_id=object_id)
    effects.settle_effect(tx, operation, status, object_id)
    if lookups:
        effects.start_try(tx, operation.operation_id, "lookup", tx.run["fence"])
    number = effects.tries_made(tx.connection, tx.tenant, operation.operation_id)
    effects.end_try(tx, operation.operation_id, number, status, error_class, detail)
    if operation.status == "dispatched":
        tx.add(inflight=-1)
    tx.add(repairs=1 if status == "failed" else 0)
    known = {"object_id": object_id, "error_class": error_class, "detail": detail, "lookups": lookups or None}
    said = {name: value for name, value in known.items() if value is not None}
    kind = "tool.reconciled" if lookups and status == "committed" else _EVENTS[status]
    tx.event(kind, {**named(operation), **said, "outcome": status})


def cancel_later_writes(tx: RunTransaction, later: list[Operation]) -> None:
    """After an effect of a turn that was not committed, later effects of the same turn are not made."""
    why = "an earlier effect of the turn was not committed"
    cancelled = [each.operation_id for each in later if each.effect == "write" and cancel_unclaimed(tx, each, why)]
    if cancelled:
        tx.event("run.stage", {"stage": "effects cancelled", "operations": cancelled, "why": why})


def cancel_unclaimed(tx: RunTransaction, operation: Operation, why: str) -> bool:
    """Cancel an operation that was never claimed, with its question; False for one that was, or that is over."""
    if operation.status not in UNCLAIMED:
        return False
    approval = approvals.of_operation(tx.connection, tx.tenant, operation.operation_id)
    if approval is not None and approval.status in {"pending", "approved"}:
        approvals.move(tx, approval, "cancelled")
    operations.move(tx, operation, "cancelled", detail=why)
    return True


def moved(operation: Operation, status: str) -> Operation:
    """The operation after a move of this transaction."""
    return replace(operation, status=status)


def named(operation: Operation) -> Json:
    """How events name an operation."""
    return {"operation_id": operation.operation_id, "tool": operation.tool}
