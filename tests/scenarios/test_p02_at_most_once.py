"""P2: However often the process dies, an approved action happens at most once, and one that can happen does."""

from __future__ import annotations

import pytest

from tests.support.child import dies_in
from tests.support.faults import crashing_ledger
from tests.support.world import USER, World, final, note


@pytest.mark.parametrize("window", ["A", "B", pytest.param("C", marks=pytest.mark.long)])
def test_a_process_killed_in_a_crash_window_leaves_one_ticket_behind(world: World, window: str) -> None:  # A, B, C
    run = world.check().approve(drive=False)
    world.restart()

    assert dies_in(window, world, run) == -9
    assert len(world.tickets) == {"A": 0, "B": 1, "C": 1}[window]
    run.goes_on()

    assert (len(world.tickets), run.status, run.effect) == (1, "succeeded/completed", "committed")
    assert run.operations[-1].verified is True
    assert "run.completed" in run.timeline


@pytest.mark.long
@pytest.mark.parametrize("window", ["A", "C"])
def test_a_process_killed_twice_in_a_crash_window_still_leaves_one_ticket(loop_world: World, window: str) -> None:
    run = loop_world.check().approve(drive=False)
    loop_world.restart()

    deaths = [dies_in(window, loop_world, run) for _ in range(2)]
    run.goes_on()

    assert deaths == [-9, -9]
    assert (len(loop_world.tickets), run.status) == (1, "succeeded/completed")


def test_a_new_process_goes_on_from_before_the_approval(world: World) -> None:  # C11
    run = world.check()

    world.restart()
    run.approve()

    assert (len(world.tickets), run.status) == (1, "succeeded/completed")


def test_a_run_whose_driver_was_replaced_in_the_middle_goes_on(world: World) -> None:  # C12
    world.dies(ledger=crashing_ledger(4, "after"))
    run = world.start("catalog-check", world.check_input(), drive=False).crashes()

    world.restart()
    run.goes_on().approve()

    assert (len(world.tickets), run.status, run.decided) == (1, "succeeded/completed", 3)
    assert ("attempt.ended" in run.timeline, run.row.fence) == (True, 3)


def test_a_run_without_any_checkpoint_is_entered_again_from_the_journal(world: World) -> None:  # A18
    run = world.check().approve(drive=False)
    world.restart()
    for file in world.folder.glob("data/checkpoints.sqlite*"):
        file.unlink()

    run.goes_on()

    assert (len(world.tickets), run.status) == (1, "succeeded/completed")


def test_a_note_written_before_the_process_died_is_found_by_lookup(world: World) -> None:  # S4
    world.decider_says(note("first"), final())
    run = world.noter().approve(drive=False)
    world.restart()
    dies_in("B", world, run)

    run.goes_on()

    assert (world.notes, run.status) == (["widgets: first"], "succeeded/completed")
    assert run.timeline.count("tool.reconciled") == 1
    world.decider_says(note("other text"), final())
    world.restart()
    assert world.noter().approve().status == "failed/tool_failed"
    assert world.notes == ["widgets: first"]


@pytest.mark.long
def test_a_revocation_after_the_write_does_not_hide_that_it_happened(world: World) -> None:  # S4
    run = world.check().approve(drive=False)
    world.restart()
    dies_in("B", world, run)
    world.parts.business.revoke(USER, "write:ticket")
    world.forbid(USER, "start")

    run.goes_on()

    assert (run.status, run.effect, len(world.tickets)) == ("succeeded/completed", "committed", 1)


def test_a_recorded_decision_is_not_asked_for_again_after_a_crash(world: World) -> None:
    decider = world.decider_says(note(), final())
    world.dies(ledger=crashing_ledger(3, "after"))
    run = world.start("noter", {}, drive=False).crashes()
    asked = decider.asked

    world.restart()
    run.goes_on()

    assert (asked, decider.asked, run.status) == (0, 1, "waiting/approval")
