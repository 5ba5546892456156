"""A run as the ledger knows it, its statuses and the moves between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from state.errors import IllegalMove, RunAlreadyTerminal

# Raised when the meaning of graph state or journal changes; a run of an unknown version is parked.
STATE_VERSION = 1

Status = Literal[
    "queued",
    "running",
    "waiting",
    "paused",
    "cancelling",
    "succeeded",
    "failed",
    "denied",
    "cancelled",
    "timed_out",
    "budget_exceeded",
    "insufficient_evidence",
]
Wish = Literal["none", "pause", "cancel", "take_over"]

REASONS: dict[str, frozenset[str]] = {
    "queued": frozenset(),
    "running": frozenset(),
    "waiting": frozenset({"approval", "input", "external", "reconciliation", "migration", "budget", "takeover"}),
    "paused": frozenset({"user"}),
    "cancelling": frozenset({"user"}),
    "succeeded": frozenset({"completed", "nothing_to_do"}),
    "failed": frozenset(
        {
            "input_invalid",
            "proposal_invalid",
            "tool_failed",
            "model_failed",
            "verification_failed",
            "no_progress",
            "attempts_exhausted",
            "internal",
        }
    ),
    "denied": frozenset({"policy", "approval_rejected", "permission_revoked", "emergency_stop"}),
    "cancelled": frozenset({"user"}),
    "timed_out": frozenset({"deadline", "approval_expired", "input_expired", "external_expired"}),
    "budget_exceeded": frozenset({"turns", "model_calls", "tool_calls", "tokens", "cost", "active_time"}),
    "insufficient_evidence": frozenset({"evidence_missing"}),
}

LIVE = frozenset({"queued", "running", "waiting", "paused", "cancelling"})
TERMINAL = frozenset(REASONS) - LIVE
DRIVABLE = frozenset({"running", "cancelling"})

MOVES: dict[str, frozenset[str]] = {
    "queued": frozenset({"running", "cancelled", "timed_out", "failed", "denied", "waiting"}),
    "running": frozenset({"waiting", "paused", "cancelling", "queued"}) | TERMINAL,
    "waiting": frozenset({"queued", "running", "cancelling", "cancelled", "timed_out", "waiting"}),
    "paused": frozenset({"queued", "running", "cancelling", "cancelled", "timed_out", "waiting"}),
    "cancelling": TERMINAL,
}


def check_move(current: str, target: str, reason: str | None) -> None:
    """Refuse a move that the statuses do not allow.

    Raises RunAlreadyTerminal for any move from an end, IllegalMove for any other forbidden move or reason.
    """
    if current in TERMINAL:
        raise RunAlreadyTerminal(f"The run has ended ({current}); nothing changes an end.")
    if target not in MOVES[current]:
        raise IllegalMove(f"A run that is {current} cannot become {target}.")
    allowed = REASONS[target]
    fits = (reason in allowed) if allowed else (reason is None)
    if fits and (target != "waiting" or current == "running" or reason == "takeover"):
        return
    raise IllegalMove(f"{reason!r} is no reason for a run to go from {current} to {target}.")


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to drive a run: a fence that only grows, and a nonce that only this driver knows."""

    run_id: str
    fence: int
    nonce: str


@dataclass(frozen=True, slots=True)
class Run:
    """One row of `runs`. Times are milliseconds since 1970 UTC; `limits` and `used` are keyed by measure."""

    run_id: str
    session_id: str
    task_id: str
    agent_id: str
    agent_version: str
    state_version: int
    engine: str
    requester: str
    status: str
    reason: str | None
    status_version: int
    desired_action: str
    inflight: int
    turn: int
    repairs: int
    takeovers: int
    seq: int
    fence: int
    nonce: str | None
    owner: str | None
    lease_until: int
    active_at: int | None
    wake_at: int | None
    deadline: int | None
    created_at: int
    started_at: int | None
    ended_at: int | None
    last_activity_at: int
    result: dict[str, Any] | None
    failure: dict[str, Any] | None
    budget_refused: int
    limits: dict[str, int | None] = field(default_factory=dict[str, "int | None"])
    used: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL


def effects_of(operations: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """`{committed, unknown, failed}`: every effect of a run, by what is known of it.

    `operations` are rows with `effect, status, operation_id, tool, operation_key, object_id`. A dispatched effect
    whose outcome nobody has recorded is unknown.
    """
    named: dict[str, list[dict[str, Any]]] = {"committed": [], "unknown": [], "failed": []}
    place = {"committed": "committed", "unknown": "unknown", "dispatched": "unknown", "failed": "failed"}
    for row in operations:
        if row["effect"] == "write" and row["status"] in place:
            named[place[row["status"]]].append(
                {
                    "operation_id": row["operation_id"],
                    "tool": row["tool"],
                    "key": row["operation_key"],
                    "object_id": row["object_id"],
                }
            )
    return named


def effect_of(effects: dict[str, list[dict[str, Any]]]) -> str:
    """One word for all effects: `unknown` if any is unknown, else `committed` if any is, else `none`."""
    if effects["unknown"]:
        return "unknown"
    return "committed" if effects["committed"] else "none"
