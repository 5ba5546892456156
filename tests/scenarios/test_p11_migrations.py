"""P11: A run of a known older state version goes on by explicit steps; one that no step leads on from is parked."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Any

import pytest

from nodes.migrations import StateVersions
from state.errors import Conflict, InputInvalid, RunBusy
from store.ledger import Facts
from tests.support.faults import crashing_ledger
from tests.support.racing import at_once
from tests.support.world import RunInWorld, World


def thirty_turns(facts: Facts) -> dict[str, Any]:
    """A step: what was allowed in turns is thirty from now on."""
    return {"max_turns": 30}


def more_turns(facts: Facts) -> dict[str, Any]:
    """A step that would show if it were made twice."""
    return {"max_turns": (facts.run.limits["turns"] or 0) + 1}


def cannot(facts: Facts) -> dict[str, Any]:
    raise LookupError("the record has no such entry")


def approved_by_an_older_program(world: World) -> RunInWorld:
    run = world.check().approve(drive=False)
    world.restart()
    return run


def migrations(run: RunInWorld) -> list[tuple[int, int]]:
    return [(each["payload"]["from"], each["payload"]["to"]) for each in run.events if each["type"] == "run.migrated"]


def test_a_step_brings_an_older_run_up_once_and_it_goes_on(world: World) -> None:
    run = approved_by_an_older_program(world)
    world.writes_state_version(2, {1: thirty_turns})

    run.goes_on()
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)
    assert (run.row.state_version, run.row.limits["turns"], migrations(run)) == (2, 30, [(1, 2)])
    (line,) = [each for each in world.audit if each["action"] == "run.migrate"]
    assert (line["actor"], line["object"], line["result"]) == ("remit", f"run:{run.run_id}", "migrated")


def test_a_run_is_brought_up_over_several_versions_step_by_step(world: World) -> None:
    run = approved_by_an_older_program(world)
    world.writes_state_version(3, {1: thirty_turns, 2: more_turns})

    run.goes_on()

    assert (run.status, run.row.limits["turns"], migrations(run)) == ("succeeded/completed", 31, [(1, 2), (2, 3)])


def test_a_new_run_has_the_state_version_of_its_program_and_needs_no_step(world: World) -> None:
    world.writes_state_version(2, {1: cannot})

    run = world.check().approve()

    assert (run.status, run.row.state_version, migrations(run)) == ("succeeded/completed", 2, [])


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (cannot, "LookupError: the record has no such entry"),
        (lambda facts: {"requester": "mallory"}, "a step must not change requester"),
        (lambda facts: {"state_version": 1}, "a step must not change state_version"),
        (lambda facts: {"max_turns": "many"}, "whole numbers or None: max_turns"),
        (lambda facts: None, "TypeError"),
    ],
)
def test_a_step_that_fails_leaves_the_run_as_it_was_and_parked_with_the_reason(
    world: World, step: Any, why: str
) -> None:
    run = approved_by_an_older_program(world)
    world.writes_state_version(2, {1: step})

    run.goes_on()

    assert (run.status, run.row.state_version, run.row.requester, world.tickets) == ("waiting/migration", 1, "ada", [])
    said = run.events[-2]["payload"]
    assert said["needs"] == "state version 1"
    assert "state version 1 could not be brought to 2" in said["why"]
    assert why in said["why"]
    assert run.timeline.count("run.migrated") == 0


def test_after_a_step_failed_the_old_program_or_a_mended_step_continues(world: World) -> None:
    run, other = approved_by_an_older_program(world), world.ticket(source="gazette 8").approve(drive=False)
    world.writes_state_version(2, {1: cannot})
    world.restart()
    assert (run.goes_on().status, other.goes_on().status) == ("waiting/migration", "waiting/migration")

    world.writes_state_version(1)
    world.restart()
    run.goes_on()
    world.writes_state_version(2, {1: thirty_turns})
    world.restart()
    other.goes_on()

    assert (run.status, other.status) == ("succeeded/completed", "succeeded/completed")
    assert (len(world.tickets), migrations(run), migrations(other)) == (2, [], [(1, 2)])


def test_the_steps_before_the_one_that_fails_stand(world: World) -> None:
    run = approved_by_an_older_program(world)
    world.writes_state_version(3, {1: thirty_turns, 2: cannot})

    run.goes_on()

    assert (run.status, run.row.state_version, migrations(run)) == ("waiting/migration", 2, [(1, 2)])
    assert "state version 2 could not be brought to 3" in run.events[-2]["payload"]["why"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("commit", [1, 2, 3, 4])
def test_a_process_that_dies_around_a_step_has_made_it_or_not(world: World, commit: int, when: str) -> None:
    run = approved_by_an_older_program(world)
    world.writes_state_version(3, {1: more_turns, 2: more_turns})
    turns = run.row.limits["turns"]
    assert turns is not None
    world.restart()
    world.dies(ledger=crashing_ledger(commit, when))
    run.crashes()

    world.restart()
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)
    assert (run.row.limits["turns"], migrations(run)) == (turns + 2, [(1, 2), (2, 3)])


def test_of_two_drivers_one_makes_the_step(world: World) -> None:
    run = approved_by_an_older_program(world)
    world.writes_state_version(2, {1: more_turns})
    turns = run.row.limits["turns"]

    def drive(driver: Any) -> None:
        with suppress(RunBusy):
            driver.drive(run.run_id)

    with closing(world.elsewhere()) as elsewhere:
        at_once([lambda: drive(world.engine), lambda: drive(elsewhere.engine)])

    run.goes_on()
    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)
    assert (run.row.limits["turns"], migrations(run)) == ((turns or 0) + 1, [(1, 2)])


@pytest.mark.parametrize(("version", "why"), [(9, "this program writes 3"), (1, "brings up 2 and later ones")])
def test_a_version_that_no_step_leads_on_from_is_parked_until_its_program_comes(
    world: World, version: int, why: str
) -> None:
    run = approved_by_an_older_program(world)
    world.state_version_of(run, version)
    world.writes_state_version(3, {2: thirty_turns})
    world.restart()

    run.goes_on()
    said = run.events[-2]["payload"]
    assert (run.status, said["needs"], world.tickets) == ("waiting/migration", f"state version {version}", [])
    assert why in said["why"]

    world.writes_state_version(version)
    world.restart()
    assert (run.goes_on().status, len(world.tickets)) == ("succeeded/completed", 1)


def test_a_run_that_is_to_end_ends_as_it_is(world: World) -> None:
    run = world.check()
    world.restart()
    world.writes_state_version(2, {1: thirty_turns})

    assert run.cancel() == "cancelled"

    assert (run.status, run.row.state_version, run.effect, migrations(run)) == ("cancelled/user", 1, "none", [])


def test_a_paused_run_is_brought_up_when_it_is_resumed(world: World) -> None:
    run = world.check()
    run.pause()
    run.goes_on()
    world.restart()
    world.writes_state_version(2, {1: thirty_turns})

    run.resume()

    assert (run.status, migrations(run)) == ("waiting/approval", [(1, 2)])


def test_a_paused_run_that_no_step_leads_on_from_stays_paused_and_says_why(world: World) -> None:
    run = world.check()
    run.pause()
    run.goes_on()
    world.restart()
    world.writes_state_version(2)

    with pytest.raises(Conflict, match="needs state version 1, which this program does not have"):
        run.resume()

    assert run.status == "paused/user"


@pytest.mark.parametrize("steps", [{2: thirty_turns}, {1: thirty_turns, 3: thirty_turns}, {5: thirty_turns}])
def test_steps_that_leave_a_version_out_are_refused_when_they_are_put_together(steps: dict[int, Any]) -> None:
    with pytest.raises(InputInvalid, match=r"State version 4: give a step for each version .* without a gap"):
        StateVersions(4, steps)
