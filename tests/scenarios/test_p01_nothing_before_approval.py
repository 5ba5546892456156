"""P1: Nothing that needs approval happens before an authorised person approved exactly that action."""

from __future__ import annotations

from pathlib import Path

import pytest

from state.errors import ApprovalAlreadyDecided, ApprovalDigestMismatch, NotAnApprover, RunAlreadyTerminal
from tests.support.world import CATALOGUE, USER, World, final, note, notes

TICKET = {"field": "effective", "observed": "2026-03-01", "recorded": "2026-02-01"}


def test_a_ticket_whose_fields_are_given_is_created_once_somebody_approves(world: World) -> None:  # C1
    run = world.ticket()
    assert (run.status, world.tickets) == ("waiting/approval", [])

    run.approve()

    assert [each["observed"] for each in world.tickets] == ["2026-03-01"]
    assert (run.status, run.effect, run.decided) == ("succeeded/completed", "committed", 1)
    assert ([each["source"] for each in world.rows("turns")], run.ticket_made.verified) == (["input"], True)


def test_both_materials_are_read_before_a_ticket_is_proposed_and_approved(world: World) -> None:  # C2
    given = world.check_input()
    run = world.start("catalog-check", given)
    assert (run.status, world.tickets, run.decided) == ("waiting/approval", [], 3)

    run.approve()

    (ticket,) = world.tickets
    assert {name: ticket[name] for name in TICKET} == TICKET
    assert Path(given["catalog"]).read_text("utf-8") == CATALOGUE
    assert (run.status, run.decided, run.writes) == ("succeeded/completed", 3, ["committed"])


def test_what_is_shown_is_exactly_what_is_written(world: World) -> None:
    run = world.check()
    shown = run.question
    assert shown.preview["difference"] == [{"field": "effective", "recorded": "2026-02-01", "observed": "2026-03-01"}]

    run.approve()

    (ticket,) = world.tickets
    assert {name: ticket[name] for name in shown.arguments} == shown.arguments


def test_no_effect_of_a_turn_happens_while_any_of_its_questions_is_open(world: World) -> None:  # A1
    world.decider_says(notes("b", "a", "c"), final())
    run = world.noter()
    first, second, third = run.questions

    for each in (third, first):
        run.answer({"decisions": [{"approval_id": each.approval_id, "digest": each.digest, "type": "approve"}]})
        run.goes_on()
        assert (run.status, world.notes) == ("waiting/approval", [])
    last = {"approval_id": second.approval_id, "digest": second.digest, "type": "approve"}
    run.answer({"decisions": [last]}).goes_on()

    assert (run.status, len(world.notes)) == ("succeeded/completed", 3)


def test_a_refused_ticket_is_never_created(world: World) -> None:  # A8, end
    run = world.check()

    run.reject()

    assert world.tickets == []
    assert (run.status, run.effect, run.writes) == ("denied/approval_rejected", "none", ["rejected"])


def test_a_decider_that_is_told_of_a_rejection_may_propose_something_else(world: World) -> None:  # A8, tell
    world.agent_has(on_rejection="tell")
    seen: list[str] = []
    decider = world.decider_says(note("first"), lambda view: seen.extend(view.told) or note("second"), final())
    run = world.noter().reject()
    assert (run.question.arguments["text"], world.notes) == ("second", [])

    run.approve()

    assert (world.notes, run.status) == (["widgets: second"], "succeeded/completed")
    assert (seen, decider.asked) == (["create_note: rejected"], 3)


def test_an_edit_is_a_new_question_under_a_new_digest(world: World) -> None:  # A6
    told: list[str] = []
    world.decider_says(note("typo"), lambda view: told.append(view.outcomes[-1].arguments["text"]) or final())
    run = world.noter()
    before = run.question

    run.edit(text="mended", drive=False)
    assert (run.question.digest != before.digest, world.notes) == (True, [])
    run.goes_on().approve()

    assert (world.notes, run.writes) == (["widgets: mended"], ["superseded", "committed"])
    assert (run.decided, told) == (2, ["mended"])


def test_an_edit_that_the_sources_do_not_bear_out_is_refused(world: World) -> None:
    run = world.check()
    asked = run.question
    edited = {**asked.arguments, "observed": "2027-01-01"}

    run.refused(
        {"decisions": [{"approval_id": asked.approval_id, "digest": asked.digest, "type": "edit", "arguments": edited}]}
    )

    assert run.question == asked
    assert world.tickets == []


def test_an_edit_for_a_tool_that_this_program_does_not_have_is_refused(world: World) -> None:
    run = world.noter()
    asked = run.question
    edited = {**asked.arguments, "text": "mended"}
    world.restart()
    world.agent_has(tools=("read_notice@1",))

    refusal = run.refused(
        {"decisions": [{"approval_id": asked.approval_id, "digest": asked.digest, "type": "edit", "arguments": edited}]}
    )

    assert "without create_note@1" in str(refusal)
    assert (run.question, world.notes) == (asked, [])


def test_an_actor_without_authority_cannot_approve(world: World) -> None:
    run = world.check()

    with pytest.raises(NotAnApprover):
        run.approve(by="mallory")

    assert (world.tickets, run.status) == ([], "waiting/approval")
    assert ("mallory", "approval.decide", "refused") in [(e["actor"], e["action"], e["result"]) for e in world.audit]


def test_the_first_decision_stands(world: World) -> None:  # A11
    run = world.check()
    world.permit("bob", "approve")
    asked = run.question
    answer = {"approval_id": asked.approval_id, "digest": asked.digest}
    run.reject(drive=False)

    for late in ("approve", "reject"):
        for who in (USER, "bob"):
            refusal = run.refused({"decisions": [{**answer, "type": late}]}, by=who)
            assert isinstance(refusal, ApprovalAlreadyDecided)
            assert f"reject by {USER}" in str(refusal)
    run.goes_on()

    assert (world.tickets, run.status) == ([], "denied/approval_rejected")


def test_nobody_decides_after_the_end(world: World) -> None:  # A11
    run = world.check()
    asked = run.question
    run.approve()

    with pytest.raises(RunAlreadyTerminal):
        run.answer({"decisions": [{"approval_id": asked.approval_id, "digest": asked.digest, "type": "reject"}]})

    assert (len(world.tickets), run.status) == (1, "succeeded/completed")


def test_an_answer_about_another_digest_is_refused(world: World) -> None:
    run = world.check()
    answer = {"approval_id": run.question.approval_id, "digest": "0" * 64, "type": "approve"}

    refusal = run.refused({"decisions": [answer]})

    assert isinstance(refusal, ApprovalDigestMismatch)
    assert (run.goes_on().status, world.tickets) == ("waiting/approval", [])
