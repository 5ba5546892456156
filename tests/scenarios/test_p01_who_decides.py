"""P1: Whose question it is: roles, quorum, separation of duties, escalation, answers taken back, standing rules."""

from __future__ import annotations

from typing import Any

import pytest

from state.actor import Actor
from state.errors import ApprovalAlreadyDecided, InputInvalid, NotAllowed, NotAnApprover, RunAlreadyTerminal
from tests.support.run_in_world import RunInWorld
from tests.support.world import USER, World, final, note, notes

HOUR_S = 3600.0


def asks(*annotations: str) -> str:
    """A rule under which notes are asked about as the annotations say."""
    return f'@id("notes") {" ".join(annotations)} permit (principal, action == Action::"use", resource);'


def yes(run: RunInWorld) -> dict[str, Any]:
    asked = run.question
    return {"decisions": [{"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}]}


# --- roles and separation of duties (A2) --------------------------------------------------------------------------


def test_whoever_is_in_the_role_may_decide_and_nobody_else_may(world: World) -> None:  # A2
    world.has_role("bob", "approver")
    run = world.noter()

    refusal = run.refused(yes(run), by="eve")
    run.approve(by="bob")

    assert (type(refusal), run.status, run.decisions) == (NotAnApprover, "succeeded/completed", [("bob", "approve")])


def test_a_role_that_is_lost_between_approval_and_effect_denies_it(world: World) -> None:  # A5
    world.has_role("bob", "approver")
    run = world.noter().approve(by="bob", drive=False)

    world.loses_role("bob", "approver")
    run.goes_on()

    assert (run.status, world.notes, run.writes) == ("denied/permission_revoked", [], ["denied"])


def test_where_duties_are_separated_nobody_decides_about_their_own_run(world: World) -> None:  # A2
    world.policy_also_says(base="service")
    world.permit("bob", "approve")
    run = world.noter()

    refusal = run.refused(yes(run), by=USER)

    assert (type(refusal), "separation-of-duties" in str(refusal)) == (NotAnApprover, True)
    assert (run.status, world.notes) == ("waiting/approval", [])
    assert run.approve(by="bob").status == "succeeded/completed"


def test_a_question_of_a_role_is_not_answered_by_who_may_approve_otherwise(world: World) -> None:
    world.policy_also_says(asks('@approver("lead")'))
    world.has_role("bob", "lead")
    run = world.noter()

    refusal = run.refused(yes(run))  # ada holds the permission to approve everything, but is no lead
    run.approve(by="bob")

    assert ("asked of lead" in str(refusal), run.status) == (True, "succeeded/completed")


# --- quorum (A9) --------------------------------------------------------------------------------------------------


def test_of_two_that_are_asked_one_person_counts_once_however_often_they_say_yes(world: World) -> None:  # A9
    world.policy_also_says(asks('@quorum("2")'))
    world.permit("bob", "approve")
    run = world.noter().approve(drive=False)

    refusal = run.refused(yes(run))
    run.goes_on()

    assert (type(refusal), run.status, world.notes) == (ApprovalAlreadyDecided, "waiting/approval", [])
    run.approve(by="bob")
    assert (run.status, run.decisions) == ("succeeded/completed", [(USER, "approve"), ("bob", "approve")])


def test_one_no_is_enough_where_two_are_asked(world: World) -> None:
    world.policy_also_says(asks('@quorum("2")'))
    world.permit("bob", "approve")

    run = world.noter().approve(drive=False).reject(by="bob")

    assert (run.status, world.notes) == ("denied/approval_rejected", [])


def test_a_policy_that_asks_more_people_by_now_has_them_asked(world: World) -> None:
    world.permit("bob", "approve")
    run = world.noter().approve(drive=False)

    world.policy_also_says(asks('@quorum("2")'))
    world.restart()
    run.goes_on()

    assert (run.status, world.notes, run.question.quorum) == ("waiting/approval", [], 2)
    run.approve(by=USER).approve(by="bob")
    assert (run.status, world.notes) == ("succeeded/completed", ["widgets: all is well"])


# --- withdrawal ---------------------------------------------------------------------------------------------------


def test_an_answer_is_taken_back_until_the_claim_and_may_be_given_again(world: World) -> None:
    run = world.noter().approve(drive=False)

    run.withdraw().goes_on()

    assert (run.status, world.notes, run.decisions) == ("waiting/approval", [], [])
    assert run.approve().status == "succeeded/completed"
    rows = [(each["approver"], each["number"], each["withdrawn_at"] is None) for each in world.rows("decisions")]
    assert rows == [(USER, 1, False), (USER, 2, True)]
    assert "approval.withdrawn" in run.timeline


def test_what_has_happened_is_not_taken_back_and_what_was_rejected_is_not_either(world: World) -> None:
    done, rejected = world.ticket().approve(), world.ticket(field="title").reject(drive=False)

    with pytest.raises(RunAlreadyTerminal):
        done.withdraw()
    with pytest.raises(ApprovalAlreadyDecided, match="rejected"):
        rejected.withdraw()
    assert (done.status, len(world.tickets)) == ("succeeded/completed", 1)


def test_nobody_takes_back_what_somebody_else_has_said(world: World) -> None:
    run = world.noter().approve(drive=False)

    with pytest.raises(NotAnApprover):
        run.withdraw(by="eve")

    assert run.goes_on().status == "succeeded/completed"
    assert [each["result"] for each in world.audit if each["actor"] == "eve"] == ["refused"]


def test_a_stranger_learns_nothing_of_a_run_by_answering_it_or_taking_back(world: World) -> None:
    world.permit("bob", "approve", "create_note")
    world.has_role("olga", "operator")
    run = world.noter()
    asked, approval_id = yes(run), run.question.approval_id
    run.approve(by="bob")
    before = run.timeline

    with pytest.raises(NotAnApprover, match="eve may not decide about anything in run"):
        run.answer(asked, by="eve")
    for stranger in ("eve", "olga"):
        with pytest.raises(NotAnApprover, match=f"^{stranger} has not answered approval {approval_id}[.]$"):
            world.parts.answers.withdraw(Actor(stranger), approval_id)
    for concerned in ("bob", USER, "olga"):  # who answered, who may answer, who may watch
        with pytest.raises(RunAlreadyTerminal):
            run.answer(asked, by=concerned)

    assert run.timeline == before
    assert [each["result"] for each in world.audit if each["actor"] == "eve"] == ["refused"] * 2


def test_who_has_answered_may_know_that_it_is_too_late_to_take_that_back(world: World) -> None:
    world.permit("bob", "approve")
    run = world.noter().reject(by="bob", drive=False)
    world.forbid("bob", "approve")

    with pytest.raises(ApprovalAlreadyDecided, match="reject by bob"):
        run.withdraw(by="bob")
    with pytest.raises(NotAnApprover, match="eve has not answered"):
        run.withdraw(by="eve")


# --- escalation ---------------------------------------------------------------------------------------------------


def test_a_question_that_nobody_answers_goes_to_a_second_role_which_then_may_decide(world: World) -> None:
    world.policy_also_says(asks('@approver("approver")', '@escalate_to("lead")', '@escalate_after("4h")'))
    world.has_role("bob", "lead")
    run = world.noter()
    early = run.refused(yes(run), by="bob")

    world.clock.passes(seconds=4 * HOUR_S)
    run.approve(by="bob")

    assert (type(early), run.status) == (NotAnApprover, "succeeded/completed")
    assert run.timeline.count("approval.escalated") == 1


def test_a_question_that_went_on_to_a_second_role_is_still_one_of_the_first(world: World) -> None:
    world.policy_also_says(asks('@approver("approver")', '@escalate_to("lead")', '@escalate_after("4h")'))
    world.has_role("bob", "approver")
    run = world.noter()

    world.clock.passes(seconds=5 * HOUR_S)

    assert run.approve(by="bob").status == "succeeded/completed"


# --- standing rules -----------------------------------------------------------------------------------------------


def test_what_a_standing_rule_covers_is_approved_in_its_makers_name_without_a_question(world: World) -> None:
    world.rules("notes", agent="noter")

    run = world.noter()

    assert (run.status, run.decisions) == ("succeeded/completed", [("rule:notes@1", "approve")])
    (entry,) = [each for each in world.audit if each["action"] == "approval.decide"]
    assert (entry["actor"], entry["detail"]["rule"]["maker"]) == ("rule:notes@1", USER)
    assert entry["detail"]["rule"]["bounds"] == {"agent": "noter"}


@pytest.mark.parametrize(
    "bounds",
    [
        {"agent": "ticket"},
        {"requester": "bob"},
        {"resource": "record:*"},
        {"max_amount": 10},
        {"arguments": {"subject": "gadgets"}},
        {"agent": "noter", "arguments": {"subject": "widgets", "text": "all is lost"}},
    ],
    ids=str,
)
def test_what_is_outside_of_a_rules_bounds_is_asked(loop_world: World, bounds: dict[str, Any]) -> None:
    loop_world.rules("notes", **bounds)

    run = loop_world.noter()

    assert (run.status, loop_world.notes) == ("waiting/approval", [])


@pytest.mark.parametrize(
    "over",
    [
        lambda world: world.clock.passes(seconds=25 * HOUR_S),
        lambda world: world.parts.rules.end(Actor(USER), "notes"),
        lambda world: world.rules("notes", agent="ticket"),
        lambda world: world.forbid(USER, "approve"),
    ],
    ids=["until", "ended", "replaced", "its maker may not any more"],
)
def test_a_rule_that_is_over_approves_nothing(loop_world: World, over: Any) -> None:
    loop_world.rules("notes", agent="noter")

    over(loop_world)

    assert (loop_world.noter().status, loop_world.notes) == ("waiting/approval", [])


def test_what_a_rule_approved_is_asked_of_people_where_the_rule_has_ended_before_the_claim(world: World) -> None:
    world.decider_says(notes("a", "b"), final())
    world.rules("notes", arguments={"subject": "a"})
    run = world.noter()  # one note is approved by the rule, the other is asked
    assert (run.status, [each.arguments["subject"] for each in run.questions]) == ("waiting/approval", ["b"])

    world.parts.rules.end(Actor(USER), "notes")
    run.approve()

    assert (run.status, world.notes) == ("waiting/approval", [])
    assert [each.arguments["subject"] for each in run.questions] == ["a"]
    assert run.approve().status == "succeeded/completed"


def test_a_rule_and_its_maker_are_one_person(world: World) -> None:
    world.policy_also_says(asks('@quorum("2")'))
    world.permit("bob", "approve")
    world.rules("notes", agent="noter")
    run = world.noter().approve()

    assert (run.status, world.notes) == ("waiting/approval", [])
    assert run.approve(by="bob").status == "succeeded/completed"


def test_where_duties_are_separated_ones_own_rule_says_nothing_about_ones_own_runs(world: World) -> None:
    world.policy_also_says(base="service")
    world.rules("notes", agent="noter")

    assert (world.noter().status, world.notes) == ("waiting/approval", [])


def test_only_who_may_makes_a_rule_and_only_one_with_bounds_and_an_end(world: World) -> None:
    with pytest.raises(NotAllowed):
        world.rules("notes", agent="noter", by="eve")
    for bad in (
        lambda: world.rules("notes"),
        lambda: world.rules("notes", agent="noter", days=400),
        lambda: world.rules("notes", agent="noter", days=-1),
        lambda: world.rules("notes", colour="red"),
        lambda: world.rules("notes", max_amount=-1),
        lambda: world.rules("notes", "read_notice", agent="noter"),
        lambda: world.rules("No Tes", agent="noter"),
    ):
        with pytest.raises(InputInvalid):
            bad()

    assert world.rows("standing_rules") == []
    assert [(each["actor"], each["result"]) for each in world.audit if each["action"] == "rule.make"] == [
        ("eve", "denied")
    ]


def test_an_edit_that_a_rule_covers_happens_without_another_question(world: World) -> None:
    world.rules("notes", arguments={"text": "all is fine"})
    world.decider_says(note(), final())

    run = world.noter().edit(text="all is fine")

    assert (run.status, world.notes) == ("succeeded/completed", ["widgets: all is fine"])


# --- what somebody tried ------------------------------------------------------------------------------------------


def test_nobody_is_taken_for_a_standing_rule(world: World) -> None:
    for name in ("rule:notes@1", "RULE:x@1", "remit"):
        with pytest.raises(InputInvalid):
            Actor(name)


def test_a_rule_is_replaced_only_by_its_maker_for_the_same_tool(world: World) -> None:
    world.permit("bob", "rule", "create_ticket")
    world.rules("notes", agent="noter")

    for maker, tool in (("bob", "create_ticket"), (USER, "create_ticket")):
        with pytest.raises(InputInvalid, match="in force"):
            world.rules("notes", tool, by=maker, agent="ticket")

    assert world.noter().decisions == [("rule:notes@1", "approve")]


@pytest.mark.parametrize("bounds", [{"arguments": {}}, {"arguments": {"text": float("nan")}}], ids=str)
def test_bounds_that_bound_nothing_or_are_no_json_are_refused(loop_world: World, bounds: dict[str, Any]) -> None:
    with pytest.raises(InputInvalid):
        loop_world.rules("notes", **bounds)


def test_who_edits_has_asked_too_where_duties_are_separated(world: World) -> None:
    world.policy_also_says(base="service")
    for approver in ("bob", "cy"):
        world.permit(approver, "approve")
    run = world.noter().edit(by="bob", text="all is mine")

    refusal = run.refused(yes(run), by="bob")

    assert (type(refusal), world.notes) == (NotAnApprover, [])
    assert run.approve(by="cy").status == "succeeded/completed"


def test_a_policy_that_escalates_no_more_has_the_question_asked_anew(world: World) -> None:
    world.policy_also_says(asks('@approver("approver")', '@escalate_to("lead")', '@escalate_after("4h")'))
    world.has_role("bob", "lead")
    run = world.noter()
    world.clock.passes(seconds=5 * HOUR_S)
    run.approve(by="bob", drive=False)

    world.policy_also_says(asks('@approver("approver")'))
    world.restart()
    run.goes_on()

    assert (run.status, world.notes, run.question.escalated) == ("waiting/approval", [], False)
