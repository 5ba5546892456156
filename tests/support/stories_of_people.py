"""Who decides, who may, and what is refused, each time as a short story about a world."""

from __future__ import annotations

from collections.abc import Callable

from nodes.settlements import Settlement
from nodes.shapes import Answer
from state.actor import Actor
from state.budget import Budget
from state.errors import RemitError
from tests.support.run_in_world import RunInWorld
from tests.support.telling import story
from tests.support.world import World, final, note, notes

HOUR_S = 3600.0
ADA = Actor("ada")


def _asks(*annotations: str) -> str:
    return f'@id("notes") {" ".join(annotations)} permit (principal, action == Action::"use", resource);'


def _refused(*acts: Callable[[], object]) -> list[str]:
    """What each refusal is."""
    found: list[str] = []
    for act in acts:
        try:
            act()
        except RemitError as error:
            found.append(type(error).__name__)
    return found


def _controls(run: RunInWorld, by: str) -> list[Callable[[], object]]:
    return [lambda each=each: each(by) for each in (run.cancel, run.pause, run.resume, run.take_over)]


def _budgets(run: RunInWorld, by: str) -> list[Callable[[], object]]:
    budgets, who = run.world.parts.budgets, Actor(by)
    return [lambda: budgets.grant(who, run.run_id, {"turns": 1}), lambda: budgets.refuse(who, run.run_id)]


@story
def two_people_have_to_say_yes(world: World) -> None:
    world.policy_also_says(_asks('@quorum("2")'))
    world.permit("bob", "approve")
    run = world.noter().approve(drive=False)
    assert _refused(lambda: run.approve(drive=False)) == ["ApprovalAlreadyDecided"]
    run.approve(by="bob")

    assert run.status == "succeeded/completed"


@story
def a_question_goes_on_to_a_second_role(world: World) -> None:
    world.policy_also_says(_asks('@approver("approver")', '@escalate_to("lead")', '@escalate_after("4h")'))
    world.has_role("bob", "lead")
    run = world.noter()
    assert _refused(lambda: run.approve(by="bob")) == ["NotAnApprover"]
    world.clock.passes(seconds=4 * HOUR_S)
    run.approve(by="bob")

    assert run.status == "succeeded/completed"


@story
def a_rule_says_yes_and_ends(world: World) -> None:
    world.decider_says(notes("a", "b"), final())
    world.rules("notes", arguments={"subject": "a"})
    run = world.noter()
    world.parts.rules.end(ADA, "notes")
    run.approve().approve()

    assert (run.status, len(world.notes)) == ("succeeded/completed", 2)


@story
def a_tool_is_stopped_and_goes_on(world: World) -> None:
    world.stops("tool", "create_note")
    assert world.noter().status.startswith("denied/")
    world.lifts("tool", "create_note")

    assert world.noter().approve().status == "succeeded/completed"


@story
def an_agent_is_stopped_while_it_waits(world: World) -> None:
    run = world.noter()
    world.stops("agent", "noter")
    run.approve()

    assert (run.status, world.notes) == ("denied/emergency_stop", [])


@story
def a_read_is_forbidden(world: World) -> None:
    world.policy_also_says('@id("no") forbid (principal, action == Action::"use", resource == Tool::"read_record");')

    assert world.check().status == "denied/policy"


@story
def all_that_comes_too_late_is_refused(world: World) -> None:
    run = world.noter()
    asked = run.question
    run.approve()
    answers, settlements = world.parts.answers, world.parts.settlements
    again = Answer(asked.approval_id, "approve", asked.digest)
    (done,) = run.operations
    late = [
        lambda: answers.decide(ADA, again),
        lambda: answers.withdraw(ADA, asked.approval_id),
        lambda: settlements.settle(ADA, Settlement(done.operation_id, "note_1", "")),
    ]

    assert len(_refused(*_controls(run, "ada"), *_budgets(run, "ada"), *late)) == 9


@story
def all_that_a_stranger_wishes_is_denied(world: World) -> None:
    world.agent_has(budget=Budget(turns=1), on_budget="ask")
    world.decider_says(note(), final())
    run = world.noter()
    asked = run.question
    no = Answer(asked.approval_id, "reject", asked.digest)
    strange = [lambda: world.parts.answers.decide(Actor("mallory"), no), lambda: world.stops("tenant", by="mallory")]
    assert len(_refused(*_controls(run, "mallory"), *_budgets(run, "mallory"), *strange)) == 8
    run.approve()

    assert run.status == "waiting/budget"
