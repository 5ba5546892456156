"""What people, deciders and the graph are shown of a run: exactly this, and nothing else."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from graphs.run_graph import build_graph
from nodes.deciders.decider import View
from nodes.due import look
from nodes.question import question
from service.sight import Sight
from state.actor import Actor
from tests.support.target import Box, letters
from tests.support.world import RunInWorld, World, final, note

THREAD: Any = {"configurable": {"thread_id": "t1"}}
LONG = "x" * 81


def _asked(run: RunInWorld) -> dict[str, Any]:
    return question(run.facts, run.world.parts.agents.tools(run.row.agent_id))


def test_a_question_shows_each_request_its_schema_and_its_approval(loop_world: World) -> None:
    run = loop_world.noter()

    shown, approval = _asked(run), run.question

    arguments = {"subject": "widgets", "text": "all is well"}
    schema = loop_world.parts.agents.tools("noter")["create_note"].schema()
    assert shown == {
        "action_requests": [
            {
                "name": "create_note",
                "args": arguments,
                "arguments": arguments,
                "description": "create a note about widgets",
            }
        ],
        "review_configs": [
            {"action_name": "create_note", "allowed_decisions": ["approve", "edit", "reject"], "args_schema": schema}
        ],
        "run_id": run.run_id,
        "status": "waiting",
        "status_reason": "approval",
        "approvals": [approval.shown()],
    }
    assert (approval.shown()["id"], approval.shown()["digest"]) == (approval.approval_id, approval.digest)


def test_a_decider_sees_the_task_the_tools_and_what_became_of_its_words(loop_world: World) -> None:
    seen: list[dict[str, Any]] = []
    loop_world.agent_has(on_rejection="tell")
    loop_world.decider_says(note(), lambda view: seen.append(asdict(view)) or final())
    run = loop_world.start("noter", {"about": "widgets"})

    run.reject()

    (view,) = seen
    expectation = view.pop("expectation")
    assert expectation["kind"] == "open"
    assert view == {
        "run_id": run.run_id,
        "turn": 2,
        "task": {"about": "widgets"},
        "instructions": "Write one note.",
        "tools": {name: tool.schema() for name, tool in loop_world.parts.agents.tools("noter").items()},
        "outcomes": [
            {
                "turn": 1,
                "tool": "create_note",
                "arguments": {"subject": "widgets", "text": "all is well"},
                "status": "rejected",
                "detail": None,
                "result": None,
            }
        ],
        "told": ["create_note: rejected"],
    }


def test_a_decider_is_shown_each_turn_once_however_long_the_run(loop_world: World) -> None:
    seen: list[View] = []
    read = {"kind": "actions", "actions": [{"tool": "no_such", "arguments": {}}]}
    loop_world.decider_says(note(subject="a"), read, note(subject="b"), lambda view: seen.append(view) or final())

    run = loop_world.noter().approve().approve()

    assert run.status == "succeeded/completed"
    (view,) = seen
    assert [(each.turn, each.status) for each in view.outcomes] == [(1, "committed"), (3, "committed")]
    assert len(view.told) == 1


def test_the_timeline_names_tools_at_bounded_length(loop_world: World) -> None:
    loop_world.decider_says({"kind": LONG, "actions": [{"tool": LONG, "arguments": {}}]}, final())

    run = loop_world.noter()

    decided = [each["payload"] for each in run.events if each["type"] == "turn.decided"]
    assert decided[0] == {"turn": 1, "source": "decider", "kind": "x" * 40, "tools": ["x" * 80]}


def _updates(graph: Any, given: Any) -> list[Any]:
    """What each step writes, its made-up parts numbered."""
    numbers: dict[str, str] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items()}
        if isinstance(value, list):
            return [plain(each) for each in value]
        if isinstance(value, str):
            return re.sub(r"[0-9a-f]{12,}", lambda found: numbers.setdefault(found[0], f"#{len(numbers) + 1}"), value)
        return value

    steps = [each for each in graph.stream(given, THREAD, stream_mode="updates") if "__interrupt__" not in each]
    return [(name, plain(update)) for each in steps for name, update in each.items()]


def test_each_step_writes_exactly_these_channels(tmp_path: Any) -> None:
    world = World(tmp_path, "langgraph")
    graph = build_graph(world.parts, world.parts.driving("langgraph"), "noter").compile(checkpointer=InMemorySaver())

    asked = _updates(graph, {"about": "widgets"})
    still = _updates(graph, Command(resume="well?"))
    RunInWorld(world, "t1").approve(drive=False)
    ended = _updates(graph, Command(resume={}))
    again = _updates(graph, {"about": "widgets"})
    world.close()

    assert asked == ASKED
    assert still == STILL
    assert ended == ENDED
    assert again == AGAIN


_LEASE = {"fence": 1, "nonce": "#1"}
_OVER = {"status": "succeeded", "reason": "completed", "effect": "committed"}
ASKED: list[Any] = [
    (
        "admit",
        {
            "step": "admit",
            "outcome": "decide",
            "state_version": 1,
            "session_id": "t1",
            "run_id": "t1",
            "turn": 0,
            "operation_ids": [],
            "status": "running",
            "effect": "none",
            "summary": "",
            "lease": _LEASE,
        },
    ),
    ("decide", {"step": "decide", "outcome": "effects", "turn": 1, "operation_ids": []}),
    (
        "authorize",
        {
            "step": "authorize",
            "outcome": "ask",
            "operation_ids": ["op_#2"],
            "status": "waiting",
            "reason": "approval",
        },
    ),
]
STILL: list[Any] = [("approve", {"step": "approve", "outcome": "ask_again", "lease": {"fence": 2, "nonce": "#1"}})]
ENDED: list[Any] = [
    ("approve", {"step": "approve", "outcome": "reread", "lease": {"fence": 3, "nonce": "#1"}}),
    ("admit", {"step": "admit", "outcome": "execute_tool", "status": "running", "reason": None}),
    ("execute_tool", {"step": "execute_tool", "outcome": "done"}),
    ("verify", {"step": "verify", "outcome": "decide"}),
    ("decide", {"step": "decide", "outcome": "word", "turn": 2, "operation_ids": []}),
    (
        "finish",
        {"step": "finish", "outcome": "ended", "summary": "Done and read back: create_note note_#2.", **_OVER},
    ),
]
AGAIN: list[Any] = [
    (
        "admit",
        {
            "step": "admit",
            "outcome": "ended",
            "run_id": "t1",
            "session_id": "t1",
            "summary": "Done and read back: create_note note_#1.",
            **_OVER,
        },
    ),
]


@pytest.mark.parametrize(("early_ms", "status"), [(1, "waiting/approval"), (0, "queued")])
def test_a_question_expires_at_its_time_and_not_before(loop_world: World, early_ms: int, status: str) -> None:
    run = loop_world.noter()
    left = run.question.expires_at - loop_world.clock.now() - early_ms
    loop_world.clock.passes(seconds=left / 1000)

    look(loop_world.parts.ledger, run.run_id)

    assert run.status == status


@pytest.mark.parametrize(("early_ms", "status"), [(1, "waiting/approval"), (0, "timed_out/deadline")])
def test_a_deadline_is_over_at_its_time_and_not_before(loop_world: World, early_ms: int, status: str) -> None:
    run = loop_world.start("noter", {}, deadline=loop_world.clock.now() + 60_000)
    loop_world.clock.passes(seconds=(60_000 - early_ms) / 1000)

    look(loop_world.parts.ledger, run.run_id)

    assert run.status == status


def test_whoever_asks_for_an_answer_of_another_run_learns_nothing_of_it(loop_world: World) -> None:
    run, other = loop_world.noter(), loop_world.noter()
    answer = {"approval_id": other.question.approval_id, "digest": other.question.digest, "type": "approve"}

    refusal = run.refused({"decisions": [answer]})

    assert other.question.digest[:12] not in str(refusal)
    assert loop_world.parts.answers.record(Actor("ada"), other.run_id, {"decisions": [answer]}).refused == []


@pytest.mark.parametrize(("most", "shown"), [(3, True), (2, False)])
def test_who_may_answer_up_to_an_amount_is_shown_the_questions_up_to_it(
    loop_world: World, most: int, shown: bool
) -> None:
    to_bea = 'permit (principal == User::"bea", action == Action::"approve", resource)'
    loop_world.policy_also_says(f'@id("small") {to_bea} when {{ context has amount && context.amount <= {most} }};')
    loop_world.sends_letters(Box(), letters("ann"), amount=lambda tool, given: len(given["to"]))

    run = loop_world.noter()

    assert Sight(loop_world.parts, Actor("bea")).decides(run.question, run.row) is shown
