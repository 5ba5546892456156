"""An agent's definition: versioned, immutable data that a run is admitted with and keeps."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from state.budget import Budget
from state.digest import digest_of


class AgentDefinition(BaseModel):
    """What an agent is allowed to be. `decider` is None for an agent whose first turn is recorded from its input.

    `approval_ttl_s` is how long a question to people stays open, in seconds. `max_repairs` is how many refused
    proposals in a row are told to the decider before the run ends as failed/proposal_invalid.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    agent_id: str = Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")
    version: str
    instructions: str
    decider: str | None
    tools: tuple[str, ...]
    budget: Budget = Budget()
    approval_ttl_s: int = Field(default=24 * 3600, gt=0)
    max_repairs: int = Field(default=2, ge=0)
    on_rejection: Literal["end", "tell", "take_over"] = "end"
    on_denial: Literal["end", "tell", "take_over"] = "end"
    on_expiry: Literal["ask_again", "end"] = "ask_again"
    on_budget: Literal["end", "ask"] = "end"

    @property
    def version_id(self) -> str:
        """`agent_id@version+<12 hex digits of the definition's digest>`."""
        return f"{self.agent_id}@{self.version}+{_digest(self.model_dump_json())[:12]}"


@lru_cache(maxsize=64)  # not a cached_property: model_copy would take an old value along
def _digest(definition: str) -> str:
    return digest_of(json.loads(definition))
