"""P8: A person who takes a run over stops all further automation of it; what had happened stays in sight."""

from __future__ import annotations

import pytest

from state.errors import ApprovalAlreadyDecided, Conflict, NotAllowed
from tests.support.faults import CannotBeAsked, does_first
from tests.support.target import Box, breaks, letters
from tests.support.world import World


def test_a_run_that_waits_is_taken_over_at_once_and_its_questions_are_gone(world: World) -> None:
    run = world.check()
    question = run.question

    assert run.take_over() == "waiting"

    assert (run.status, run.questions, run.writes) == ("waiting/takeover", [], ["cancelled"])
    answer = {"approval_id": question.approval_id, "digest": question.digest, "type": "approve"}
    assert isinstance(run.refused({"decisions": [answer]}), ApprovalAlreadyDecided)
    run.goes_on()
    assert (run.status, world.tickets) == ("waiting/takeover", [])


def test_a_run_that_is_driven_is_taken_over_at_the_next_safe_point(world: World) -> None:
    run = world.check()
    world.target(does_first(run.take_over))
    world.restart(healed=False)

    run.approve()

    assert (run.status, run.effect, len(world.tickets)) == ("waiting/takeover", "committed", 1)
    assert run.timeline.count("run.taken_over") == 1


def test_what_is_in_flight_is_looked_up_before_a_person_has_the_run(world: World) -> None:
    box = Box(answers=[breaks], lookup_fails=4)
    world.sends_letters(box, letters("ada"))
    run = world.noter().approve()
    assert run.status == "waiting/external"

    assert run.take_over() == "queued"
    run.goes_on().waits_it_out()

    assert (run.status, run.effect, len(box.calls)) == ("waiting/takeover", "committed", 1)


def test_a_run_that_was_taken_over_can_only_be_cancelled_settled_or_time_out(world: World) -> None:
    run = world.check()
    run.take_over()

    with pytest.raises(Conflict, match="took over"):
        run.pause()
    assert run.resume().status == "waiting/takeover"
    assert run.cancel() == "cancelled"


def test_a_deadline_ends_a_run_that_was_taken_over(world: World) -> None:
    run = world.start("catalog-check", world.check_input(), deadline=world.clock.now() + 60_000)
    run.take_over()

    world.clock.passes(seconds=61)
    run.goes_on()

    assert run.status == "timed_out/deadline"


def test_a_run_whose_outcome_is_unknown_can_be_taken_over(world: World) -> None:
    world.target(CannotBeAsked)
    run = world.check().approve().waits_it_out()
    assert run.status == "waiting/reconciliation"

    run.take_over()

    assert (run.status, run.effect) == ("waiting/takeover", "unknown")


@pytest.mark.parametrize(("choice", "no"), [("on_rejection", "reject"), ("on_denial", "deny")])
def test_an_agent_may_leave_what_was_refused_to_a_person(world: World, choice: str, no: str) -> None:
    world.agent_has(**{choice: "take_over"})
    if no == "deny":
        world.parts.business.revoke("ada", "write:ticket")
    run = world.check()

    if no == "reject":
        run.reject()

    assert (run.status, run.effect, world.tickets) == ("waiting/takeover", "none", [])


def test_somebody_without_a_right_to_the_run_takes_nothing_over(world: World) -> None:
    run = world.check()

    with pytest.raises(NotAllowed, match="may not control"):
        run.take_over(by="eve")

    assert run.status == "waiting/approval"


def test_taking_over_twice_is_taking_over_once(world: World) -> None:
    run = world.check()
    run.take_over()

    assert run.take_over() == "waiting"

    assert run.timeline.count("run.taken_over") == 1
