"""P4: An unknown outcome is looked up or handed to a person, never guessed and never blindly repeated: settling it."""

from __future__ import annotations

import pytest

from state.actor import Actor
from state.errors import Conflict, InputInvalid, NotAllowed
from tests.support.target import Box, breaks, letters
from tests.support.world import RunInWorld, World


def unknown(world: World, *to: str) -> tuple[RunInWorld, Box]:
    """A run whose first letter arrived, while nobody knows, at a target that cannot be asked."""
    box = Box(answers=[breaks])
    world.sends_letters(box, letters(*(to or ("ada",))), lookups=0)
    run = world.noter().approve()
    assert (run.status, run.effect, box.letters) == ("waiting/reconciliation", "unknown", ["ada"])
    return run, box


def test_a_person_says_that_it_was_done_and_the_run_goes_on(world: World) -> None:
    run, box = unknown(world)

    run.settle("letter-1").goes_on()

    assert (run.status, run.effect, box.calls) == ("succeeded/completed", "committed", ["letter:ada"])
    assert "verification.passed" in run.timeline
    entry = world.audit[-1]
    assert (entry["actor"], entry["action"], entry["result"]) == ("ada", "operation.settle", "committed")


def test_what_a_person_says_is_read_back_like_everything_else(world: World) -> None:
    run, _ = unknown(world)

    run.settle("letter-9").goes_on()

    assert (run.status, run.effect) == ("failed/verification_failed", "committed")


def test_what_a_person_says_was_not_done_is_not_done_by_itself(world: World) -> None:
    run, box = unknown(world, "ada", "bob")

    run.settle(None).goes_on()

    assert (run.status, run.effect, box.calls) == ("succeeded/completed", "none", ["letter:ada"])
    assert run.writes == ["failed", "cancelled"]


def test_settling_after_the_end_changes_the_effect_and_never_the_status(world: World) -> None:
    run, _ = unknown(world)
    run.cancel()
    assert (run.status, run.effect) == ("cancelled/user", "unknown")
    assert "unknown" in (run.row.result or {})["summary"]

    run.settle("letter-1")

    assert (run.status, run.effect) == ("cancelled/user", "committed")
    assert run.timeline[-1] == "tool.reconciled"
    assert (run.row.result or {})["summary"] == "Cancelled. Done before: send_letter letter-1."


def test_what_was_not_done_ends_a_cancelled_run_with_all_that_was_to_follow(world: World) -> None:
    box = Box(answers=[breaks], lookup_fails=9)
    world.sends_letters(box, letters("ada", "bob"))
    run = world.noter().approve()
    assert (run.status, run.cancel()) == ("waiting/external", "cancelling")

    run.settle(None)

    assert (run.status, run.writes, box.calls) == ("cancelled/user", ["failed", "cancelled"], ["letter:ada"])


def test_only_who_may_settle_settles(world: World) -> None:
    run, _ = unknown(world)

    with pytest.raises(NotAllowed, match="may not settle"):
        run.settle("letter-1", by="eve")

    assert (run.status, run.effect) == ("waiting/reconciliation", "unknown")
    assert (world.audit[-1]["actor"], world.audit[-1]["result"]) == ("eve", "denied")


def test_what_is_known_cannot_be_settled_again(world: World) -> None:
    run, _ = unknown(world)
    run.settle("letter-1")

    with pytest.raises(Conflict, match="it is committed"):
        run.settle(None)

    assert run.effect == "committed"


@pytest.mark.parametrize("object_id", ["", "a\x00b", "a\x1b[2J", "x" * 501])
def test_an_id_that_no_target_gives_is_refused(world: World, object_id: str) -> None:
    run, _ = unknown(world)

    with pytest.raises(InputInvalid, match="must be printable"):
        run.settle(object_id)

    assert run.effect == "unknown"


def test_a_settlement_frees_the_run_that_waited_for_the_same_effect(loop_world: World) -> None:
    first, box = unknown(loop_world)
    second = loop_world.noter()
    second.approve()
    assert second.status == "waiting/external"

    first.settle("letter-1")
    second.waits_it_out()

    assert (second.status, second.effect, len(box.calls)) == ("succeeded/completed", "committed", 1)


def test_a_run_that_a_person_took_over_can_be_settled_and_stays_taken_over(world: World) -> None:
    run, _ = unknown(world)
    run.take_over()

    run.settle("letter-1").goes_on()

    assert (run.status, run.effect) == ("waiting/takeover", "committed")
    assert world.parts.controls.cancel(Actor("ada"), run.run_id) == "cancelled"
