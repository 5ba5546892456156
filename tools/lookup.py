"""Looking an outcome up: one question to the target, what its answer proves, and when to ask again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from state.errors import RETRYABLE, ErrorClass, ToolError
from state.operation import Operation
from store import effects
from store.effects import Claimed
from store.transaction import RunTransaction
from tools import calling
from tools.backoff import backoff_ms
from tools.contract import Call, Receipt, WriteTool

LOOKUP_BASE_MS, LOOKUP_CAP_MS = 250, 60_000
ASK_AGAIN = RETRYABLE | {"unknown_outcome"}  # a lookup that failed for these may be answered later
MAX_ID = 500


@dataclass(frozen=True, slots=True)
class Found:
    """What a lookup gave: committed, failed, absent or unknown; `again`: it may say something else later."""

    status: str
    detail: str | None = None
    error_class: ErrorClass | None = None
    object_id: str | None = None
    again: bool = True


def ask(tool: WriteTool, call: Call, operation: Operation) -> Found:
    """One lookup; whatever the target does, the answer is a value."""
    if tool.lookups == 0:
        return Found("unknown", f"{tool.id} has no lookup", "unknown_outcome", again=False)
    try:
        receipt = calling.lookup(tool, call)
    except ToolError as error:
        if error.error_class == "key_conflict":
            return Found("failed", str(error), error.error_class)
        return Found("unknown", str(error), "unknown_outcome", again=error.error_class in ASK_AGAIN)
    if receipt is None:
        return Found("absent", "not found, which proves nothing yet", "unknown_outcome")
    wrong = wrong_receipt(receipt, operation)
    if wrong is not None:
        return Found("unknown", wrong, "unknown_outcome", again=False)
    return Found("committed", object_id=receipt.object_id)


def wrong_receipt(receipt: Any, operation: Operation) -> str | None:
    """Why this is no receipt for exactly this operation, or None if it is one. What a target says is data."""
    if not isinstance(receipt, Receipt):
        return f"the target answered with {type(receipt).__name__} instead of a receipt"
    given: Any = receipt.object_id
    if not isinstance(given, str) or not 0 < len(given) <= MAX_ID or not given.isprintable():
        return "the target's receipt has no usable id"
    if receipt.digest != operation.digest:
        return "the target's receipt is for other arguments"
    return None


def horizon_ms(tool: WriteTool) -> int:
    """How long after a claim a call may be under way (it begins within its permit), or what it did be unseen."""
    return call_span_ms(tool) + int(tool.visible_within_s * 1000)


def call_span_ms(tool: WriteTool) -> int:
    """How long after a claim its call is over at the latest: it begins within its permit, and then takes its time."""
    return int(2 * tool.longest_call_s * 1000)


def dedups(claim: Claimed | None, now: int) -> bool:
    """Does the target itself still make one object under the key?"""
    return claim is not None and claim.dedups_until is not None and claim.dedups_until > now


def next_lookup(
    tx: RunTransaction, operation: Operation, tool: WriteTool, claim: Claimed | None, *, already_counted: bool = False
) -> int | None:
    """When to look again, or None when the lookups are spent. The last one comes when all that was done is visible.

    The lookup that leads here is `already_counted` where it has been recorded before.
    """
    made = effects.lookups_made(tx.connection, tx.tenant, operation.operation_id) + (not already_counted)
    if made >= tool.lookups:
        return None
    at = tx.now + backoff_ms(made, base_ms=LOOKUP_BASE_MS, cap_ms=LOOKUP_CAP_MS)
    if made == tool.lookups - 1 and claim is not None:
        at = max(at, claim.claimed_at + horizon_ms(tool) + 1)
    return at
