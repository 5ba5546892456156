"""P9: One run has one driver at a time; a driver that lost its lease cannot write. (On one host.)"""

from __future__ import annotations

from contextlib import closing

import pytest

from graphs.engines.engine import Engine
from state.errors import GuardRefused, LeaseLost, RunBusy
from store.guard import LEASE_TTL_MS
from tests.support.faults import does_first
from tests.support.racing import at_once, drive_at_once
from tests.support.world import RunInWorld, World, final, note

TICKET = {"source": "gazette 7", "field": "effective", "observed": "2026-03-01", "recorded": "2026-02-01"}


def drives(engine: Engine, run: RunInWorld) -> str:
    try:
        engine.drive(run.run_id)
    except RunBusy:
        return "busy"
    return "drove"


def test_a_second_driver_is_told_that_the_run_is_busy(world: World) -> None:
    seen: list[type[BaseException]] = []

    def another() -> None:
        try:
            world.another_driver().drive(run.run_id)
        except RunBusy as busy:
            seen.append(type(busy))

    world.target(does_first(another))
    run = world.check()
    run.approve()

    assert seen == [RunBusy]
    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


@pytest.mark.parametrize("drivers", [50])
def test_many_drivers_at_once_have_one_effect(world: World, drivers: int) -> None:  # X11
    run = world.check().approve(drive=False)
    engines = [world.another_driver() for _ in range(drivers)]

    said = at_once([lambda engine=engine: drives(engine, run) for engine in engines])

    assert set(said) <= {"drove", "busy"}
    assert "drove" in said
    assert (run.status, len(world.tickets), run.tried) == ("succeeded/completed", 1, [("call", "committed")])
    assert run.attempts == [(1, "parked"), (2, "ended")]


@pytest.mark.parametrize("times", [5, pytest.param(50, marks=pytest.mark.long)])
@pytest.mark.parametrize("what", ["start", "resume"])
def test_two_processes_that_drive_a_run_at_once_are_one_driver(world: World, what: str, times: int) -> None:  # X11
    with closing(world.elsewhere()) as other:
        for number in range(times):
            run = world.start("ticket", {**TICKET, "source": f"gazette {number}"}, drive=False)
            if what == "resume":
                run.goes_on().approve(drive=False)

            said = at_once([lambda run=run, there=there: drives(there.engine, run) for there in (world, other)])

            assert "drove" in said
            assert set(said) <= {"drove", "busy"}
            assert [fence for fence, _ in run.attempts] == list(range(1, run.row.fence + 1))
            assert run.status == {"start": "waiting/approval", "resume": "succeeded/completed"}[what]
    assert len(world.tickets) == {"start": 0, "resume": times}[what]
    assert all(each["kind"] == "call" for each in world.rows("tries"))


@pytest.mark.long
@pytest.mark.parametrize("time", range(3))
def test_real_processes_that_resume_a_run_at_once_are_one_driver(world: World, time: int) -> None:  # X11
    run = world.check().approve(drive=False)

    said = drive_at_once(world, run, 2)

    assert set(said) <= {"done", "RunBusy"}
    assert "done" in said
    assert (run.status, len(world.tickets), run.tried) == ("succeeded/completed", 1, [("call", "committed")])


def test_a_driver_whose_lease_was_taken_over_cannot_write(loop_world: World) -> None:
    run = loop_world.start("catalog-check", loop_world.check_input(), drive=False)
    ledger = loop_world.parts.ledger
    first = ledger.claim(run.run_id, loop_world.parts.driving("loop").driver)
    loop_world.clock.passes(seconds=LEASE_TTL_MS / 1000 + 1)
    second = ledger.claim(run.run_id, loop_world.parts.driving("loop").driver)

    with pytest.raises(LeaseLost), ledger.acting(first):
        pass
    with pytest.raises(LeaseLost), ledger.settling(first):
        pass
    with ledger.acting(second):
        pass

    assert run.timeline.count("attempt.ended") == 1


def test_a_lease_is_not_taken_from_a_driver_that_lives(loop_world: World) -> None:
    run = loop_world.start("catalog-check", loop_world.check_input(), drive=False)
    driver = loop_world.parts.driving("loop").driver
    loop_world.parts.ledger.claim(run.run_id, driver)

    with pytest.raises(RunBusy):
        loop_world.parts.ledger.claim(run.run_id, driver)


def test_a_released_lease_writes_nothing_any_more(loop_world: World) -> None:
    run = loop_world.start("catalog-check", loop_world.check_input(), drive=False)
    ledger = loop_world.parts.ledger
    lease = ledger.claim(run.run_id, loop_world.parts.driving("loop").driver)
    ledger.release(lease)

    with pytest.raises((LeaseLost, GuardRefused)), ledger.acting(lease):
        pass

    assert run.status == "queued"


def test_a_run_whose_saver_fails_is_given_back_to_the_queue(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from graphs.engines.langgraph import LangGraphEngine
    from tests.support.savers import failing_saver

    world = World(tmp_path, "langgraph")
    world.engine_made = lambda parts: LangGraphEngine(parts, saver=failing_saver(after=3), durability="sync")
    run = world.start("catalog-check", world.check_input(), drive=False)
    with pytest.raises(OSError, match="disk is full"):
        run.goes_on()
    assert run.status == "queued"

    world.engine_made = None
    world.restart()
    run.goes_on().approve()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)
    world.close()


def test_a_driver_that_dies_again_and_again_without_getting_further_is_given_up(loop_world: World) -> None:
    loop_world.decider_says(note(), final())
    run = loop_world.start("noter", {}, drive=False)
    driving = loop_world.parts.driving("loop")
    for _ in range(7):
        loop_world.parts.ledger.claim(run.run_id, driving.driver)
        loop_world.clock.passes(seconds=LEASE_TTL_MS / 1000 + 1)

    run.goes_on()

    assert run.status == "failed/attempts_exhausted"
