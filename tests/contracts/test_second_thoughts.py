"""What somebody said first and says otherwise later, and a look that comes too early."""

from __future__ import annotations

import pytest

from nodes.due import look
from nodes.rule_making import MAX_WHY, NewRule
from nodes.shapes import Answer
from state.actor import Actor
from state.budget import Budget
from state.errors import ApprovalNotFound, InputInvalid, NotAllowed
from tests.support.faults import CannotBeAsked
from tests.support.world import World, final, note

ADA = Actor("ada")


def test_more_budget_that_was_refused_and_is_given_after_all_lets_the_run_go_on(loop_world: World) -> None:
    loop_world.agent_has(budget=Budget(turns=1), on_budget="ask")
    loop_world.decider_says(note(), final())
    run = loop_world.noter().approve()
    loop_world.parts.budgets.refuse(ADA, run.run_id)

    run.gets(turns=3)

    assert run.status == "succeeded/completed"


def test_an_approval_is_answered_by_its_own_id_alone(loop_world: World) -> None:
    run = loop_world.noter()
    answer = Answer(approval_id=run.question.approval_id, type="approve", digest=run.question.digest)

    assert loop_world.parts.answers.decide(ADA, answer) == answer.approval_id

    assert run.goes_on().status == "succeeded/completed"
    with pytest.raises(ApprovalNotFound):
        loop_world.parts.answers.decide(ADA, Answer(approval_id="nothing", type="approve"))


def test_whoever_looks_too_early_changes_nothing(loop_world: World) -> None:
    loop_world.target(CannotBeAsked)
    run = loop_world.check().approve()
    before = (run.row, run.timeline)
    loop_world.clock.passes(seconds=((run.row.wake_at or 0) - loop_world.clock.now() - 1) / 1000)

    look(loop_world.parts.ledger, run.run_id)

    assert (run.row, run.timeline) == before


def test_a_request_that_comes_twice_under_its_key_is_one_run(loop_world: World) -> None:
    def asked(run_id: str) -> tuple[str, bool]:
        accept = loop_world.parts.accept
        found, _, is_new = accept.run(ADA, "noter", {}, run_id=run_id, engine="loop", request_key="request 7")
        return found, is_new

    assert asked("first") == ("first", True)
    assert asked("second") == ("first", False)


def test_a_rule_is_ended_by_its_maker_also_without_the_right_to_make_it_and_by_no_stranger(loop_world: World) -> None:
    loop_world.permit("bob", "approve")
    loop_world.permit("bob", "rule")
    loop_world.rules("notes", by="bob", agent="noter")
    loop_world.forbid("bob", "rule")
    with pytest.raises(NotAllowed):
        loop_world.parts.rules.end(Actor("eve"), "notes")

    loop_world.parts.rules.end(Actor("bob"), "notes")

    told = [each for each in loop_world.audit if each["action"] == "rule.end"]
    assert [(each["actor"], each["object"], each["result"]) for each in told] == [
        ("eve", "rule:notes", "denied"),
        ("bob", "rule:notes", "ended"),
    ]
    assert loop_world.noter().status == "waiting/approval"


def test_why_a_rule_is_made_is_said_in_bounded_words(loop_world: World) -> None:
    until = loop_world.clock.now() + 1_000

    made = loop_world.parts.rules.make(ADA, NewRule("notes", "create_note", {"agent": "noter"}, until, "x" * MAX_WHY))

    assert (made.version, made.why) == (1, "x" * MAX_WHY)
    for why in ("x" * (MAX_WHY + 1), " ", "\ud800"):
        with pytest.raises(InputInvalid):
            loop_world.parts.rules.make(ADA, NewRule("more", "create_note", {"agent": "noter"}, until, why))
