"""What becomes a message: with its fact, in one transaction, for those who are to be told, and holding no secret."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from service.retention import Retention
from state.actor import Actor
from state.budget import Budget
from state.run import REASONS, TERMINAL
from store import approvals
from store.ledger import REMIT
from store.outbox import NOTIFIED
from tests.support.faults import CannotBeAsked, Crash, crashing_ledger
from tests.support.hook_receiver import KEY
from tests.support.notified import Told
from tests.support.world import NO_DATE, NOTICE, USER, RunInWorld, World, final, note

NOWHERE = "http://127.0.0.1:9"
DAY_S = 24 * 3600


@pytest.fixture
def told(loop_world: World) -> Told:
    return Told(loop_world)


def notified(run: RunInWorld) -> list[tuple[str, int]]:
    """Type and number of the events that somebody could be told."""
    return [(each["type"], each["seq"]) for each in run.events if each["type"] in NOTIFIED]


def statements(world: World) -> list[str]:
    """Every statement that the ledger runs from now on."""
    heard: list[str] = []
    world.parts.ledger.database._raw.set_trace_callback(heard.append)
    return heard


def test_where_nobody_is_to_be_told_no_statement_is_spent_on_it(loop_world: World) -> None:
    heard = statements(loop_world)

    loop_world.check().approve()

    assert [each for each in heard if "outbox" in each] == []


def test_what_nobody_wants_to_know_costs_no_statement_either(told: Told) -> None:
    told.by_webhook(NOWHERE, events=["run.failed"])
    heard = statements(told.world)

    told.world.check().approve()

    assert [each for each in heard if "outbox" in each] == []


def test_a_question_and_the_end_are_told_with_their_numbers_in_the_timeline(told: Told) -> None:
    told.by_webhook(NOWHERE)

    run = told.world.check().approve()

    assert told.said == notified(run)
    assert [type_ for type_, _ in told.said] == ["approval.requested", "run.waiting_approval", "run.completed"]


def test_a_question_says_who_is_asked_what_kind_of_thing_and_until_when(told: Told) -> None:
    told.by_webhook(NOWHERE)

    run = told.world.check()

    asked = run.question
    body = told.bodies[0]
    assert body["message_id"] == told.rows[0]["message_id"]
    assert body["data"].pop("event_id") in [each["event_id"] for each in run.events]
    assert body["data"].pop("approval").items() >= {
        "approval_id": asked.approval_id, "operation_id": asked.operation_id, "tool": "create_ticket",
        "status": "pending", "quorum": 1,
    }.items()  # fmt: skip
    assert body["data"] == {
        "run_id": run.run_id, "seq": told.said[0][1], "tenant_id": "local", "agent_id": "catalog-check",
    }  # fmt: skip


def test_a_question_that_went_on_to_others_says_so(told: Told) -> None:
    told.by_webhook(NOWHERE, events=["approval.escalated"])
    run = told.world.check()
    with told.world.parts.ledger.database.write() as connection:
        connection._raw.execute("UPDATE approvals SET role = 'first', escalate_to = 'second'")

    with told.world.parts.ledger.control(run.run_id, REMIT) as tx:
        assert approvals.escalate(tx, run.question)
        tx.event("approval.escalated", {"approval_id": run.question.approval_id})

    assert told.bodies[0]["data"]["approval"]["roles"] == ["first", "second"]


def test_an_answer_that_was_taken_back_is_told_with_the_question_that_is_open_again(told: Told) -> None:
    told.by_webhook(NOWHERE, events=["approval.withdrawn"])
    run = told.world.check()
    asked = run.question
    run.approve(drive=False)

    told.world.parts.answers.withdraw(Actor(USER), asked.approval_id)

    approval = told.bodies[0]["data"]["approval"]
    assert (approval["approval_id"], approval["status"]) == (asked.approval_id, "pending")


def test_a_question_that_nobody_answered_is_told_as_expired(told: Told) -> None:
    told.by_webhook(NOWHERE, events=["approval.expired"])
    run = told.world.check()

    told.world.clock.passes(seconds=30 * DAY_S)
    told.world.parts.controls.resume(Actor(USER), run.run_id)
    run.goes_on()

    assert told.bodies[0]["data"]["approval"]["status"] == "expired"


def test_a_run_that_waits_for_budget_says_how_much_it_had(told: Told) -> None:
    told.world.agent_has(budget=Budget(turns=1), on_budget="ask")
    told.by_webhook(NOWHERE)

    told.world.check()

    data = told.bodies[0]["data"]
    assert (data["status"], data["status_reason"]) == ("waiting", "budget")
    assert (data["limits"]["turns"], data["used"]["turns"]) == (1, 1)


def test_an_unknown_outcome_is_told_with_the_operation_that_somebody_has_to_settle(told: Told) -> None:
    told.by_webhook(NOWHERE, events=["run.waiting_reconciliation"])
    told.world.target(CannotBeAsked)

    run = told.world.check().approve().waits_it_out()

    (unknown,) = [each for each in run.operations if each.status == "unknown"]
    assert told.bodies[0]["data"]["operations"] == [unknown.operation_id]


ENDS: list[tuple[str, Any]] = [
    ("succeeded/completed", lambda world: world.check().approve()),
    ("denied/approval_rejected", lambda world: world.check().reject()),
    ("insufficient_evidence/evidence_missing", lambda world: world.check(NO_DATE)),
    ("cancelled/user", lambda world: cancelled(world.check())),
]


def cancelled(run: RunInWorld) -> RunInWorld:
    run.cancel()
    return run


@pytest.mark.parametrize(("ends", "does"), ENDS, ids=[each for each, _ in ENDS])
def test_every_end_is_told_as_what_it_is(told: Told, ends: str, does: Any) -> None:
    told.by_webhook(NOWHERE)

    run = does(told.world)

    data = told.bodies[-1]["data"]
    assert f"{data['status']}/{data['status_reason']}" == run.status == ends
    assert data["effect"] == run.effect


def test_a_run_that_was_taken_over_is_told_to_wait_for_people(told: Told) -> None:
    told.by_webhook(NOWHERE, events=["run.taken_over"])

    told.world.check().take_over()

    data = told.bodies[0]["data"]
    assert (data["status"], data["status_reason"]) == ("waiting", "takeover")


def test_everything_that_waits_or_ends_can_be_told() -> None:
    waits = {f"run.waiting_{reason}" for reason in REASONS["waiting"]} - {"run.waiting_takeover"}

    assert waits <= NOTIFIED
    assert {f"run.{status}" for status in TERMINAL} - {"run.succeeded"} <= NOTIFIED


def test_each_target_is_told_what_it_wants_under_an_id_of_its_own(told: Told) -> None:
    hook = {"url": NOWHERE, "keys": ["secret://HOOK_KEY"]}
    told.by(ops={**hook, "events": ["run.*"]}, people={**hook, "events": ["approval.requested", "run.completed"]})

    told.world.check().approve()

    by_target = {
        name: [each["type"] for each in told.rows if each["message_id"].startswith(f"{name}_")]
        for name in ("ops", "people")
    }
    assert by_target == {
        "ops": ["run.waiting_approval", "run.completed"],
        "people": ["approval.requested", "run.completed"],
    }
    assert len({each["message_id"] for each in told.rows}) == 4
    ends = [each["data"]["event_id"] for each in told.bodies if each["type"] == "run.completed"]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_leaves_no_fact_untold_and_tells_of_none_that_is_not_there(told: Told, when: str) -> None:
    told.by_webhook(NOWHERE)
    world = told.world
    for dies_at in range(3, 8):
        world.restart()
        world.dies(ledger=crashing_ledger(dies_at, when))
        with suppress(Crash):
            world.noter().approve()

    world.restart()
    facts = [(each["run_id"], each["seq"]) for each in world.rows("events") if each["type"] in NOTIFIED]
    assert sorted((each["data"]["run_id"], each["data"]["seq"]) for each in told.bodies) == sorted(facts)
    assert len(facts) > 4


def test_no_message_holds_what_somebody_wrote_or_a_secret(told: Told) -> None:
    world = told.world
    told.by_webhook(NOWHERE)
    secret = "canary-words-of-a-user"
    world.decider_says(note(secret, subject=secret), final())
    question = world.start("noter", {"about": secret}).question
    run = RunInWorld(world, question.run_id)

    run.answer({"decisions": [
        {"approval_id": question.approval_id, "digest": question.digest, "type": "approve", "message": secret}
    ]})  # fmt: skip
    run.goes_on()

    assert (run.status, len(told.rows)) == ("succeeded/completed", 3)
    for row in told.rows:
        held = str(row)
        assert not any(each in held for each in (secret, question.digest, KEY, NOTICE[:10], "arguments", "preview"))


def test_a_message_that_is_still_to_be_sent_keeps_its_run_and_a_dead_one_goes_with_it(told: Told) -> None:
    told.by_webhook(NOWHERE, events=["run.completed"], tries=1)
    told.world.check().approve()
    told.world.clock.passes(seconds=100 * DAY_S)
    retention = Retention(told.world.parts, Actor(USER))
    ninety_days_ms = 90 * DAY_S * 1000
    assert retention.prune(ninety_days_ms)["counts"]["runs"] == 0

    told.sends()

    assert told.one["status"] == "dead"
    counts = retention.prune(ninety_days_ms)["counts"]
    assert (counts["runs"], counts["messages"], told.rows) == (1, 1, [])
