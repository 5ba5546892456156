"""The timeline's vocabulary and its hash chain."""

from __future__ import annotations

from typing import Any

from state.clock import iso
from state.digest import canonical_plain, sha256

EVENT_TYPES = frozenset(
    [
        "run.accepted",
        "run.queued",
        "run.started",
        "run.resumed",
        "run.migrated",
        "run.stage",
        "run.paused",
        "run.pause_requested",
        "run.cancel_requested",
        "run.taken_over",
        "run.waiting_input",
        "run.waiting_approval",
        "run.waiting_external",
        "run.waiting_reconciliation",
        "run.waiting_migration",
        "run.waiting_budget",
        "run.budget_granted",
        "run.completed",
        "run.failed",
        "run.cancelled",
        "run.denied",
        "run.timed_out",
        "run.budget_exceeded",
        "run.insufficient_evidence",
        "attempt.ended",
        "turn.decided",
        "model.retried",
        "proposal.refused",
        "policy.denied",
        "operation.planned",
        "approval.requested",
        "approval.decided",
        "approval.refused",
        "approval.expired",
        "approval.escalated",
        "approval.superseded",
        "approval.withdrawn",
        "tool.call.started",
        "tool.call.completed",
        "tool.call.failed",
        "tool.call.unknown",
        "tool.reconciled",
        "tool.deduplicated",
        "verification.passed",
        "verification.failed",
        "artifact.created",
        "input.received",
        "review.changed",
        "delivery.changed",
    ]
)

FIRST_HASH = "0" * 64


def end_event(status: str) -> str:
    """The type of the event with which a run of this status ends."""
    return "run.completed" if status == "succeeded" else f"run.{status}"


def event_hash(previous: str, event: dict[str, Any]) -> str:
    """SHA-256 over the canonical JSON of an event's public fields and its predecessor's hash."""
    return sha256(canonical_plain({**event, "previous": previous}))


def public_event(row: dict[str, Any]) -> dict[str, Any]:
    """An event as people and programs see it: seq, event_id, run_id, type, at (ISO), actor, payload."""
    return {
        "seq": row["seq"],
        "event_id": row["event_id"],
        "run_id": row["run_id"],
        "type": row["type"],
        "at": iso(row["at"]),
        "actor": row["actor"],
        "payload": row["payload"],
    }
