"""P6: Expiry and lease are checked at the moment of the effect, and stay safe when the clock jumps back and forth."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from state.errors import ApprovalExpired, LeaseLost, RunBusy
from store.guard import LEASE_TTL_MS
from tests.support.clock import ManualClock
from tests.support.faults import crashing_ledger, does_before_each
from tests.support.world import RunInWorld, World

HOUR_MS = 3_600_000
DAY_S = 24 * 3600
# Asked again in vain, or three calls whose permit was over before they wrote: nothing happened, and the run says so.
SAFE_ENDS = {("succeeded/completed", 1), ("timed_out/approval_expired", 0), ("failed/tool_failed", 0)}
TICKET = {"source": "gazette 7", "field": "effective", "observed": "2026-03-01", "recorded": "2026-02-01"}


class JumpingClock(ManualClock):
    """A clock of which every reading is wrong by the next of these amounts; durations are right."""

    def __init__(self, by: Iterator[int]) -> None:
        super().__init__()
        self._by = by

    def now(self) -> int:
        return super().now() + next(self._by)


def wild(seed: int, most_ms: int) -> Iterator[int]:
    chance = random.Random(seed)
    return (chance.randint(-most_ms, most_ms) for _ in itertools.count())


def once(at: int, by: int) -> Iterator[int]:
    """Right, but from the reading `at` on, wrong by so much."""
    return (by if number >= at else 0 for number in itertools.count())


def answered_until_it_ends(run: RunInWorld) -> tuple[str, int]:
    for _ in range(40):
        for each in run.questions:
            try:
                run.answer({"decisions": [{"approval_id": each.approval_id, "digest": each.digest, "type": "approve"}]})
            except ApprovalExpired:
                continue  # that is the right answer, whatever the clock says next
        try:
            run.goes_on()
        except RunBusy:
            run.world.clock.passes(seconds=LEASE_TTL_MS / 1000)
        if run.row.ended:
            break
    return run.status, len(run.world.tickets)


def claimed_in_time(run: RunInWorld) -> bool:
    """By the clock's own reading at the claim, no approval had expired."""
    expiry = {each["operation_id"]: each["expires_at"] for each in run.world.rows("approvals")}
    return all(each["started_at"] < expiry[each["operation_id"]] for each in run.tries if each["kind"] == "call")


@pytest.mark.parametrize(("seed", "most_ms"), [(0, HOUR_MS), (3, HOUR_MS), (1, 30 * HOUR_MS), (2, 30 * HOUR_MS)])
def test_a_clock_that_jumps_at_every_reading_makes_nothing_twice_and_nothing_too_late(  # X10
    world: World, seed: int, most_ms: int
) -> None:
    world.clock = JumpingClock(wild(seed, most_ms))
    run = world.start("ticket", TICKET, drive=False)

    end = answered_until_it_ends(run)

    assert end in SAFE_ENDS
    assert ([each["seq"] for each in run.events], run.row.inflight) == (list(range(1, run.row.seq + 1)), 0)
    assert (claimed_in_time(run), run.row.used["active_ms"] >= 0) == (True, True)


@pytest.mark.long
@pytest.mark.parametrize("by", [-40 * DAY_S * 1000, -HOUR_MS, HOUR_MS, 40 * DAY_S * 1000])
def test_a_clock_that_jumps_once_at_any_reading_makes_nothing_twice_and_nothing_too_late(  # X10
    tmp_path_factory: pytest.TempPathFactory, by: int
) -> None:
    for at in range(1, 70):
        world = World(tmp_path_factory.mktemp("world"), "loop", JumpingClock(once(at, by)))
        run = world.start("ticket", TICKET, drive=False)
        assert answered_until_it_ends(run) == ("succeeded/completed", 1), at
        assert claimed_in_time(run), at
        world.close()


def test_what_has_expired_stays_expired_when_the_clock_jumps_back(world: World) -> None:  # X10, A3
    run = world.ticket()
    first = run.question
    world.clock.passes(seconds=DAY_S + 1)
    run.goes_on()

    world.clock.passes(seconds=-2 * DAY_S)

    refusal = run.refused(
        {"decisions": [{"approval_id": first.approval_id, "digest": first.digest, "type": "approve"}]}
    )
    assert (type(refusal), run.goes_on().status, world.tickets) == (ApprovalExpired, "waiting/approval", [])


def test_a_lease_that_was_taken_over_is_not_given_back_by_a_jump_back(world: World) -> None:  # X10
    def taken_over_in_the_future() -> None:
        world.clock.passes(seconds=3600)
        world.another_driver().drive(run.run_id)
        world.clock.passes(seconds=-7200)

    world.target(does_before_each(taken_over_in_the_future))
    run = world.ticket().approve(drive=False)

    with pytest.raises(LeaseLost):
        run.goes_on()

    assert (run.status, len(world.tickets), run.row.fence) == ("succeeded/completed", 1, 3)


def test_a_run_of_a_dead_driver_is_not_stuck_behind_a_clock_that_jumped_back(world: World) -> None:  # X10
    run = world.ticket().approve(drive=False)
    world.restart()
    world.dies(ledger=crashing_ledger(2, "after"))
    run.crashes()

    world.clock.passes(seconds=-365 * DAY_S)
    world.restart()
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)
