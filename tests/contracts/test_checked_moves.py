"""Moves are checked (S3): a stale version, a changed digest, a result of another operation, any move from an end."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from state.errors import IllegalMove, OperationMismatch, RunAlreadyTerminal, StaleVersion
from state.operation import OPERATION_MOVES, READ_MOVES, check_operation_move
from state.run import MOVES, REASONS, TERMINAL, check_move
from store import effects
from store.transaction import RunTransaction
from tests.support.world import World, note, notes


def test_a_stale_version_is_refused(loop_world: World) -> None:
    run = loop_world.check()

    with loop_world.parts.ledger.control(run.run_id, loop_world.parts.identity.actor()) as tx:
        stale = RunTransaction(tx.connection, tx.tenant, {**tx.run, "status_version": 0}, tx.now, "somebody")
        stale.set(priority=1)
        with pytest.raises(StaleVersion):
            stale.close()

    assert run.status == "waiting/approval"


def test_a_changed_digest_is_not_executed(loop_world: World) -> None:
    run = loop_world.check().approve(drive=False)
    with sqlite3.connect(loop_world.parts.settings.ledger_path) as connection:
        connection.execute("UPDATE operations SET arguments = replace(arguments, '2026-03-01', '2031-03-01')")
    connection.close()

    run.goes_on()

    assert (run.status, loop_world.tickets) == ("denied/permission_revoked", [])
    assert "ApprovalDigestMismatch" in (run.operations[-1].detail or "")


def test_a_result_of_another_operation_is_refused(loop_world: World) -> None:
    loop_world.decider_says(notes("a", "b"))
    run = loop_world.noter()
    first, second = run.facts.operations

    with (
        pytest.raises(OperationMismatch),
        loop_world.parts.ledger.control(run.run_id, loop_world.parts.identity.actor()) as tx,
    ):
        effects.settle_effect(tx, replace(first, operation_key=second.operation_key), "committed", "x")


@pytest.mark.parametrize("ended", sorted(TERMINAL))
def test_no_status_follows_an_end(ended: str) -> None:
    for target, reasons in REASONS.items():
        with pytest.raises(RunAlreadyTerminal):
            check_move(ended, target, next(iter(sorted(reasons)), None))


def test_every_move_that_is_not_allowed_is_refused() -> None:
    for current in MOVES:
        for target, reasons in REASONS.items():
            reason = next(iter(sorted(reasons)), None)
            if target not in MOVES[current]:
                with pytest.raises(IllegalMove):
                    check_move(current, target, reason)


def test_a_reason_is_needed_exactly_where_a_status_has_reasons() -> None:
    check_move("running", "waiting", "approval")
    for target, reason in (("waiting", None), ("waiting", "completed"), ("queued", "user"), ("failed", "policy")):
        with pytest.raises(IllegalMove):
            check_move("running", target, reason)


def test_the_database_itself_refuses_a_status_without_its_reason(loop_world: World) -> None:
    run = loop_world.check()

    with sqlite3.connect(loop_world.parts.settings.ledger_path) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("UPDATE runs SET reason = NULL WHERE run_id = ?", (run.run_id,))
    connection.close()


def test_the_database_itself_refuses_an_approval_without_an_expiry(loop_world: World) -> None:  # S2
    loop_world.check()

    with sqlite3.connect(loop_world.parts.settings.ledger_path) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("UPDATE approvals SET expires_at = NULL")
    connection.close()


def test_operations_move_only_as_they_may() -> None:
    check_operation_move("write", "approved", "dispatched")
    check_operation_move("read", "planned", "committed")
    for effect, current, target in (
        ("write", "planned", "committed"),
        ("write", "committed", "failed"),
        ("write", "rejected", "dispatched"),
        ("read", "committed", "failed"),
        ("write", "awaiting_approval", "dispatched"),
    ):
        with pytest.raises(IllegalMove):
            check_operation_move(effect, current, target)
    assert "dispatched" not in READ_MOVES["planned"]
    assert "committed" not in OPERATION_MOVES


def test_two_operations_cannot_take_the_same_place(loop_world: World) -> None:
    loop_world.decider_says(note())
    run = loop_world.noter()

    with sqlite3.connect(loop_world.parts.settings.ledger_path) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("INSERT INTO operations SELECT * FROM operations")
    connection.close()
    assert len(run.operations) == 1
