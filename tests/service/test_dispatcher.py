"""The dispatcher finds in the ledger what nobody drives, leaves alone what somebody does, and does not give up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from service.dispatcher import Dispatcher
from store.ledger import REMIT, Driver
from tests.support.dev_server import until
from tests.support.run_in_world import RunInWorld
from tests.support.world import World


def nobody(run_id: str) -> bool:
    del run_id
    return False


@contextmanager
def dispatching(world: World, has_driver: Callable[[str], bool] = nobody) -> Iterator[Dispatcher]:
    made = Dispatcher(world.parts, has_driver)
    try:
        yield made
    finally:
        assert made.stop(within_s=30)


def queued(world: World) -> RunInWorld:
    """A run that is approved, and that nobody came for yet."""
    return world.ticket().approve(drive=False)


def ends(run: RunInWorld, status: str = "succeeded") -> None:
    until("the run ends", lambda: run.row.ended)
    assert run.row.status == status


def test_a_queued_run_is_first_left_to_whoever_queued_it(world: World):
    run = queued(world)
    with dispatching(world) as dispatcher:
        assert dispatcher.look_once() == []

        world.clock.passes(seconds=4)

        assert dispatcher.look_once() == [run.run_id]
        ends(run)
    assert len(world.tickets) == 1


def test_a_run_that_was_accepted_and_never_driven_is_driven(world: World):
    run = world.start("ticket", world_fields(), drive=False)
    world.clock.passes(seconds=4)

    with dispatching(world) as dispatcher:
        assert dispatcher.look_once() == [run.run_id]
        until("it asks", lambda: run.row.status == "waiting")


def world_fields() -> dict[str, str]:
    return {"source": "gazette 7", "field": "effective", "observed": "2026-03-01", "recorded": "2026-02-01"}


def test_a_run_that_somebody_else_is_about_to_drive_is_left_to_them(loop_world: World):
    queued(loop_world)
    loop_world.clock.passes(seconds=4)

    with dispatching(loop_world, lambda run_id: True) as dispatcher:
        assert dispatcher.look_once() == []


def test_a_run_is_taken_from_a_driver_that_is_dead_and_from_no_other(loop_world: World):
    run = queued(loop_world)
    elsewhere = loop_world.elsewhere()
    living = elsewhere.parts.owner
    loop_world.parts.ledger.claim(run.run_id, Driver(living.name, "loop", living.is_dead))
    with dispatching(loop_world) as dispatcher:
        assert dispatcher.look_once() == []

        elsewhere.restart()

        assert dispatcher.look_once() == [run.run_id]
        ends(run)
    elsewhere.close()


def test_a_run_whose_drivers_lease_ran_out_is_taken(loop_world: World):
    run = queued(loop_world)
    loop_world.parts.ledger.claim(run.run_id, Driver("on another host", "loop", lambda _: False))

    loop_world.clock.passes(seconds=31)

    with dispatching(loop_world) as dispatcher:
        assert dispatcher.look_once() == [run.run_id]
        ends(run)


def test_a_waiting_run_is_left_waiting_until_its_time_has_come(loop_world: World):
    ends_at = loop_world.clock.now() + 60_000
    run = loop_world.start("ticket", world_fields(), deadline=ends_at)
    with dispatching(loop_world) as dispatcher:
        assert dispatcher.look_once() == []

        loop_world.clock.passes(seconds=61)
        dispatcher.look_once()

        ends(run, "timed_out")


def test_a_question_that_expired_is_asked_again_though_nobody_looks(loop_world: World):
    run = loop_world.ticket()
    asked = run.question.approval_id
    loop_world.clock.passes(seconds=(run.question.expires_at - loop_world.clock.now()) / 1000 + 1)

    with dispatching(loop_world) as dispatcher:
        assert dispatcher.look_once() == [run.run_id]
        until("it is asked again", lambda: run.row.status == "waiting" and run.questions)

    assert run.question.approval_id != asked


def test_a_run_that_cannot_be_driven_is_tried_again_later_and_then_less_and_less_often(loop_world: World):
    parts = loop_world.parts
    run = loop_world.start("ticket", world_fields(), drive=False)
    with parts.ledger.control(run.run_id, REMIT) as tx:
        tx.set(engine="langgraph")
    parts.settings.checkpoints_path.mkdir()
    loop_world.clock.passes(seconds=4)

    with dispatching(loop_world) as dispatcher:
        for pause in (5, 10):
            assert dispatcher.look_once() == [run.run_id]
            until("it failed", lambda: not dispatcher.going)
            loop_world.clock.passes(seconds=pause - 0.001)
            assert dispatcher.look_once() == []
            loop_world.clock.passes(seconds=0.001)

        parts.settings.checkpoints_path.rmdir()

        assert dispatcher.look_once() == [run.run_id]
        until("it asks", lambda: run.row.status == "waiting")


@pytest.mark.parametrize("wish", ["pause", "cancel"])
def test_what_people_wish_of_a_queued_run_is_done(loop_world: World, wish: str):
    run = queued(loop_world)
    if wish == "pause":
        run.pause()
    else:
        run.cancel()
    loop_world.clock.passes(seconds=4)

    with dispatching(loop_world) as dispatcher:
        dispatcher.look_once()
        until("it is done", lambda: run.row.status in {"paused", "cancelled"})

    assert loop_world.tickets == []
