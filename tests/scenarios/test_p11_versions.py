"""P11: A run keeps the versions it started with; an unknown one is parked, never guessed at. (First cut.)"""

from __future__ import annotations

from state import run as run_state
from tests.support.without import without_version_guard
from tests.support.world import World


def test_a_run_of_an_agent_version_that_is_gone_waits_and_the_right_version_goes_on(world: World) -> None:  # C8
    run = world.check().approve(drive=False)
    world.agent_has(instructions="other instructions")
    world.restart()

    run.goes_on()
    assert (run.status, world.tickets) == ("waiting/migration", [])
    world.changes.clear()
    world.restart()
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


def test_a_run_of_an_agent_that_this_program_does_not_have_waits_for_one_that_does(world: World) -> None:
    run = world.check().approve(drive=False)
    world.restart()
    world.only_agents = ("noter",)

    run.goes_on()
    assert (run.status, world.tickets) == ("waiting/migration", [])
    world.only_agents = None
    world.restart()
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


def test_a_run_of_an_unknown_state_version_is_parked_also_when_it_is_approved(world: World) -> None:  # K2, with
    run = world.check().approve(drive=False)
    world.state_version_of(run, 999)

    run.goes_on()

    assert (run.status, world.tickets) == ("waiting/migration", [])
    world.state_version_of(run, run_state.STATE_VERSION)
    assert (run.goes_on().status, len(world.tickets)) == ("succeeded/completed", 1)


def test_without_the_version_guard_the_unknown_version_acts(world: World) -> None:  # K2, without
    run = world.check().approve(drive=False)
    world.state_version_of(run, 999)
    world.without(without_version_guard)
    world.restart()

    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)
