"""Budgets: what a run may use in all, and what it has used.

Counted in the ledger. A call whose worst case does not fit is not made; waiting for a person costs no active time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Measure = Literal["turns", "model_calls", "tool_calls", "input_tokens", "output_tokens", "cost_microusd", "active_ms"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

# The reason code of a run that ended for want of a measure.
REASON: dict[Measure, str] = {
    "turns": "turns",
    "model_calls": "model_calls",
    "tool_calls": "tool_calls",
    "input_tokens": "tokens",
    "output_tokens": "tokens",
    "cost_microusd": "cost",
    "active_ms": "active_time",
}


class Budget(BaseModel):
    """Limits of a run; None means no limit. Cost is in millionths of a US dollar, time in milliseconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    turns: int | None = Field(default=20, ge=0)
    model_calls: int | None = Field(default=None, ge=0)
    tool_calls: int | None = Field(default=50, ge=0)
    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    cost_microusd: int | None = Field(default=None, ge=0)
    active_ms: int | None = Field(default=15 * 60 * 1000, ge=0)


class Usage(BaseModel):
    """What one call used. A decider reports it; the ledger charges it with the record of the turn."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    model_calls: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cost_microusd: int = Field(default=0, ge=0)


def shortfall(limits: Mapping[str, Any], used: Mapping[str, Any], wanted: Mapping[str, int]) -> str | None:
    """The reason code of the first measure that `wanted` more would exceed, or None if all of it fits.

    A measure that is not wanted is not looked at, except active time, which is used up by itself.
    """
    for measure in MEASURES:
        limit = limits[measure]
        more = wanted.get(measure, 0)
        if limit is None or (more == 0 and measure != "active_ms"):
            continue
        if used[measure] + more > limit or (measure == "active_ms" and used[measure] >= limit):
            return REASON[measure]
    return None
