"""Runs that something is to be done about: queued, held by a driver, or with a time that has come."""

from __future__ import annotations

from sqlalchemy import or_, select

from state.run import DRIVABLE, LIVE, Run
from store.database import Connection, Statement, param
from store.runs import run_of
from store.tables import runs

_UNDRIVEN = Statement(
    select(runs)
    .where(
        runs.c.tenant_id == param("tenant"),
        runs.c.status.in_(sorted(LIVE)),
        or_(
            runs.c.status == "queued",
            runs.c.status.in_(sorted(DRIVABLE)),
            runs.c.wake_at <= param("now"),
            runs.c.deadline <= param("now"),
        ),
    )
    .order_by(runs.c.last_activity_at, runs.c.run_id)
    .limit(param("limit"))
)


def candidates(connection: Connection, tenant: str, now: int, limit: int) -> list[Run]:
    """The least recently active first. Whether a driver still lives, only its owner's host can tell."""
    return [run_of(row) for row in connection.all(_UNDRIVEN, {"tenant": tenant, "now": now, "limit": limit})]
