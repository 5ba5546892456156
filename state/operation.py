"""Proposals and operations: what a decider wants, and the only thing that can be executed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from state.budget import Usage
from state.errors import IllegalMove

OperationStatus = Literal[
    "planned",
    "awaiting_approval",
    "approved",
    "dispatched",
    "committed",
    "failed",
    "unknown",
    "rejected",
    "expired",
    "superseded",
    "denied",
    "cancelled",
    "skipped",
]

ADOPTED = "deduplicated"  # the detail of what another run had made
_BEFORE = frozenset({"denied", "cancelled", "skipped"})
OPERATION_MOVES: dict[str, frozenset[str]] = {
    "planned": frozenset({"awaiting_approval", "dispatched", "superseded"}) | _BEFORE,
    "awaiting_approval": frozenset({"approved", "rejected", "expired", "superseded"}) | _BEFORE,
    "approved": frozenset({"dispatched", "awaiting_approval", "expired", "superseded"}) | _BEFORE,
    "dispatched": frozenset({"committed", "failed", "unknown", "dispatched"}),
    "unknown": frozenset({"committed", "failed", "dispatched"}),
    "failed": frozenset({"dispatched"}),
}
READ_MOVES: dict[str, frozenset[str]] = {
    "planned": frozenset({"committed", "failed"}) | _BEFORE,
    "approved": frozenset({"committed", "failed"}) | _BEFORE,
}


def check_operation_move(effect: str, current: str, target: str) -> None:
    """Raises IllegalMove unless an operation with this effect (`read` or `write`) may go from current to target."""
    moves = OPERATION_MOVES.get(current, frozenset[str]())
    if effect == "read":
        moves = READ_MOVES.get(current, moves)
    if target not in moves:
        raise IllegalMove(f"An operation ({effect}) that is {current} cannot become {target}.")


class _Untrusted(BaseModel):
    """Read from a decider: unknown fields and coercion across types are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Citation(_Untrusted):
    """Where a proposal got a value from: a material that was really read, by content hash, with the words."""

    material: str = Field(max_length=200)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    quote: str = Field(default="", max_length=4000)


class Action(_Untrusted):
    """One call that a decider would like to see made."""

    tool: str = Field(max_length=200)
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
    cites: list[Citation] = Field(default_factory=list[Citation], max_length=16)


class Proposal(_Untrusted):
    """What a decider wants. It is data: nothing in it grants, approves, names an actor or ends a run.

    `actions` asks for calls; `final` says that the task is done, with a claim that is checked against the acceptance
    criteria; `continue` costs a turn and does nothing. Asking the requester a question is not offered yet.
    """

    kind: Literal["actions", "final", "continue"]
    actions: list[Action] = Field(default_factory=list[Action], max_length=16)
    claim: Literal["completed", "nothing_to_do", "insufficient_evidence"] | None = None
    summary: str = Field(default="", max_length=4000)
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of `operations`: a validated proposal with an identity."""

    operation_id: str
    run_id: str
    turn: int
    index: int
    generation: int
    operation_key: str
    digest: str
    tool: str
    tool_version: str
    effect: str
    arguments: dict[str, Any]
    resource: str | None
    resource_version: int | None
    status: str
    error_class: str | None
    detail: str | None
    object_id: str | None
    verified: bool | None
    next_at: int | None = None  # when the next try or lookup may be made, in milliseconds since 1970 UTC

    @property
    def adopted(self) -> bool:
        """Committed without a call: another run had made the same under the same key."""
        return self.status == "committed" and self.detail == ADOPTED

    @property
    def in_flight(self) -> bool:
        """Dispatched, or unknown with lookups left: a run does not end before it has been looked up."""
        return self.status == "dispatched" or (self.status == "unknown" and self.next_at is not None)

    @property
    def to_come(self) -> int | None:
        """When something is to be done about what is not the last word: a lookup, the next try, the next read-back."""
        unread = self.status == "committed" and self.verified is None
        return self.next_at if unread or self.status in {"unknown", "failed"} else None


# One level of names that only trusted code may give; a proposal that holds one is refused at any depth.
RESERVED_NAMES = frozenset(
    {
        "actor",
        "approval",
        "approval_id",
        "approved",
        "approver",
        "authorized",
        "digest",
        "idempotency_key",
        "operation_id",
        "operation_key",
        "permission",
        "principal",
        "role",
        "roles",
        "run_id",
        "tenant",
        "tenant_id",
    }
)
