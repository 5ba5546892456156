"""What an agent's own rules must answer; they stand beside its tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from state.acceptance import Expectation
from state.digest import Json
from store.operations import Source


class AgentRules(Protocol):
    """The part of an agent that is code and no model can talk to."""

    def accept_input(self, given: Json) -> Json:
        """The task as it will be recorded. Raises InputInvalid with what is wrong and how to mend it."""
        ...

    def expectation(self, task: Json, sources: Sequence[Source]) -> Expectation:
        """What the sources recorded so far say should happen. Pure: the same facts give the same answer."""
        ...
