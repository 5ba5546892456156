"""Stories of letters to a box outside, whose contract promises less than the business store: keys, lookups, or neither.

The box is a file of its own. What a person says of an unknown outcome, they have seen there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.chaos.declared import APPROVES, DONE, Deed, End, Scenario
from tests.support.file_box import FileBox
from tests.support.target import breaks, is_busy, is_lost, letters
from tests.support.world import RunInWorld, World
from tools.claim import MAX_CALLS

MINUTES = 60
SENT = End(DONE, "committed", 2, letters=["ada"])
NOT_SENT = End(DONE, "none", 2)  # the decider is told, and has nothing more to say
CANCELLED_AFTER_IT = End("cancelled/user", "committed", 1, letters=["ada"])
CANCELLED_WITHOUT = End("cancelled/user", "none", 1)


def box_of(world: World, **told: Any) -> FileBox:
    """The box as it is now; `told` is what befalls calls to it."""
    return FileBox(world.folder / "box", world.clock, **told)


def _box(told: Callable[[], dict[str, Any]], **contract: Any) -> Callable[[World, list[str]], None]:
    return lambda world, _: world.sends_letters(box_of(world, **told()), letters("ada"), **contract)


# --- what people do -----------------------------------------------------------------------------------------


def _settles(run: RunInWorld) -> None:
    """As a person does it: they look into the box."""
    sent = list(box_of(run.world).digests)
    run.settle(sent[0] if sent else None)


def _waits_for_a_person(run: RunInWorld) -> bool:
    return run.status == "waiting/reconciliation"


def _all_calls_are_made(run: RunInWorld) -> bool:
    return [each["kind"] for each in run.tries].count("call") == MAX_CALLS


SETTLES = Deed(_waits_for_a_person, _settles)
SETTLES_AFTER_ALL_CALLS = Deed(lambda run: _waits_for_a_person(run) and _all_calls_are_made(run), _settles)


def _is_in_flight(run: RunInWorld) -> bool:
    return run.status == "waiting/external"


def _is_being_taken_over(run: RunInWorld) -> bool:
    return run.status == "queued" and run.row.desired_action == "take_over"


TAKES_OVER_IN_FLIGHT = Deed(
    lambda run: _is_in_flight(run) and run.row.desired_action == "none", lambda run: run.take_over()
)
CANCELS_WHAT_WAS_TAKEN_OVER = Deed(lambda run: run.status == "waiting/takeover", lambda run: run.cancel())
CANCELS_WHILE_IT_IS_TAKEN_OVER = Deed(_is_being_taken_over, lambda run: run.cancel())
CANCELS_IN_FLIGHT = Deed(_is_in_flight, lambda run: run.cancel())


# --- the stories --------------------------------------------------------------------------------------------

BY_LOOKUP = {"lookup_is_authoritative": True}
SLOW = _box(lambda: {"answers": [breaks], "slow_s": 5 * MINUTES}, **BY_LOOKUP, visible_within_s=6 * MINUTES)
LETTER: dict[str, Any] = {"agent": "noter", "task": lambda _: {}}
IN_FLIGHT: dict[str, Any] = {"given": SLOW, "unsent": CANCELLED_WITHOUT, "most_calls": 1, **LETTER}

LETTERS = (
    Scenario(
        "settled-done",
        SENT,
        [APPROVES, SETTLES],
        given=_box(lambda: {"answers": [breaks]}, lookups=0),
        unsent=NOT_SENT,
        passes=["run.waiting_reconciliation"],
        most_calls=1,
        **LETTER,
    ),
    Scenario(
        "settled-undone",
        NOT_SENT,
        [APPROVES, SETTLES],
        given=_box(lambda: {"before": [is_lost]}, lookups=0),
        passes=["run.waiting_reconciliation"],
        most_calls=1,
        **LETTER,
    ),
    Scenario(
        "looked-up",
        SENT,
        [APPROVES],
        given=_box(lambda: {"answers": [breaks]}, **BY_LOOKUP),
        unsent=NOT_SENT,
        most_calls=1,
        **LETTER,
    ),
    Scenario(
        "never-arrived",
        SENT,
        [APPROVES],
        given=_box(lambda: {"before": [is_lost]}, **BY_LOOKUP),
        unsent=NOT_SENT,
        passes=["run.waiting_external"],
        most_calls=2,
        **LETTER,
    ),
    Scenario(
        "only-keys",
        SENT,
        [APPROVES, SETTLES_AFTER_ALL_CALLS],
        given=_box(lambda: {"answers": [breaks], "knows_keys": True}, dedups_by_key=True, lookups=0),
        unsent=NOT_SENT,
        most_calls=MAX_CALLS,
        **LETTER,
    ),
    Scenario(
        "busy",
        SENT,
        [APPROVES],
        given=_box(lambda: {"before": [is_busy(), is_busy(60 * MINUTES)]}, **BY_LOOKUP),
        unsent=NOT_SENT,
        most_calls=MAX_CALLS,
        **LETTER,
    ),
    Scenario(
        "taken-in-flight",
        CANCELLED_AFTER_IT,
        [APPROVES, TAKES_OVER_IN_FLIGHT, CANCELS_WHAT_WAS_TAKEN_OVER],
        passes=["run.taken_over"],
        **IN_FLIGHT,
    ),
    Scenario(
        "taken-cancelled",
        CANCELLED_AFTER_IT,
        [APPROVES, CANCELS_WHILE_IT_IS_TAKEN_OVER, TAKES_OVER_IN_FLIGHT],
        passes=["run.cancel_requested"],
        **IN_FLIGHT,
    ),
    Scenario(
        "gone-in-flight",
        CANCELLED_AFTER_IT,
        [APPROVES, CANCELS_IN_FLIGHT],
        passes=["run.cancel_requested"],
        **IN_FLIGHT,
    ),
)
