"""P11: A run keeps the versions it started with; an unknown one is parked, never guessed at."""

from __future__ import annotations

from typing import Any

import pytest

from state import run as run_state
from state.agent import AgentDefinition
from state.budget import Budget
from tests.support.faults import crashing_ledger
from tests.support.older_graph import next_of, starts_with
from tests.support.target import Box, breaks, letters
from tests.support.without import without_version_guard
from tests.support.world import NOTE_AGENT, RunInWorld, World, final

CHANGED: dict[str, Any] = {
    "version": "2",
    "instructions": "other instructions",
    "decider": "another",
    "tools": ("read_notice@1", "read_record@1", "create_ticket@1", "create_note@1"),
    "budget": Budget(turns=7),
    "approval_ttl_s": 60,
    "max_repairs": 0,
    "on_rejection": "tell",
    "on_denial": "tell",
    "on_expiry": "end",
    "on_budget": "ask",
}


def test_a_run_of_an_agent_version_that_is_gone_waits_and_the_right_version_goes_on(world: World) -> None:  # C8
    run = world.check().approve(drive=False)
    world.agent_has(instructions="other instructions")
    world.restart()

    run.goes_on()
    assert (run.status, world.tickets) == ("waiting/migration", [])
    world.changes.clear()
    world.restart()
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


def test_a_run_of_an_agent_that_this_program_does_not_have_waits_for_one_that_does(world: World) -> None:
    run = world.check().approve(drive=False)
    world.restart()
    world.only_agents = ("noter",)

    run.goes_on()
    assert (run.status, world.tickets) == ("waiting/migration", [])
    world.only_agents = None
    world.restart()
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


def test_a_run_of_an_unknown_state_version_is_parked_also_when_it_is_approved(world: World) -> None:  # K2, with
    run = world.check().approve(drive=False)
    world.state_version_of(run, 999)

    run.goes_on()

    assert (run.status, world.tickets) == ("waiting/migration", [])
    world.state_version_of(run, run_state.STATE_VERSION)
    assert (run.goes_on().status, len(world.tickets)) == ("succeeded/completed", 1)


def test_without_the_version_guard_the_unknown_version_acts(world: World) -> None:  # K2, without
    run = world.check().approve(drive=False)
    world.state_version_of(run, 999)
    world.without(without_version_guard)
    world.restart()

    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


# --- a definition that changed --------------------------------------------------------------------------------


@pytest.mark.parametrize("field", CHANGED)
def test_whatever_changed_of_a_definition_parks_the_runs_that_were_admitted_with_the_old_one(
    loop_world: World, field: str
) -> None:
    run = loop_world.check().approve(drive=False)
    loop_world.agent_has(**{field: CHANGED[field]})
    loop_world.restart()

    run.goes_on()

    said = run.events[-2]["payload"]
    assert (run.status, loop_world.tickets, said["needs"]) == ("waiting/migration", [], run.row.agent_version)
    assert field in said["why"]


def test_no_field_of_a_definition_can_change_without_parking() -> None:
    assert {*CHANGED, "agent_id"} == set(AgentDefinition.model_fields)
    for field, value in CHANGED.items():
        assert NOTE_AGENT.model_copy(update={field: value}).version_id != NOTE_AGENT.version_id


# --- a node that was renamed while runs were parked -----------------------------------------------------------


@pytest.mark.parametrize(
    "renamed", [{"approve": "ask_people"}, {"admit": "enter"}, {"approve": "wait", "wait": "hold"}]
)
def test_a_checkpoint_that_names_a_node_which_is_gone_does_not_matter(world: World, renamed: dict[str, str]) -> None:
    assert starts_with(world, renamed, "t1", world.check_input()) == [renamed.get("approve", "approve")]
    run = RunInWorld(world, "t1")
    world.restart()

    assert (run.goes_on().status, world.tickets) == ("waiting/approval", [])  # the same question is asked again
    run.approve()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


def test_a_run_whose_checkpoint_says_that_nothing_comes_next_has_not_ended(world: World) -> None:
    starts_with(world, {"approve": "ask_people"}, "t1", world.check_input())
    run = RunInWorld(world, "t1")
    run.approve(drive=False)
    world.restart()
    assert next_of(world, "t1") == []

    run.goes_on()

    assert (run.status, len(world.tickets), run.writes) == ("succeeded/completed", 1, ["committed"])


# --- a tool that was renamed, or is another version by now ----------------------------------------------------

OTHER_TOOL = [{"version": "2"}, {"name": "post_letter"}]


def writes_letters(world: World, box: Box, **tool: Any) -> None:
    world.sends_letters(box, letters("ada"), dedups_by_key=True, lookup_is_authoritative=True, **tool)


def the_program_has(world: World, box: Box, **tool: Any) -> None:
    world.restart()
    writes_letters(world, box, **tool)
    world.decider_says(final())


def asked(world: World, box: Box) -> RunInWorld:
    writes_letters(world, box)
    return world.noter()


def approved(world: World, box: Box) -> RunInWorld:
    return asked(world, box).approve(drive=False)


def dispatched(world: World, box: Box) -> RunInWorld:
    """It died between its claim and its call; or so it seems."""
    run = approved(world, box)
    world.restart(healed=False)
    world.dies(ledger=crashing_ledger(2, "after"))
    return run.crashes()


def unknown(world: World, box: Box) -> RunInWorld:
    """The letter arrived, nobody heard of it, and the box cannot be asked for the moment."""
    box.answers, box.lookup_fails = [breaks], 4
    run = approved(world, box).goes_on()
    assert run.status == "waiting/external"
    return run


@pytest.mark.parametrize("other", OTHER_TOOL, ids=str)
@pytest.mark.parametrize("given", [asked, approved, dispatched, unknown])
def test_under_another_tool_nothing_is_sent_or_looked_up_and_the_right_one_continues(
    world: World, given: Any, other: dict[str, str]
) -> None:
    box = Box(knows_keys=True)
    run = given(world, box)
    status, calls = run.writes, list(box.calls)
    box.lookup_fails = 1  # a lookup would use it up
    the_program_has(world, box, **other)
    world.clock.passes(seconds=3600)

    run.goes_on()
    if run.questions:
        run.approve()  # what is said yes to is the old tool's letter

    assert (run.status, box.calls, box.lookup_fails) == ("waiting/migration", calls, 1)
    assert run.writes in (status, ["approved"])
    assert "send_letter@1" in run.events[-2]["payload"]["why"]

    box.lookup_fails = 0
    the_program_has(world, box)
    run.goes_on().waits_it_out()
    assert (run.status, run.effect, box.letters) == ("succeeded/completed", "committed", ["ada"])


@pytest.mark.parametrize("other", OTHER_TOOL, ids=str)
@pytest.mark.parametrize(
    ("given", "effect"), [(asked, "none"), (approved, "none"), (dispatched, "unknown"), (unknown, "unknown")]
)
def test_a_run_that_is_cancelled_under_another_tool_ends_with_what_is_known(
    world: World, given: Any, effect: str, other: dict[str, str]
) -> None:
    box = Box(knows_keys=True)
    run = given(world, box)
    sent = list(box.letters)
    the_program_has(world, box, **other)
    world.clock.passes(seconds=3600)

    run.cancel()
    run.goes_on()

    assert (run.status, run.effect, box.letters) == ("cancelled/user", effect, sent)


@pytest.mark.parametrize("other", OTHER_TOOL, ids=str)
@pytest.mark.parametrize(("object_id", "effect"), [("letter-1", "committed"), (None, "none")])
def test_what_another_tool_did_can_be_settled_by_a_person_meanwhile(
    world: World, object_id: str | None, effect: str, other: dict[str, str]
) -> None:
    box = Box()
    run = unknown(world, box)
    the_program_has(world, box, **other)
    world.clock.passes(seconds=3600)
    run.goes_on()

    run.settle(object_id)

    assert (run.status, run.effect, len(box.calls)) == ("waiting/migration", effect, 1)


@pytest.mark.parametrize("other", OTHER_TOOL, ids=str)
def test_an_edit_is_not_taken_where_the_tool_is_another_one(world: World, other: dict[str, str]) -> None:
    box = Box()
    run = asked(world, box)
    question = run.question
    the_program_has(world, box, **other)
    answer = {"approval_id": question.approval_id, "digest": question.digest, "type": "edit"}

    refusal = run.refused({"decisions": [{**answer, "arguments": {"to": "bob"}}]})

    assert f"this program does not have {run.row.agent_version}" in str(refusal)
    assert "without send_letter@1" in str(refusal)
    assert (run.question, box.calls) == (question, [])
