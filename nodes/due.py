"""Due moves: expiry and deadline, made by whoever looks at a run first."""

from __future__ import annotations

from nodes.ending import end_or_queue
from store import approvals, operations
from store.ledger import REMIT, Facts, Ledger
from store.transaction import RunTransaction


def expire(tx: RunTransaction, facts: Facts) -> bool:
    """Mark pending questions whose time is over; True if there was one. What follows, the run's driver decides."""
    expired = False
    for operation in facts.operations:
        approval = facts.approvals.get(operation.operation_id)
        if approval is None or approval.status != "pending" or approval.expires_at > tx.now:
            continue
        if operation.status == "awaiting_approval" and approvals.move(tx, approval, "expired"):
            operations.move(tx, operation, "expired", detail="unanswered")
            tx.event("approval.expired", {"approval_id": approval.approval_id}, actor=REMIT.subject)
            expired = True
    return expired


def look(ledger: Ledger, run_id: str) -> None:
    """Make the moves that are due on a run that nobody drives. Raises RunNotFound."""
    run = ledger.run(run_id)
    now = ledger.clock.now()
    due = (run.deadline is not None and run.deadline <= now) or (run.wake_at is not None and run.wake_at <= now)
    if run.status not in {"waiting", "paused", "queued"} or not due:
        return
    with ledger.control(run_id, REMIT) as tx:
        if tx.run["status"] in {"waiting", "paused", "queued"}:
            _due(tx, ledger.facts_in(tx.connection, run_id))


def _due(tx: RunTransaction, facts: Facts) -> None:
    deadline, wake_at = tx.run["deadline"], tx.run["wake_at"]
    waits = tx.run["reason"] == "external" and wake_at is not None and wake_at > tx.now
    if deadline is not None and deadline <= tx.now:
        if tx.run["inflight"] == 0 or not waits:  # what is in flight is looked up first, when that is due
            end_or_queue(tx, facts, "timed_out", "deadline")
    elif tx.run["status"] == "waiting" and (expire(tx, facts) or tx.run["reason"] == "external"):
        tx.move("queued")
