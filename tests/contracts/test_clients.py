"""A question is shown by the clients there are, and what they send back is understood, at every door (A10, A15)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodes.question import answer_schema
from state.actor import Actor
from tests.support.clients import (
    CLIENTS,
    DOORS,
    as_agent_chat_ui,
    as_agent_inbox,
    asks_for_notes,
    filled,
    over_http,
    recorded,
    shown,
)
from tests.support.world import World


def asks(*annotations: str) -> str:
    """A policy under which every use asks these people."""
    return "\n".join(['@id("asks")', *annotations, 'permit(principal, action == Action::"use", resource);'])


LANGCHAIN = [each for client in ("langchain", "agent-chat-ui") for each in recorded(client)]
WITHOUT_IDS = [each["sent"] for each in LANGCHAIN if len(each["asked"]) == 1 and "decisions" in each["sent"]]
ANSWERS = [
    pytest.param(each, id=f"{client}-{number}") for client in CLIENTS for number, each in enumerate(recorded(client), 1)
]
EVERY_DOOR = [pytest.param(door, marks=[] if door == "the graph's door" else pytest.mark.long) for door in DOORS]


@pytest.fixture
def threads(tmp_path: Path) -> Iterator[World]:
    """A world whose runs have threads."""
    made = World(tmp_path, "langgraph")
    yield made
    made.close()


@pytest.mark.parametrize("door", EVERY_DOOR)
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_decides_what_its_client_showed(threads: World, door: str, answer: dict[str, Any]) -> None:
    run = asks_for_notes(threads, *answer["asked"])

    DOORS[door](run, filled(run, answer["sent"]))

    assert [kind for _, kind in run.decisions] == answer["decided"]
    assert [each.arguments["text"] for each in run.questions] == answer["open"]
    assert threads.notes == answer["notes"]
    assert run.row.ended is not bool(answer["open"])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_no_answer_in_a_clients_shape_is_refused_and_asked_again(
    threads: World, client: str, door: str
) -> None:
    run = asks_for_notes(threads, "a")
    asked = run.question
    malformed = [each for each in recorded("malformed") if each["client"] == client]

    for each in malformed:
        DOORS[door](run, filled(run, each["sent"]))
        assert (run.status, run.question, run.decisions) == ("waiting/approval", asked, []), each
    DOORS[door](run, {"decisions": [{"type": "approve"}]})

    assert (run.status, threads.notes) == ("succeeded/completed", ["a: all is well"])
    assert run.timeline.count("approval.refused") == len(malformed)


def test_a_refused_answer_says_what_is_wrong_with_it(threads: World) -> None:
    run = asks_for_notes(threads, "a")
    interrupts, answers = shown(run), threads.parts.answers

    said = {
        str(refusal)
        for each in recorded("malformed")
        for refusal in answers.record(Actor("ada"), run.run_id, filled(run, each["sent"]), lambda: interrupts).refused
    }

    assert len(said) > 15
    assert [each for each in said if not each.endswith((".", "?"))] == []


@pytest.mark.parametrize("answer", WITHOUT_IDS)
def test_without_a_thread_that_shows_the_question_only_answers_with_ids_count(loop_world: World, answer: Any) -> None:
    run = asks_for_notes(loop_world, "a")

    refusal = run.refused(answer)

    assert "look again" in str(refusal)


def test_an_inbox_answers_one_question_after_the_other(threads: World) -> None:
    run = asks_for_notes(threads, "a", "b", "c")

    for left in (["b", "c"], ["c"], []):
        DOORS["the graph's door"](run, [{"type": "accept", "args": None}])
        assert [each.arguments["subject"] for each in run.questions] == left

    assert (run.status, len(threads.notes)) == ("succeeded/completed", 3)


def test_every_client_shows_the_arguments_and_what_can_be_answered(threads: World) -> None:
    run = asks_for_notes(threads, "a", "b")

    (interrupt,) = over_http(run)

    everything = ["approve", "edit", "reject"]
    assert as_agent_chat_ui(interrupt["value"]) == [
        ("create_note", {"subject": subject, "text": "all is well"}, everything) for subject in ("a", "b")
    ]
    may = {"accept": True, "edit": True, "respond": True}
    assert as_agent_inbox(interrupt["value"]) == ("create_note", {"subject": "a", "text": "all is well"}, may)


def test_the_schema_of_an_answer_is_plain_data_that_names_each_open_question(threads: World) -> None:
    run = asks_for_notes(threads, "a", "b")

    (interrupt,) = over_http(run)

    schema = interrupt["response_schema"]
    choices = schema["properties"]["decisions"]["items"]["anyOf"]
    named = [(each["properties"]["approval_id"]["const"], each["properties"]["digest"]["const"]) for each in choices]
    assert named == [(each.approval_id, each.digest) for each in run.questions]
    assert type(shown(run)[0].response_schema) is dict


def test_a_pause_that_nobody_answers_has_no_schema(threads: World) -> None:
    run = asks_for_notes(threads, "a")
    run.pause()
    run.goes_on()

    (interrupt,) = over_http(run)

    assert (interrupt["value"]["status"], interrupt["response_schema"]) == ("paused", None)
    assert answer_schema(interrupt["value"]) is None


def test_a_question_says_who_has_to_answer_and_who_has(threads: World) -> None:
    threads.policy_also_says(asks('@approver("lead")', '@quorum("2")', '@escalate_to("boss")', '@escalate_after("4h")'))
    threads.has_role("ada", "lead")
    run = asks_for_notes(threads, "a")
    (before,) = over_http(run)[0]["value"]["approvals"]

    DOORS["the graph's door"](run, {"decisions": [{"type": "approve", "message": "fine with me"}]})

    (after,) = over_http(run)[0]["value"]["approvals"]
    assert (before["role"], before["quorum"], before["decided"]) == ("lead", 2, [])
    assert (before["escalation"]["to"], before["escalation"]["in_force"]) == ("boss", False)
    assert [(each["approver"], each["answer"], each["comment"]) for each in after["decided"]] == [
        ("ada", "approve", "fine with me")
    ]
    assert (run.status, threads.notes) == ("waiting/approval", [])


def test_a_standing_rule_that_said_yes_is_named_beside_the_question(threads: World) -> None:
    threads.policy_also_says(asks('@quorum("2")', '@approver("lead")'))
    threads.has_role("ada", "lead")
    threads.rules("small-notes", agent="noter")

    run = asks_for_notes(threads, "a")

    (approval,) = over_http(run)[0]["value"]["approvals"]
    assert [each["approver"] for each in approval["decided"]] == ["rule:small-notes@1"]
    assert "standing rule of ada: it is harmless" in approval["decided"][0]["comment"]


@pytest.mark.long
def test_the_question_and_the_recorded_answers_are_of_langchains_types(threads: World) -> None:
    from langchain.agents.middleware.human_in_the_loop import HITLRequest, HITLResponse
    from pydantic import TypeAdapter

    run = asks_for_notes(threads, "a", "b")

    (interrupt,) = shown(run)

    TypeAdapter(HITLRequest).validate_python(interrupt.value, strict=True)
    for each in LANGCHAIN:
        if "decisions" in each["sent"]:
            TypeAdapter(HITLResponse).validate_python(each["sent"], strict=True)
