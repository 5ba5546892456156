"""A driver keeps its lease while a node works, and hears of wishes by its token."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from nodes.driver import Driving
from nodes.owner import Owner
from state.actor import Actor
from state.errors import Conflict, Drained, RunBusy
from store.guard import LEASE_TTL_MS
from tests.support.world import USER, RunInWorld, World

BEAT_S = LEASE_TTL_MS / 1000 / 3
PATIENCE_S = 20


def sleeps(driving: Driving) -> None:
    """Wait until its keeper has gone to sleep."""
    give_up = time.monotonic() + PATIENCE_S
    while not driving.idle:
        assert time.monotonic() < give_up
        threading.Event().wait(0.01)


@pytest.fixture
def run(loop_world: World) -> RunInWorld:
    return loop_world.start("catalog-check", loop_world.check_input(), drive=False)


def test_a_lease_that_is_kept_outlives_its_length(loop_world: World, run: RunInWorld) -> None:
    driving = loop_world.parts.driving("loop")
    lease = driving.claim(run.run_id)

    with driving.inside(lease):
        for _ in range(9):
            loop_world.clock.passes(seconds=BEAT_S)
            driving.beat()

    with pytest.raises(RunBusy):
        loop_world.parts.driving("loop").claim(run.run_id)


def test_outside_a_node_nobody_keeps_a_lease(loop_world: World, run: RunInWorld) -> None:
    driving = loop_world.parts.driving("loop")
    driving.claim(run.run_id)

    for _ in range(4):
        loop_world.clock.passes(seconds=BEAT_S)
        driving.beat()

    assert loop_world.parts.driving("loop").claim(run.run_id).fence == 2


def test_a_cancel_reaches_the_call_that_is_going_on(loop_world: World, run: RunInWorld) -> None:
    driving = loop_world.parts.driving("loop")

    with driving.inside(driving.claim(run.run_id)) as token:
        assert run.cancel() == "cancelled"
        driving.beat()

    assert token.tripped == "lease lost"


def test_a_lease_that_was_taken_over_trips_the_token_of_its_old_holder(loop_world: World, run: RunInWorld) -> None:
    driving = loop_world.parts.driving("loop")

    with driving.inside(driving.claim(run.run_id)) as token:
        loop_world.clock.passes(seconds=LEASE_TTL_MS / 1000 + 1)
        loop_world.parts.driving("loop").claim(run.run_id)
        driving.beat()

    assert token.tripped == "lease lost"


def test_a_deadline_trips_the_token(loop_world: World) -> None:
    deadline = loop_world.clock.now() + 5_000
    run = loop_world.start("catalog-check", loop_world.check_input(), drive=False, deadline=deadline)
    driving = loop_world.parts.driving("loop")

    with driving.inside(driving.claim(run.run_id)) as token:
        loop_world.clock.passes(seconds=6)
        driving.beat()

    assert token.tripped == "deadline"


def test_a_wish_to_take_over_trips_the_token(loop_world: World, run: RunInWorld) -> None:
    driving = loop_world.parts.driving("loop")

    with driving.inside(driving.claim(run.run_id)) as token:
        loop_world.parts.controls.take_over(Actor(USER), run.run_id)
        driving.look()

    assert token.tripped == "take over"


def test_looking_for_wishes_writes_nothing_and_trips_nothing_without_one(loop_world: World, run: RunInWorld) -> None:
    driving = loop_world.parts.driving("loop")

    with driving.inside(driving.claim(run.run_id)) as token:
        before = run.row
        loop_world.clock.passes(seconds=BEAT_S)
        driving.look()

    assert (token.tripped, run.row) == (None, before)


def test_the_keeper_sees_a_wish_by_itself_also_after_it_slept(loop_world: World) -> None:
    driving = loop_world.parts.driving("loop")
    for _ in range(2):
        run = loop_world.start("noter", {}, drive=False)
        with driving.inside(driving.claim(run.run_id)) as token:
            run.cancel()
            assert token.event.wait(PATIENCE_S)
        sleeps(driving)


def test_what_a_run_at_its_end_still_does_is_stopped_by_nothing_but_the_loss_of_its_lease(loop_world: World) -> None:
    run = loop_world.start("noter", {}, drive=False, deadline=loop_world.clock.now() + 1_000)
    driving = loop_world.parts.driving("loop")

    with driving.inside(driving.claim(run.run_id), at_its_end=True) as token:
        loop_world.clock.passes(seconds=2)
        driving.look()
        before = token.tripped
        loop_world.clock.passes(seconds=LEASE_TTL_MS / 1000)
        loop_world.parts.driving("loop").claim(run.run_id)
        driving.look()

    assert (before, token.tripped) == (None, "lease lost")


def test_a_drained_process_stops_what_is_going_on_and_begins_nothing(loop_world: World, run: RunInWorld) -> None:
    driving = loop_world.parts.driving("loop")
    lease = driving.claim(run.run_id)

    with driving.inside(lease) as token:
        driving.drain()

    assert token.tripped == "drain"
    with pytest.raises(Drained), driving.inside(lease):
        pass
    with driving.inside(lease, begins=False) as last:
        assert last.tripped is None


def test_the_files_of_dead_owners_are_buried_once_nobody_needs_them(tmp_path: Path) -> None:
    for name in ("needed", "forgotten"):
        (tmp_path / name).touch()

    with closing(Owner(tmp_path)) as alive, closing(Owner(tmp_path)) as other:
        buried = other.bury(lambda name: name == "needed")

        assert buried == ["forgotten"]
        # a missing file proves nothing
        assert [alive.is_dead(name) for name in ("needed", "forgotten")] == [True, False]
        assert (tmp_path / alive.name).exists()


def test_the_same_request_key_opens_one_run(loop_world: World) -> None:
    given = loop_world.check_input()
    first = loop_world.start("catalog-check", given, drive=False, request_key="k")

    again = loop_world.start("catalog-check", given, drive=False, request_key="k")

    assert again.run_id == first.run_id
    with pytest.raises(Conflict, match="take a new key"):
        loop_world.start("catalog-check", {**given, "record": "r2"}, drive=False, request_key="k")
