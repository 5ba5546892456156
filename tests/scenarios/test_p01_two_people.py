"""P1: People who decide at once, again, or under another's name: one decision stands, and it is its maker's."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Any

import pytest

from state.errors import AnswerRefused, ApprovalAlreadyDecided, NotAllowed, StoreError
from tests.support.faults import unsound_ledger
from tests.support.racing import at_once
from tests.support.without import without_the_trusted_side
from tests.support.world import USER, RunInWorld, World, note, notes


def decision(run: RunInWorld, kind: str, **more: Any) -> dict[str, Any]:
    asked = run.question
    return {"decisions": [{"approval_id": asked.approval_id, "digest": asked.digest, "type": kind, **more}]}


@pytest.mark.parametrize("times", [5, pytest.param(50, marks=pytest.mark.long)])
def test_of_two_people_who_decide_at_once_one_decides_and_the_effect_agrees(world: World, times: int) -> None:  # X12
    world.permit("bob", "approve")
    with closing(world.elsewhere()) as bobs:
        for number in range(times):
            run = world.ticket(source=f"gazette {number}")

            refused = decide_at_once(run, RunInWorld(bobs, run.run_id))
            run.goes_on()

            (stands,) = run.decisions
            assert f"{stands[1]} by {stands[0]}" in str(refused)
            assert run.writes == {"approve": ["committed"], "reject": ["rejected"]}[stands[1]]
    assert len(world.tickets) == sum(each["answer"] == "approve" for each in world.rows("decisions"))


def test_whoever_approves_twice_has_approved_once(world: World) -> None:  # A11
    run = world.ticket()
    yes = decision(run, "approve")
    run.answer(yes)

    refusal = run.refused(yes)
    run.goes_on()

    assert (type(refusal), run.decisions) == (ApprovalAlreadyDecided, [(USER, "approve")])
    assert f"approve by {USER}" in str(refusal)
    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_in_whatever_order_a_turns_questions_are_answered_nothing_happens_before_the_last(  # A1
    world: World, order: tuple[int, ...]
) -> None:
    world.decider_says(notes("a", "b", "c"), {"kind": "final", "claim": "completed"})
    run = world.noter()
    asked = run.questions

    for position in order:
        assert (run.status, world.notes) == ("waiting/approval", [])
        each = asked[position]
        run.answer({"decisions": [{"approval_id": each.approval_id, "digest": each.digest, "type": "approve"}]})
        run.goes_on()

    assert (run.status, [each.split(":")[0] for each in world.notes]) == ("succeeded/completed", ["a", "b", "c"])


def test_an_answer_that_names_its_approver_is_refused(world: World) -> None:  # K12, with
    run = world.ticket()

    refusal = run.refused(decision(run, "approve", approver=USER), by="mallory")

    assert (type(refusal), run.decisions) == (AnswerRefused, [])
    assert (run.goes_on().status, world.tickets) == ("waiting/approval", [])


def test_without_the_trusted_side_whoever_names_an_approver_has_approved(world: World) -> None:  # K12, without
    world.without(without_the_trusted_side)
    run = world.ticket()

    run.answer(decision(run, "approve", approver=USER), by="mallory").goes_on()

    assert (run.decisions, len(world.tickets)) == ([(USER, "approve")], 1)


def test_one_note_is_asked_for_made_once_and_refused_to_others(world: World) -> None:  # S2
    world.decider_says(note("text"), {"kind": "final", "claim": "completed"})
    run = world.noter()
    assert (run.status, world.notes) == ("waiting/approval", [])

    run.approve()
    with pytest.raises(NotAllowed, match="mallory may not start noter"):
        world.start("noter", {}, by="mallory")

    assert (run.status, world.notes) == ("succeeded/completed", ["widgets: text"])


def decide_at_once(here: RunInWorld, there: RunInWorld) -> Exception:
    """Ada approves and Bob rejects, each in a process of their own; the one refusal."""
    yes, no = decision(here, "approve"), decision(here, "reject")
    said = at_once([lambda: tells(here, yes, USER), lambda: tells(there, no, "bob")])
    (refused,) = [each for each in said if each is not None]
    return refused


def tells(run: RunInWorld, answer: Any, by: str) -> Exception | None:
    """The refusal, if there is one."""
    try:
        run.answer(answer, by)
    except ApprovalAlreadyDecided as refusal:
        return refusal
    return None


@pytest.mark.parametrize("nth", range(1, 40, 3))
def test_an_answer_that_the_store_may_have_lost_is_never_said_to_be_refused(loop_world: World, nth: int) -> None:
    loop_world.dies(ledger=unsound_ledger)
    run = loop_world.ticket()
    yes, ledger = decision(run, "approve"), loop_world.parts.ledger.database

    ledger.fails_at = ledger.statements + nth  # type: ignore[attr-defined]
    with suppress(StoreError):
        run.answer(yes)
    ledger.fails_at = None  # type: ignore[attr-defined]

    said = [each for each in run.timeline if each.startswith("approval.")]
    assert said in (["approval.requested"], ["approval.requested", "approval.decided"])
