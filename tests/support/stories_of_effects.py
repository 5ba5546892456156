"""What becomes of proposals, questions and effects, each time as a short story about a world."""

from __future__ import annotations

from pathlib import Path

from state.actor import Actor
from tests.support.faults import CannotBeAsked, LosesTheResponse, NeverArrives
from tests.support.target import Box, breaks, is_busy, is_lost, letters, refuses
from tests.support.telling import story
from tests.support.world import NO_DATE, World, final, note


@story
def a_ticket_is_approved(world: World) -> None:
    run = world.check().approve()

    assert (run.status, run.writes, len(world.tickets)) == ("succeeded/completed", ["committed"], 1)


@story
def a_ticket_is_given(world: World) -> None:
    run = world.ticket().approve()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


@story
def there_is_nothing_to_do(world: World) -> None:
    assert world.check(record="r2").status == "succeeded/nothing_to_do"


@story
def a_notice_names_no_date(world: World) -> None:
    assert world.check(NO_DATE).status == "insufficient_evidence/evidence_missing"


@story
def a_notice_is_not_there(world: World) -> None:
    given = world.check_input()
    run = world.start("catalog-check", given, drive=False)
    Path(given["notice"]).unlink()
    run.goes_on()

    assert run.status == "failed/tool_failed"


@story
def a_note_is_edited_and_then_rejected(world: World) -> None:
    world.decider_says(note(), final())
    run = world.noter().edit(text="all is different").reject()

    assert (run.status, run.writes) == ("denied/approval_rejected", ["superseded", "rejected"])


@story
def a_rejection_is_told(world: World) -> None:
    world.agent_has(on_rejection="tell")
    world.decider_says(note(), note("something else"), final())
    run = world.noter().reject().approve()

    assert (run.status, run.writes) == ("succeeded/completed", ["rejected", "committed"])


@story
def answers_are_refused(world: World) -> None:
    run = world.check()
    asked = run.question
    run.refused("yes")
    run.refused({"decisions": [{"approval_id": asked.approval_id, "digest": "0" * 64, "type": "approve"}]})
    run.refused(
        {"decisions": [{"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}]}, "mallory"
    )
    run.refused({"decisions": [{"approval_id": "nothing", "digest": asked.digest, "type": "approve"}]})

    assert run.status == "waiting/approval"


@story
def an_effect_is_denied_when_it_is_planned(world: World) -> None:
    world.parts.business.revoke("ada", "write:note")
    run = world.noter()

    assert (run.status, world.notes) == ("denied/policy", [])


@story
def an_effect_is_denied_at_its_claim(world: World) -> None:
    run = world.check()
    world.parts.business.revoke("ada", "write:ticket")
    run.approve()

    assert (run.status, world.tickets) == ("denied/permission_revoked", [])


@story
def a_proposal_is_repaired(world: World) -> None:
    world.decider_says(note(approved=True), note(), final())
    run = world.noter().approve()

    assert (run.status, run.writes) == ("succeeded/completed", ["committed"])


@story
def proposals_stay_invalid(world: World) -> None:
    world.decider_says({"kind": "actions", "actions": [{"tool": "no_such_tool", "arguments": {}}]})

    assert world.noter().status == "failed/proposal_invalid"


@story
def an_answer_is_lost_and_looked_up(world: World) -> None:
    world.target(LosesTheResponse)
    run = world.check().approve()

    assert (run.status, run.writes) == ("succeeded/completed", ["committed"])


@story
def a_request_is_lost_and_made_again(world: World) -> None:
    world.target(NeverArrives)
    run = world.check().approve()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


@story
def a_target_does_not_answer_for_a_while(world: World) -> None:
    world.target(CannotBeAsked)
    run = world.check().approve().waits_it_out()

    assert run.status == "waiting/reconciliation"


@story
def a_person_says_that_it_was_done(world: World) -> None:
    world.sends_letters(Box(answers=[breaks]), letters("bob"), lookups=0)
    run = world.noter().approve()
    assert run.status == "waiting/reconciliation"
    run.settle("letter-1", comment="it is in the box").goes_on()

    assert (run.status, run.writes) == ("succeeded/completed", ["committed"])


@story
def a_person_says_that_it_was_not_done(world: World) -> None:
    world.sends_letters(Box(before=[is_lost]), letters("bob", "cy"), lookups=0)
    run = world.noter().approve()
    run.settle(None, comment="the box is empty").goes_on()

    assert run.writes == ["failed", "cancelled"]


@story
def a_target_refuses(world: World) -> None:
    world.sends_letters(Box(before=[refuses]), letters("bob", "cy"))
    run = world.noter().approve()

    assert run.writes == ["failed", "cancelled"]


@story
def a_target_is_busy(world: World) -> None:
    world.sends_letters(Box(before=[is_busy()]), letters("bob"))
    run = world.noter().approve().waits_it_out()

    assert (run.status, run.writes) == ("succeeded/completed", ["committed"])


@story
def a_target_stays_busy(world: World) -> None:
    world.sends_letters(Box(before=[is_busy(90.0)] * 9), letters("bob"))
    run = world.noter().approve().waits_it_out()

    assert run.writes == ["failed"]


@story
def a_letter_is_said_to_have_arrived_and_is_not_there(world: World) -> None:
    box = Box()
    world.sends_letters(box, letters("bob"))
    run = world.noter()
    box.keep = lambda call, receipt: None  # type: ignore[method-assign]
    run.approve()

    assert run.status == "failed/verification_failed"


@story
def a_key_is_taken_by_other_words(world: World) -> None:
    world.noter().approve()
    world.decider_says(note("all is lost"), final())
    world.restart()

    assert world.noter().approve().status == "failed/tool_failed"


@story
def the_same_is_asked_for_twice(world: World) -> None:
    world.ticket().approve()
    run = world.ticket().approve()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


@story
def a_resource_changes(world: World) -> None:
    run = world.check()
    world.ticket(source="elsewhere", record="r1").approve()
    run.approve().approve()

    assert run.writes == ["superseded", "committed"]


@story
def an_answer_is_withdrawn_and_given_again(world: World) -> None:
    run = world.check().approve(drive=False)
    (asked,) = run.facts.approvals.values()
    world.parts.answers.withdraw(Actor("ada"), asked.approval_id)
    assert run.writes == ["awaiting_approval"]
    run.approve()

    assert (run.status, run.writes) == ("succeeded/completed", ["committed"])
