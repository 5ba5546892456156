"""A run in words: one line for each event of its timeline, one for each status. No I/O."""

from __future__ import annotations

import unicodedata
from typing import Any, cast

from state.digest import Json

_EVENTS = {
    "run.accepted": "accepted",
    "run.queued": "ready to be driven",
    "run.started": "started",
    "run.resumed": "goes on",
    "run.migrated": "brought to a newer state version",
    "run.paused": "paused",
    "run.pause_requested": "somebody asks for a pause",
    "run.cancel_requested": "somebody asks to cancel",
    "run.waiting_approval": "waits for an approval",
    "run.waiting_external": "waits, and looks again",
    "run.waiting_budget": "waits for more budget",
    "run.budget_granted": "more budget given",
    "run.taken_over": "a person took over",
    "run.waiting_reconciliation": "waits for a person to settle an unknown outcome",
    "run.waiting_migration": "waits for a program that knows its version",
    "run.completed": "succeeded",
    "attempt.ended": "driver lets go",
    "turn.decided": "decided",
    "model.retried": "decider asked again",
    "proposal.refused": "proposal refused",
    "policy.denied": "denied by policy",
    "operation.planned": "planned",
    "approval.requested": "approval requested",
    "approval.decided": "approval answered",
    "approval.refused": "an answer was refused",
    "approval.expired": "approval expired",
    "approval.superseded": "approval overtaken",
    "tool.call.started": "call started",
    "tool.call.completed": "call completed",
    "tool.call.failed": "call failed",
    "tool.call.unknown": "outcome unknown",
    "tool.reconciled": "outcome found out",
    "tool.deduplicated": "was done before under the same key",
    "verification.passed": "read back, and agrees",
    "verification.failed": "read back, and differs",
}
_STATUSES = {
    "succeeded": "succeeded",
    "insufficient_evidence": "cannot be told from what could be read",
    "timed_out": "timed out",
    "budget_exceeded": "out of budget",
}
_DETAILS = (
    "tool",
    "tools",
    "answer",
    "object_id",
    "outcome",
    "reason",
    "how",
    "error_class",
    "why",
    "detail",
    "rule",
    "needs",
)


def event_words(event: Json) -> str:
    """What happened, in words, with the few details that a reader needs."""
    type_ = str(event["type"])
    words = _EVENTS.get(type_) or type_.removeprefix("run.").replace("_", " ").replace(".", " ")
    payload = event["payload"]
    details = [_detail(payload[name]) for name in _DETAILS if payload.get(name)]
    if type_ == "run.migrated":
        details.append(f"{payload['from']} to {payload['to']}")
    if payload.get("again_at"):
        details.append(f"again at {payload['again_at'][11:19]}")
    by = f" (by {event['actor']})" if event["actor"] != "remit" else ""
    return plain((f"{words}: {', '.join(details)}" if details else words) + by)


def _detail(value: Any) -> str:
    return ", ".join(str(each) for each in cast(list[Any], value)) if isinstance(value, list) else str(value)


def status_words(status: str, reason: str | None) -> str:
    """`waiting (approval)`; a wish is never shown as done, because a status is not a wish."""
    words = _STATUSES.get(status) or status
    return words if reason is None or (status, reason) == ("succeeded", "completed") else f"{words} ({reason})"


def plain(text: object) -> str:
    """Text as it can be shown on one line: what could move a cursor or turn a line around is made visible.

    What an approver reads comes from files that others wrote, so it must not be able to draw on the terminal.
    """
    return "".join(_visible(character) for character in str(text))


def _visible(character: str) -> str:
    if character == "\n":
        return "↵"
    hidden = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return f"\\u{ord(character):04x}" if hidden else character
