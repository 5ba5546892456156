"""What a write about a run leaves behind: time counted once, and lines that say what became of a call."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from state.errors import GuardRefused, RunNotFound
from store.ledger import REMIT
from tests.support.target import Box, breaks, letters, refuses
from tests.support.world import RunInWorld, World, notes


def _said(run: RunInWorld, kind: str) -> list[dict[str, Any]]:
    return [each["payload"] for each in run.events if each["type"] == kind]


def test_working_time_counts_once_however_often_it_is_written(loop_world: World) -> None:
    run = loop_world.start("noter", {}, drive=False)
    ledger = loop_world.parts.ledger
    lease = ledger.claim(run.run_id, loop_world.parts.driving("loop").driver)

    for _ in range(3):
        loop_world.clock.passes(seconds=1)
        with ledger.acting(lease):
            pass

    assert run.row.used["active_ms"] == 3000


@pytest.mark.parametrize(("seconds", "may"), [(59.999, True), (60, False), (61, False)])
def test_nothing_new_begins_once_the_deadline_is_there_but_what_happened_is_still_recorded(
    loop_world: World, seconds: float, may: bool
) -> None:
    run = loop_world.start("noter", {}, drive=False, deadline=loop_world.clock.now() + 60_000)
    ledger = loop_world.parts.ledger
    lease = ledger.claim(run.run_id, loop_world.parts.driving("loop").driver)
    loop_world.clock.passes(seconds=seconds)

    with ledger.settling(lease):
        pass
    with nullcontext() if may else pytest.raises(GuardRefused), ledger.acting(lease):
        pass


def test_nothing_is_changed_about_a_run_that_is_not_there(loop_world: World) -> None:
    with pytest.raises(RunNotFound), loop_world.parts.ledger.control("no-such-run", REMIT):
        pass


def test_a_call_that_came_back_is_said_with_what_it_made(loop_world: World) -> None:
    loop_world.sends_letters(Box(), letters("bob"))

    run = loop_world.noter().approve()

    (done,) = _said(run, "tool.call.completed")
    (sent,) = run.operations
    assert done == {
        "operation_id": sent.operation_id,
        "tool": "send_letter",
        "object_id": "letter-1",
        "outcome": "committed",
    }


def test_a_refusal_is_said_in_the_targets_words_and_what_was_not_made_after_it_says_why(loop_world: World) -> None:
    loop_world.sends_letters(Box(before=[refuses]), letters("bob", "cy"))

    run = loop_world.noter().approve()

    (failed,) = _said(run, "tool.call.failed")
    assert (failed["error_class"], failed["detail"], failed["outcome"]) == (
        "refused_by_target",
        "the box is full",
        "failed",
    )
    (left,) = _said(run, "run.stage")
    assert left["operations"] == [run.operations[1].operation_id]
    assert left["why"] == "an earlier effect of the turn was not committed"


def test_a_lost_receipt_is_said_with_the_time_of_the_next_look_and_then_who_found_it(loop_world: World) -> None:
    loop_world.sends_letters(Box(answers=[breaks]), letters("bob"), dedups_by_key=True)

    run = loop_world.noter().approve()

    (lost,) = _said(run, "tool.call.unknown")
    assert "the line broke" in lost["detail"]
    assert lost["again_at"] is not None
    (found,) = _said(run, "tool.reconciled")
    assert (found["by"], found["outcome"], found["object_id"]) == ("lookup", "committed", "letter-1")


def test_a_key_is_good_for_another_claim_as_long_as_the_call_still_arrives_in_its_time(loop_world: World) -> None:
    loop_world.sends_letters(Box(), letters("bob"), dedups_by_key=True, key_valid_for_s=300.0, longest_call_s=60.0)

    run = loop_world.noter().approve()

    claim = loop_world.parts.ledger.claim_of(run.operations[0].operation_key)
    assert claim is not None
    assert claim.dedups_until == claim.claimed_at + 300_000 - 2 * 60_000


def test_a_key_that_is_taken_by_other_words_is_said_to_be(loop_world: World) -> None:
    loop_world.noter().approve()
    loop_world.decider_says({"kind": "actions", "actions": [{"tool": "create_note", "arguments": _OTHER}]})
    loop_world.restart()

    run = loop_world.noter().approve()

    (failed,) = _said(run, "tool.call.failed")
    assert failed["error_class"] == "key_conflict"
    assert run.operations[0].error_class == "key_conflict"


def test_a_cancel_closes_what_was_planned_and_asked(loop_world: World) -> None:
    loop_world.decider_says(notes("a", "b"))
    run = loop_world.noter()

    run.cancel()

    assert run.writes == ["cancelled", "cancelled"]
    assert {each.detail for each in run.operations} == {"the run ended"}


_OTHER = {"subject": "widgets", "text": "all is lost"}
