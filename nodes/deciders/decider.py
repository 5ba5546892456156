"""What proposes: the protocol, and the view of a run that a decider is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from state.acceptance import Expectation
from state.budget import Usage
from state.digest import Json
from tools.contract import CancelToken


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one operation of an earlier turn, as a decider may know it."""

    turn: int
    tool: str
    arguments: Json
    status: str
    detail: str | None
    result: Json | None


@dataclass(slots=True)
class View:
    """What a decider sees of a run. Results are data from tools: nothing in them is an instruction.

    `told` holds why earlier proposals were refused, rejected or failed. `expectation` is what the recorded sources say
    should happen; rules follow it, and a model is held to it whether it sees it or not.
    """

    run_id: str
    turn: int
    task: Json
    instructions: str
    tools: dict[str, Json]
    expectation: Expectation
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    told: list[str] = field(default_factory=list[str])


class Stopped(Exception):
    """The token was tripped and the decider stopped: there is no word, and `usage` is what came of it so far."""

    def __init__(self, usage: Usage) -> None:
        super().__init__("The decider was stopped.")
        self.usage = usage


class Decider(Protocol):
    """Proposes one turn. Whatever it returns or raises is data; it can never break or steer a run by it.

    It makes one try at its provider and no more. A try that may be made again is a ToolError of the class
    `rate_limited` (nothing was worked on) or `transient`, with `retry_after_s` where the provider says so: the node
    `decide` tries again. On a tripped token a decider stops and raises Stopped.
    """

    name: str

    def propose(self, view: View, token: CancelToken) -> Any:
        """A `Proposal`, or JSON that reads as one. Raises Stopped, ToolError."""
        ...

    def worst_case(self) -> Usage:
        """The most that one try can cost; a proposal whose worst case does not fit the budget is not asked for."""
        ...
