"""What a story declares: what is given, what people do when, and how it ends; and the deeds that many stories share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.faults import does_afterwards
from tests.support.world import RunInWorld, World

RUN = "run-1"
TICKET = ("2026-03-01", "2026-02-01")  # observed, recorded
FIELDS = {"source": "gazette 7", "field": "effective", "observed": TICKET[0], "recorded": TICKET[1]}
FIELDS_GIVEN: dict[str, Any] = {"agent": "ticket", "task": lambda _: dict(FIELDS)}
DONE = "succeeded/completed"


@dataclass(frozen=True, slots=True)
class Deed:
    """What a person does, and by what they see that it is theirs to do; in a process of its own."""

    due: Callable[[RunInWorld], bool]
    do: Callable[[RunInWorld], Any]


@dataclass(frozen=True, slots=True)
class End:
    """The right end. `tickets` are (observed, recorded), oldest first; `turns` are those recorded and paid for.

    `letters` are those in the box outside, by their receivers; `withdrawals` counts the tickets that were taken back.
    """

    status: str
    effect: str
    turns: int
    tickets: Sequence[tuple[str, str]] = ()
    letters: Sequence[str] = ()
    withdrawals: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the catalogue.

    `given` sets up each process of the story anew, knowing the types of the events so far; `before` happens once, and
    is never killed. `opened` says that the data directory is there already. `unsent` is the right end where nothing is
    in the box because a process died between a claim and its call. `passes` are types of events that are on the
    timeline however often it died, and `most_calls` is how often the box is called at most.
    """

    id: str
    end: End
    deeds: Sequence[Deed] = ()
    agent: str = "catalog-check"
    task: Callable[[World], dict[str, Any]] = field(default=lambda world: world.check_input())
    given: Callable[[World, list[str]], None] = field(default=lambda world, seen: None)
    before: Callable[[World], object] = field(default=lambda world: None)
    opened: bool = True
    unsent: End | None = None
    passes: Sequence[str] = ()
    most_calls: int = 0


# --- what people do in many stories ---------------------------------------------------------------------------


def is_asked(run: RunInWorld) -> bool:
    """Does the run wait for somebody's answer?"""
    return run.status == "waiting/approval" and bool(run.questions)


APPROVES = Deed(is_asked, lambda run: run.approve(drive=False))
CANCELS = Deed(is_asked, lambda run: run.cancel())


def _sees_the_ticket(run: RunInWorld) -> bool:
    return bool(run.world.tickets) and not run.row.ended and run.row.status != "cancelling"


CANCELS_AFTER_THE_COMMIT = Deed(
    lambda run: _sees_the_ticket(run) and run.row.desired_action == "none", lambda run: run.cancel()
)


def cancelled_after_the_commit(world: World, _: list[str]) -> None:
    """Somebody cancels between the run's commit at the target and its record; what another run does is left alone."""
    run = RunInWorld(world, RUN)
    world.target(does_afterwards(lambda: None if run.row.ended else run.cancel()))
