"""P1: Anything but an exact, valid approve of a pending approval is a no or a re-ask, whatever its shape."""

from __future__ import annotations

from typing import Any

import pytest

from state.errors import ApprovalNotFound, RemitError, RunAlreadyTerminal, RunNotFound
from tests.support.malformed import malformed_answers
from tests.support.world import World


def test_twenty_malformed_answers_are_recorded_as_refused_and_a_good_one_completes(world: World) -> None:  # A10
    run = world.check()
    other = world.check(record="r1")
    bad = malformed_answers(run.question, other.question)

    for value in bad:
        run.refused(value)
        assert (run.goes_on().status, world.tickets) == ("waiting/approval", [])
    run.approve()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)
    assert run.timeline.count("approval.refused") == len(bad) == 20


@pytest.mark.parametrize("extra", ["approver", "actor", "role", "tenant", "approved", "principal"])
def test_an_answer_that_says_who_approves_is_refused(world: World, extra: str) -> None:  # A16, K12
    run = world.check()
    answer = {"approval_id": run.question.approval_id, "digest": run.question.digest, "type": "approve"}

    run.refused({"decisions": [{**answer, extra: "root"}]}, by="mallory")

    assert (run.goes_on().status, world.tickets) == ("waiting/approval", [])


def test_another_runs_approval_does_not_exist_for_this_run(world: World) -> None:
    run, other = world.check(), world.ticket()
    asked = other.question
    answer = {"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}

    refusal = run.refused({"decisions": [answer]})

    assert isinstance(refusal, ApprovalNotFound)
    assert (other.status, world.tickets) == ("waiting/approval", [])


def test_an_answer_to_an_unknown_run_opens_nothing(world: World) -> None:  # A12
    with pytest.raises(RunNotFound):
        world.parts.answers.record(world.parts.identity.actor(), "nowhere", {"decisions": []})

    with pytest.raises(RunNotFound):
        world.parts.ledger.run("nowhere")


def test_an_answer_to_an_ended_run_is_refused_in_words(world: World) -> None:  # A12
    run = world.check(record="r2")
    assert run.status == "succeeded/nothing_to_do"

    with pytest.raises(RunAlreadyTerminal, match="has ended"):
        run.answer({"decisions": []})


def test_an_answer_left_over_from_a_call_that_failed_is_attributed_to_nobody(world: World) -> None:  # A17
    run = world.check()
    asked = run.question
    answer: Any = {"decisions": [{"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}]}
    with pytest.raises(RemitError):
        run.answer(answer, by="mallory")

    run.goes_on()
    run.goes_on()

    assert (run.status, world.tickets) == ("waiting/approval", [])
    run.approve(by="ada")
    decided = [each for each in world.audit if each["result"] == "approve"]
    assert [each["actor"] for each in decided] == ["ada"]
