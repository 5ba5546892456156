"""P9: A driver that lost its lease while its tool still worked writes nothing; there is one effect and one outcome."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from state.errors import LeaseLost, OperationMismatch, RunBusy, ToolError
from state.run import Lease
from store.guard import LEASE_TTL_MS
from tests.support.child import dies_in
from tests.support.faults import crashing_ledger, does_before_each, impatient_business
from tests.support.frozen import Frozen
from tests.support.target import Box, letters
from tests.support.without import without_lease_fence
from tests.support.world import RunInWorld, World
from tools.contract import Call, Receipt

LONGER_THAN_ANY_LEASE_S = 3600
PATIENCE_S = 20
SETTLES = frozenset({"tool.call.completed", "tool.call.failed", "tool.call.unknown", "tool.reconciled"})


class Zombie:
    """The first driver of a run: its call stands still until it is let go, and by then its lease is long over.

    `stands_still` is what its call does. `is_let_go` lets it work on, and waits until it has come to its end.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._inside, self._go = threading.Event(), threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self._drive: Future[None] | None = None

    def stands_still(self) -> None:
        self._inside.set()
        assert self._go.wait(PATIENCE_S)

    def drives(self, run: RunInWorld) -> None:
        self._drive = self._pool.submit(self._world.another_driver().drive, run.run_id)
        assert self._inside.wait(PATIENCE_S)
        self._world.clock.passes(seconds=LONGER_THAN_ANY_LEASE_S)

    def is_let_go(self) -> BaseException | None:
        """What it ended with."""
        assert self._drive is not None
        self._go.set()
        said = self._drive.exception(PATIENCE_S)
        self._pool.shutdown()
        return said


def settles(run: RunInWorld) -> list[str]:
    """Every outcome that was written for the run's effects, in order."""
    return [each["type"] for each in run.events if each["type"] in SETTLES and "effect" not in each["payload"]]


# --- a target that knows keys -----------------------------------------------------------------------------------


def test_a_tool_that_is_slower_than_its_lease_has_one_effect_when_it_comes_back_last(world: World) -> None:  # X6
    zombie = Zombie(world)
    world.target(does_before_each(zombie.stands_still))
    run = world.ticket().approve(drive=False)

    zombie.drives(run)
    run.goes_on()
    said = zombie.is_let_go()

    assert (type(said), len(world.tickets), run.status) == (LeaseLost, 1, "succeeded/completed")
    assert run.tried == [("call", "lost"), ("lookup", "not_found"), ("call", "committed")]
    assert [each["fence"] for each in run.tries] == [2, 3, 3]
    assert run.attempts == [(1, "parked"), (2, "died"), (3, "ended")]


def test_a_zombie_that_settles_while_another_works_is_refused(world: World) -> None:  # K9, X6
    zombie, said = Zombie(world), []
    world.target(does_before_each(zombie.stands_still, lambda: said.append(zombie.is_let_go())))
    run = world.ticket().approve(drive=False)

    zombie.drives(run)
    run.goes_on()

    assert ([type(each) for each in said], len(world.tickets)) == ([LeaseLost], 1)
    assert (run.status, run.effect, settles(run)) == ("succeeded/completed", "committed", ["tool.call.completed"])


def test_without_the_fence_a_zombies_untrue_word_stands_and_there_are_two_settles(world: World) -> None:  # K9, without
    zombie = Zombie(world)
    world.without(without_lease_fence)
    world.target(does_before_each(zombie.stands_still, zombie.is_let_go))
    run = world.ticket().approve(drive=False)

    zombie.drives(run)
    with pytest.raises(OperationMismatch):  # that a status is left once is a wall of its own
        run.goes_on()
    assert (settles(run), run.effect, len(world.tickets)) == (["tool.call.failed"], "none", 1)
    run.goes_on().waits_it_out()

    assert (settles(run), run.status) == (["tool.call.failed", "tool.call.completed"], "succeeded/completed")


# --- targets without keys -----------------------------------------------------------------------------------------


def test_where_nothing_can_be_asked_the_slow_call_is_the_only_one_and_a_person_settles(world: World) -> None:  # X6
    zombie = Zombie(world)
    box = Box(before=[zombie.stands_still])
    world.sends_letters(box, letters("ada"), lookups=0)
    run = world.noter().approve(drive=False)

    zombie.drives(run)
    run.goes_on()
    said = zombie.is_let_go()

    assert (type(said), box.calls, run.status) == (LeaseLost, ["letter:ada"], "waiting/reconciliation")
    assert (run.effect, [each for each in run.tried if each[0] == "call"]) == ("unknown", [("call", "lost")])
    assert (run.settle("letter-1").goes_on().status, box.letters) == ("succeeded/completed", ["ada"])


@pytest.mark.parametrize(("frozen", "sent"), [("before", ["ada"]), ("after", ["ada", "ada"])])
def test_without_keys_only_a_driver_frozen_after_it_looked_at_its_permit_acts_twice(  # X6, the stated limit
    world: World, frozen: str, sent: list[str]
) -> None:
    zombie, box = Zombie(world), Box()
    acts = sends_within_its_permit(world, frozen, zombie)
    world.sends_letters(box, letters("ada"), lookup_is_authoritative=True, act=acts)
    run = world.noter().approve(drive=False)

    zombie.drives(run)
    run.goes_on()
    said = zombie.is_let_go()

    assert (type(said), box.letters, run.status) == (LeaseLost, sent, "succeeded/completed")
    assert settles(run) == ["tool.call.completed"]


# --- dead workers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("commits", [2, 3])
def test_what_a_dead_worker_would_still_write_is_refused(world: World, commits: int) -> None:  # X5
    run, dead = dies_after(world, commits)

    run.goes_on()

    ledger = world.parts.ledger
    for write in (ledger.acting, ledger.settling):
        with pytest.raises(LeaseLost), write(dead):
            pass
    assert (ledger.renew(dead), len(world.tickets), run.status) == (None, 1, "succeeded/completed")
    assert (run.attempts, run.row.fence) == ([(1, "parked"), (2, "died"), (3, "ended")], 3)


def test_a_worker_whose_death_nobody_can_prove_is_taken_over_after_its_lease(world: World) -> None:  # X5
    run, _ = dies_after(world, 2)
    for each in (world.parts.settings.data_dir / "owners").iterdir():
        if each.name != world.parts.owner.name:
            each.unlink()

    with pytest.raises(RunBusy):
        run.goes_on()
    world.clock.passes(seconds=LEASE_TTL_MS / 1000 + 1)
    run.goes_on()

    assert (len(world.tickets), run.status, run.row.fence) == (1, "succeeded/completed", 3)


# --- real processes -----------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("time", range(3))
@pytest.mark.parametrize(("when", "calls"), [("before", 2), ("after", 1)])
def test_a_process_that_was_frozen_in_its_write_and_thaws_changes_nothing(  # X6, X5
    world: World, when: str, calls: int, time: int
) -> None:
    run = world.check().approve(drive=False)
    frozen = Frozen(world, run, when)
    with pytest.raises(RunBusy):
        run.goes_on()

    world.clock.passes(seconds=LONGER_THAN_ANY_LEASE_S)
    run.goes_on()

    assert (frozen.thaws(), len(world.tickets), run.status) == ("LeaseLost", 1, "succeeded/completed")
    assert [kind for kind, _ in run.tried if kind == "call"] == ["call"] * calls
    assert run.attempts == [(1, "parked"), (2, "died"), (3, "ended")]


@pytest.mark.long
def test_a_process_that_was_frozen_with_its_write_half_made_is_waited_for(world: World) -> None:  # X6
    run = world.check().approve(drive=False)
    world.restart()
    world.dies(business=impatient_business)
    frozen = Frozen(world, run, "inside")

    world.clock.passes(seconds=LONGER_THAN_ANY_LEASE_S)
    run.goes_on()
    assert (run.status, run.effect, world.tickets) == ("waiting/external", "unknown", [])

    assert (frozen.thaws(), len(world.tickets)) == ("LeaseLost", 1)
    assert (run.waits_it_out().status, len(world.tickets)) == ("succeeded/completed", 1)
    assert (run.tried[0], run.tried[-1]) == (("call", "lost"), ("lookup", "committed"))


@pytest.mark.long
@pytest.mark.parametrize("time", range(3))
def test_a_worker_that_was_killed_in_the_middle_is_taken_over_and_cannot_write(world: World, time: int) -> None:  # X5
    run = world.check().approve(drive=False)
    world.restart()
    assert dies_in("B", world, run) == -9
    dead = run.lease

    run.goes_on()

    with pytest.raises(LeaseLost), world.parts.ledger.settling(dead):
        pass
    assert (len(world.tickets), run.attempts) == (1, [(1, "parked"), (2, "died"), (3, "ended")])


def sends_within_its_permit(world: World, frozen: str, zombie: Zombie) -> Any:
    """A tool that looks at its permit and then sends; its first call stands still before or after that look."""
    first = [True]

    def act(self: Any, call: Call) -> Receipt:
        stands_still = zombie.stands_still if first.pop() else lambda: None
        first.append(False)
        if frozen == "before":
            stands_still()
        if call.permit is None or call.permit.is_over(world.clock):
            raise ToolError("refused_by_target", "the permit has run out")
        if frozen == "after":
            stands_still()
        return self.box.arrive(call)

    return act


def dies_after(world: World, commits: int) -> tuple[RunInWorld, Lease]:
    """An approved ticket whose worker died after so many commits, and the lease that it held."""
    run = world.ticket().approve(drive=False)
    world.restart()
    world.dies(ledger=crashing_ledger(commits, "after"))
    dead = run.crashes().lease
    world.restart()
    return run, dead
