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


def escalate(tx: RunTransaction, facts: Facts) -> None:
    """From the time on that its question names, a second role may decide too."""
    for approval in facts.questions:
        if approval.escalate_at is not None and approval.escalate_at <= tx.now and approvals.escalate(tx, approval):
            said = {"approval_id": approval.approval_id, "role": approval.escalate_to}
            tx.event("approval.escalated", said, actor=REMIT.subject)


def next_look(facts: Facts, deadline: int | None, now: int) -> int | None:
    """When something of these questions is due, or the deadline, in milliseconds since 1970 UTC."""
    times = [each.expires_at for each in facts.questions]
    times += [each.escalate_at for each in facts.questions if each.escalate_at is not None and each.escalate_at > now]
    return min([*times, *([] if deadline is None else [deadline])], default=None)


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
    elif tx.run["status"] == "waiting":
        escalate(tx, facts)
        tx.set(wake_at=next_look(facts, deadline, tx.now))
