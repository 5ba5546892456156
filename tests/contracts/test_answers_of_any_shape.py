"""Every shape of an answer that is understood, and what each becomes; every other one is refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from nodes.shapes import Answer, BadAnswer, ids_alone, read_answers
from nodes.step import thread_of
from state.actor import Actor
from state.approval import Approval
from state.errors import NotAllowed
from tests.support.world import World


@pytest.fixture
def asked(loop_world: World) -> Approval:
    return loop_world.noter().question


def _read(value: Any, asked: Approval) -> list[Answer]:
    shown = [{"id": "a" * 32, "value": {"approvals": [asked.shown()]}}]
    return read_answers(value, lambda: shown, [asked])


def test_remits_own_answers_say_what_they_are_about(asked: Approval) -> None:
    own = {"approval_id": asked.approval_id, "digest": asked.digest}
    edited = {**own, "type": "edit", "arguments": {"text": "b"}, "message": "better"}

    assert _read({"decisions": [{**own, "type": "approve"}, edited]}, asked) == [
        Answer(asked.approval_id, "approve", asked.digest),
        Answer(asked.approval_id, "edit", asked.digest, "better", None, {"text": "b"}),
    ]


def test_a_langchain_answer_is_about_what_is_shown_in_its_order(asked: Approval) -> None:
    action = {"name": "other_tool", "args": {"text": "b"}}

    def one(given: dict[str, Any]) -> Answer:
        (answer,) = _read({"decisions": [given]}, asked)
        return answer

    assert one({"type": "approve"}) == Answer(asked.approval_id, "approve")
    assert one({"type": "reject", "message": "no"}) == Answer(asked.approval_id, "reject", None, "no")
    assert one({"type": "edit", "edited_action": action}) == Answer(
        asked.approval_id, "edit", None, "", "other_tool", {"text": "b"}
    )


def test_an_inbox_answer_is_about_the_first_question_shown(asked: Approval) -> None:
    def one(given: Any) -> Answer:
        (answer,) = _read([given], asked)
        return answer

    assert one({"type": "accept", "args": None}) == Answer(asked.approval_id, "approve")
    assert one({"type": "ignore"}) == Answer(asked.approval_id, "reject")
    assert one({"type": "response", "args": "no"}) == Answer(asked.approval_id, "reject", None, "no")
    assert one({"type": "edit", "args": {"action": "t", "args": {"a": 1}}}) == Answer(
        asked.approval_id, "edit", None, "", "t", {"a": 1}
    )
    shown = {"action": asked.tool, "args": asked.arguments}
    assert one({"type": "accept", "args": shown}) == Answer(asked.approval_id, "approve")
    with pytest.raises(BadAnswer):
        one({"type": "accept", "args": {**shown, "action": "other_tool"}})


@pytest.mark.parametrize(
    ("kind", "args", "answer"),
    [("approve", None, "approve"), ("ignore", None, "reject"), ("reject", "no", "reject")],
)
def test_an_inbox_may_answer_in_the_words_of_the_question(asked: Approval, kind: str, args: Any, answer: Any) -> None:
    (read,) = _read({"decisions": [{"type": kind, "args": args}]}, asked)

    assert read == Answer(asked.approval_id, answer, message=args or "")


def test_a_message_is_kept_at_bounded_length(asked: Approval) -> None:
    (answer,) = _read({"decisions": [{"type": "reject", "message": "x" * 4_001}]}, asked)

    assert answer.message == "x" * 4_000


@pytest.mark.parametrize(
    "value",
    [
        {"decisions": []},
        {"decisions": {"type": "approve"}},
        {"decisions": [{"type": "approve"}], "more": 1},
        {"decisions": [{"type": "approve"}, {"type": "approve"}]},
        {"decisions": [{"type": ["approve"]}]},
        {"decisions": [{"type": "approve", "by": "root"}]},
        {"decisions": [{"type": "approve", "message": 7}]},
        {"decisions": [{"approval_id": "a", "digest": "d", "type": "approve", "arguments": {}}]},
        {"decisions": [{"approval_id": "a", "digest": "d", "type": ["approve"]}]},
        {"decisions": [{"approval_id": "a", "digest": 7, "type": "approve"}]},
        {"decisions": [{"approval_id": 7, "digest": "d", "type": "approve"}]},
        {"decisions": [{"approval_id": "a", "digest": "d", "type": "edit"}]},
        {"b" * 32: {"decisions": [{"type": "approve"}]}},
        {"decisions": [{"type": "approve", "edited_action": {"name": "t", "args": {}}}]},
        {"decisions": [{"type": "edit", "edited_action": {"args": {}}}]},
        {"decisions": [{"type": "edit", "edited_action": {"name": 7, "args": {}}}]},
        {"decisions": [{"type": "edit", "edited_action": {"name": "t", "args": []}}]},
        {"decisions": [{"type": "accept", "args": None}]},
        [],
        [{"type": ["accept"]}],
        [{"type": "approve"}],
        [{"type": "response", "args": 7}],
        [{"type": "accept", "by": "root"}],
        [{"type": "accept"}, {"type": "accept"}],
        [{"type": "edit", "args": None}],
        "approve",
        {},
        {"decisions": [{"type": "approve", "message": "x" * 2_000_000}]},
    ],
)
def test_everything_else_is_refused_with_a_reason(asked: Approval, value: Any) -> None:
    with pytest.raises(BadAnswer, match=r"\w+ .*[.?]$"):
        _read(value, asked)


def test_an_answer_under_the_id_of_its_interrupt_is_opened(asked: Approval) -> None:
    (answer,) = _read({"a" * 32: {"decisions": [{"type": "approve"}]}}, asked)

    assert answer == Answer(asked.approval_id, "approve")


def test_whoever_is_shown_ids_alone_has_to_say_what_the_answer_is_about(asked: Approval) -> None:
    shown = ids_alone(lambda: [{"id": "a" * 32, "value": {"approvals": [asked.shown()]}}])
    own = {"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}

    assert len(read_answers({"a" * 32: {"decisions": [own]}}, shown, [asked])) == 1
    with pytest.raises(BadAnswer):
        read_answers({"decisions": [{"type": "approve"}]}, shown, [asked])


def test_an_answer_that_names_no_digest_is_kept_with_the_digest_of_its_question(loop_world: World) -> None:
    run = loop_world.noter()
    question = run.question

    loop_world.parts.answers.decide(Actor("ada"), Answer(question.approval_id, "approve"))

    (decision,) = loop_world.rows("decisions")
    assert decision["digest_seen"] == question.digest


@pytest.mark.parametrize("thread", [None, "", 7, ["t"]])
def test_a_run_has_to_have_a_thread_with_a_name(thread: Any) -> None:
    with pytest.raises(NotAllowed):
        thread_of({"configurable": {"thread_id": thread}})
