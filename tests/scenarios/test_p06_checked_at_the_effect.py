"""P6: Permission, approval and resource version are checked again at the moment of the effect."""

from __future__ import annotations

import pytest

from state.errors import ApprovalExpired, NotAllowed
from tests.support.child import dies_in
from tests.support.faults import does_first, waiting_for_the_lock
from tests.support.without import without_grant_in_the_write
from tests.support.world import USER, World

DAY_S = 24 * 3600


def test_an_approval_does_not_override_a_grant_that_was_revoked_while_waiting(world: World) -> None:  # C6
    run = world.check()
    world.parts.business.revoke(USER, "write:ticket")

    run.approve()

    assert (run.status, run.effect, world.tickets) == ("denied/permission_revoked", "none", [])
    assert "policy.denied" in run.timeline


def test_a_requester_who_may_no_longer_start_has_no_effect_any_more(world: World) -> None:
    run = world.check()
    world.forbid(USER, "start")

    run.approve()

    assert (run.status, world.tickets) == ("denied/permission_revoked", [])


def test_an_approver_whose_authority_was_revoked_after_approving_approved_nothing(world: World) -> None:  # A5
    world.permit("bob", "approve")
    run = world.check().approve(by="bob", drive=False)
    world.forbid("bob", "approve")

    run.goes_on()

    assert (run.status, world.tickets) == ("denied/permission_revoked", [])


def test_a_grant_revoked_between_check_and_write_is_refused_by_the_target(world: World) -> None:  # K5, with
    world.target(does_first(lambda: world.parts.business.revoke(USER, "write:ticket")))
    run = world.check()

    run.approve()

    assert (run.status, run.effect, world.tickets) == ("denied/permission_revoked", "none", [])


def test_without_the_grant_inside_the_write_the_revoked_effect_happens(world: World) -> None:  # K5, without
    trusting = without_grant_in_the_write()
    world.target(type("Both", (does_first(lambda: world.parts.business.revoke(USER, "write:ticket")), trusting), {}))

    run = world.check().approve()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


def test_a_question_that_nobody_answers_in_time_is_asked_once_more(world: World) -> None:  # A3
    run = world.check()
    first = run.question
    world.clock.passes(seconds=DAY_S + 1)

    run.goes_on()
    assert (run.status, run.question.approval_id != first.approval_id) == ("waiting/approval", True)
    run.approve()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)
    assert run.timeline.count("approval.expired") == 1


def test_a_question_that_expires_twice_ends_the_run(world: World) -> None:  # A3
    run = world.check()
    for _ in range(2):
        world.clock.passes(seconds=DAY_S + 1)
        run.goes_on()

    assert (run.status, world.tickets) == ("timed_out/approval_expired", [])


def test_an_agent_may_end_when_a_question_expires(world: World) -> None:  # A3
    world.agent_has(on_expiry="end")
    run = world.check()

    world.clock.passes(seconds=DAY_S + 1)
    run.goes_on()

    assert (run.status, world.tickets) == ("timed_out/approval_expired", [])


def test_an_expired_question_takes_no_answer(world: World) -> None:  # A3
    run = world.check()
    asked = run.question
    world.clock.passes(seconds=DAY_S + 1)

    answer = {"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}
    refusal = run.refused({"decisions": [answer]})

    assert isinstance(refusal, ApprovalExpired)
    assert (run.goes_on().status, world.tickets) == ("waiting/approval", [])


def test_an_approval_that_expires_between_decision_and_claim_is_asked_again(world: World) -> None:  # A3, K10
    run = world.check()
    run.approve(drive=False)
    world.clock.passes(seconds=DAY_S + 1)

    run.goes_on()
    assert (run.status, world.tickets) == ("waiting/approval", [])
    run.approve()

    assert (run.status, len(world.tickets), run.writes) == ("succeeded/completed", 1, ["expired", "committed"])


def test_an_approval_that_expired_while_its_claim_was_lost_is_asked_again(world: World) -> None:
    run = world.check().approve(drive=False)
    world.restart()
    assert dies_in("A", world, run) == -9
    world.clock.passes(seconds=30 * DAY_S)

    run.goes_on()
    assert (run.status, world.tickets) == ("waiting/approval", [])
    run.approve()

    assert (run.status, len(world.tickets), run.writes) == ("succeeded/completed", 1, ["failed", "committed"])


def test_a_deadline_that_passes_while_the_ledger_is_locked_comes_before_the_effect(loop_world: World) -> None:
    deadline = loop_world.clock.now() + 60_000
    run = loop_world.start("catalog-check", loop_world.check_input(), deadline=deadline).approve(drive=False)
    loop_world.restart()
    loop_world.dies(ledger=waiting_for_the_lock(lambda: loop_world.clock.passes(seconds=61), nth=2))

    run.goes_on()

    assert (run.status, run.effect, loop_world.tickets) == ("timed_out/deadline", "none", [])


@pytest.mark.parametrize("hours", [1, 25])
def test_a_process_that_was_frozen_past_its_permit_writes_only_once_everything_is_checked_again(
    world: World, hours: int
) -> None:
    world.target(does_first(lambda: world.clock.passes(seconds=hours * 3600)))

    run = world.check().approve()

    if hours == 1:  # still approved, so it is claimed again
        assert (run.status, run.tried) == ("succeeded/completed", [("call", "failed"), ("call", "committed")])
    else:
        assert (run.status, run.writes) == ("waiting/approval", ["failed", "awaiting_approval"])
    assert len(world.tickets) == run.writes.count("committed")


def test_a_resource_that_changed_after_the_approval_is_shown_again(world: World) -> None:  # A4, K11
    run = world.check()
    other = world.ticket(source="elsewhere", record="r1").approve()
    assert other.status == "succeeded/completed"

    run.approve()
    assert (run.status, len(world.tickets)) == ("waiting/approval", 1)
    run.approve()

    assert (run.status, len(world.tickets), run.writes) == ("succeeded/completed", 2, ["superseded", "committed"])


def test_a_resource_that_changes_between_check_and_write_is_shown_again(world: World) -> None:  # K11
    from store.business import Write

    fields = {"source": "x", "source_sha256": "", "record": "r1", "field": "f", "observed": "o", "recorded": ""}
    other = Write("ticket", "other", "d", fields, USER, "record:r1", None)
    world.target(does_first(lambda: world.parts.business.create(other)))

    run = world.check().approve()
    assert (run.status, len(world.tickets)) == ("waiting/approval", 1)
    run.approve()

    assert (run.status, len(world.tickets), run.writes) == ("succeeded/completed", 2, ["failed", "committed"])


def test_nobody_starts_a_run_without_permission(world: World) -> None:
    with pytest.raises(NotAllowed, match="mallory may not start catalog-check"):
        world.start("catalog-check", world.check_input(), by="mallory")

    assert [(each["actor"], each["result"]) for each in world.audit][-1] == ("mallory", "denied")
