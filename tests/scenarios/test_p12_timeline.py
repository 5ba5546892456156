"""P12: The timeline is complete, ordered and gap-free per run, and is enough to explain every effect."""

from __future__ import annotations

import sqlite3

from store import events
from tests.support.world import World

COMPLETE = [
    "run.accepted",
    "run.queued",
    "run.started",
    "turn.decided",
    "tool.call.completed",
    "turn.decided",
    "tool.call.completed",
    "turn.decided",
    "operation.planned",
    "approval.requested",
    "run.waiting_approval",
    "attempt.ended",
    "approval.decided",
    "run.queued",
    "run.resumed",
    "tool.call.started",
    "tool.call.completed",
    "verification.passed",
    "run.completed",
]


def test_every_step_of_a_run_is_on_its_timeline_in_order(world: World) -> None:
    run = world.check().approve()

    assert run.timeline == COMPLETE
    assert [each["seq"] for each in run.events] == list(range(1, len(COMPLETE) + 1))


def test_an_effect_can_be_explained_from_the_timeline_alone(world: World) -> None:
    run = world.check().approve()

    by_type = {each["type"]: each for each in run.events}
    asked, decided = by_type["approval.requested"], by_type["approval.decided"]
    assert decided["payload"]["digest"] == asked["payload"]["digest"] == run.operations[-1].digest
    assert decided["actor"] == "ada"
    assert by_type["verification.passed"]["payload"]["object_id"] == world.tickets[0]["object_id"]


def test_a_changed_line_shows(loop_world: World) -> None:
    run = loop_world.check()
    with sqlite3.connect(loop_world.parts.settings.ledger_path) as connection:
        connection.execute("UPDATE events SET payload = '{\"turn\":9}' WHERE run_id = ? AND seq = 4", (run.run_id,))
    connection.close()

    assert _first_broken(loop_world, run.run_id) == 4


def test_a_removed_line_shows(loop_world: World) -> None:
    run = loop_world.check()
    with sqlite3.connect(loop_world.parts.settings.ledger_path) as connection:
        connection.execute("DELETE FROM events WHERE run_id = ? AND seq = 5", (run.run_id,))
    connection.close()

    assert _first_broken(loop_world, run.run_id) == 5


def test_a_transaction_that_fails_leaves_no_line_behind(loop_world: World) -> None:
    run = loop_world.check()
    before = run.timeline
    try:
        with loop_world.parts.ledger.control(run.run_id, loop_world.parts.identity.actor()) as tx:
            tx.event("run.stage", {"stage": "lost"})
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass

    assert run.timeline == before


def test_starts_decisions_and_wishes_are_in_the_audit(world: World) -> None:
    run = world.check()
    run.pause()
    run.resume()
    run.reject()

    said = [(each["action"], each["result"]) for each in world.audit if each["actor"] == "ada"]
    assert said[-4:] == [
        ("run.start", "accepted"),
        ("run.pause", "waiting"),
        ("run.resume", "waiting"),
        ("approval.decide", "reject"),
    ]


def _first_broken(world: World, run_id: str) -> int | None:
    with world.parts.ledger.database.read() as connection:
        return events.first_broken(connection, "local", run_id)
