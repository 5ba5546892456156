"""A driver keeps its lease while a node works, and hears of wishes by its token."""

from __future__ import annotations

import pytest

from state.errors import Conflict, RunBusy
from store.guard import LEASE_TTL_MS
from tests.support.world import RunInWorld, World

BEAT_S = LEASE_TTL_MS / 1000 / 3


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


def test_the_same_request_key_opens_one_run(loop_world: World) -> None:
    given = loop_world.check_input()
    first = loop_world.start("catalog-check", given, drive=False, request_key="k")

    again = loop_world.start("catalog-check", given, drive=False, request_key="k")

    assert again.run_id == first.run_id
    with pytest.raises(Conflict, match="take a new key"):
        loop_world.start("catalog-check", {**given, "record": "r2"}, drive=False, request_key="k")
