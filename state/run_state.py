"""What travels through a graph: identifiers and a small display mirror, JSON-plain. The ledger holds the rest."""

from __future__ import annotations

from typing_extensions import TypedDict


class RunState(TypedDict, total=False):
    """Channels of every graph. `step` and `outcome` are hints: a node believes the ledger, never these."""

    state_version: int
    session_id: str
    run_id: str
    turn: int
    operation_ids: list[str]
    step: str
    outcome: str
    status: str
    reason: str | None
    effect: str
    summary: str


class RunOutput(TypedDict, total=False):
    """What `graph.invoke` returns."""

    run_id: str
    status: str
    reason: str | None
    effect: str
    summary: str
