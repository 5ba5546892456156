"""Recording what became of a claimed operation: the operation, its effect, its try, and what is in flight, together."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from state.clock import iso
from state.digest import Json
from state.operation import Operation
from store import approvals, effects, operations
from store.transaction import RunTransaction

UNCLAIMED = frozenset({"planned", "awaiting_approval", "approved"})
_FOUND_OUT = frozenset({"lookup", "person"})
_EVENTS = {"committed": "tool.call.completed", "failed": "tool.call.failed", "unknown": "tool.call.unknown"}


def settled(
    tx: RunTransaction,
    operation: Operation,
    status: str,
    *,
    error_class: str | None = None,
    detail: str | None = None,
    object_id: str | None = None,
    next_at: int | None = None,
    by: Literal["call", "lookup", "claim", "person"] = "call",
) -> None:
    """Raises OperationMismatch unless this operation holds the claim of its key.

    `by` is what told the outcome: the call itself, a lookup, a claim that was not made again, or a person.
    `next_at` is when an unknown outcome is looked up next, or a failed call is made again; None: not at all.
    """
    if operation.status == status:  # what was unknown may stay so
        operations.keep(tx, operation, error_class=error_class, detail=detail, next_at=next_at)
    else:
        operations.move(
            tx, operation, status, error_class=error_class, detail=detail, object_id=object_id, next_at=next_at
        )
    effects.settle_effect(tx, operation, status, object_id)
    if by == "lookup":
        effects.looked_up(tx, operation.operation_id, status, error_class, detail)
    elif by == "call":
        effects.end_call(tx, operation.operation_id, status, error_class, detail)
    else:
        effects.lose_calls(tx, operation.operation_id)
    after = replace(operation, status=status, next_at=next_at)
    tx.add(inflight=after.in_flight - operation.in_flight, repairs=int(status == "failed" and next_at is None))
    said = {"object_id": object_id, "error_class": error_class, "detail": detail, "again_at": iso(next_at)}
    said["by"] = by if by in _FOUND_OUT else None
    kind = "tool.reconciled" if by in _FOUND_OUT and status != "unknown" else _EVENTS[status]
    tx.event(kind, {**named(operation), **{name: value for name, value in said.items() if value}, "outcome": status})


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
