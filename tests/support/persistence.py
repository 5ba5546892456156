"""People and drivers who try again when they are told that something failed, and what is looked at in between."""

from __future__ import annotations

import sqlite3
from typing import Any

from state.errors import DatabaseUnavailable, RunBusy
from store.guard import LEASE_TTL_MS
from tests.support.world import RunInWorld

MOST_TIMES = 12
CLEAR = (DatabaseUnavailable, RunBusy, OSError, sqlite3.OperationalError)  # the last two are a checkpointer's

RIGHT = {
    "status": "succeeded/completed",
    "tickets": 1,
    "effects": ["committed"],
    "verified": [True],
    "decisions": {("ada", "approve")},
    "in flight": 0,
    "held by": None,
}


def seen_to_its_end(run: RunInWorld) -> list[Exception]:
    """Approve what is asked and drive on, until the run has ended; the errors that were shown on the way.

    After each of them every fact is whole: the timeline is gap-free, and the run's row agrees with it.
    """
    said: list[Exception] = []
    for _ in range(MOST_TIMES):
        try:
            if run.questions:
                run.approve(drive=False)
            run.goes_on()
        except CLEAR as error:
            said.append(error)
            run.world.clock.passes(seconds=LEASE_TTL_MS / 1000 + 1)
        (row,) = [each for each in run.world.rows("runs") if each["run_id"] == run.run_id]
        numbers = [each["seq"] for each in run.world.rows("events") if each["run_id"] == run.run_id]
        assert sorted(numbers) == list(range(1, row["seq"] + 1))
        if row["ended_at"] is not None:
            return said
    raise AssertionError(f"it does not end: {run.status} {said}")


def wrong(run: RunInWorld) -> dict[str, Any]:
    """What is not as it should be after a catalogue check or a ticket that somebody approved; empty where all is."""
    assert run.timeline  # and its hashes are whole
    found: dict[str, Any] = {
        "status": run.status,
        "tickets": len(run.world.tickets),
        "effects": [each["status"] for each in run.world.rows("effects")],
        "verified": [each.verified for each in run.operations if each.status == "committed" and each.effect == "write"],
        "decisions": set(run.decisions),
        "in flight": run.row.inflight,
        "held by": run.row.owner,
    }
    return {name: value for name, value in found.items() if value != RIGHT[name]}
