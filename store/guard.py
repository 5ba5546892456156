"""The one guarded update with which every write transaction about a run opens.

It takes the run's row lock before anything else (the lock order everywhere), proves that the driver still holds the
lease, and renews it. Cancel, pause, deadline and the claim of an effect compete on this row, so whichever commits
first is what all others see (L1, L5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, and_, case, literal, or_, select, update

from state.errors import GuardRefused, LeaseLost, RunNotFound
from state.run import DRIVABLE, Lease
from store.database import Connection, Row, Statement, param
from store.tables import runs

LEASE_TTL_MS = 30_000

now = param("now")
_mine = and_(
    runs.c.tenant_id == param("tenant"),
    runs.c.run_id == param("run"),
    runs.c.fence == param("fence_held"),
    runs.c.nonce == param("nonce_held"),
)
_RUN = and_(runs.c.tenant_id == param("tenant"), runs.c.run_id == param("run"))

# Time between two guards counts as active, at most one lease's length: after a jump of the clock no budget is used up.
elapsed = case(
    (runs.c.active_at.is_(None), 0),
    (now <= runs.c.active_at, 0),
    (now - runs.c.active_at > LEASE_TTL_MS, LEASE_TTL_MS),
    else_=now - runs.c.active_at,
)


def _guarded(condition: ColumnElement[bool]) -> Statement:
    return Statement(
        update(runs)
        .where(_mine, condition)
        .values(
            lease_until=now + literal(LEASE_TTL_MS),
            used_active_ms=runs.c.used_active_ms + elapsed,
            active_at=now,
            last_activity_at=now,
        )
        .returning(runs)
    )


# A claim, a turn record or a plan: new facts that lead to more acting.
_ACT = _guarded(
    and_(
        runs.c.status == "running",
        runs.c.desired_action == "none",
        or_(runs.c.deadline.is_(None), runs.c.deadline > now),
    )
)
# A settle, a lookup, a park and the end: what has happened must be recorded, whatever is wished by now.
_SETTLE = _guarded(runs.c.status.in_(sorted(DRIVABLE)))
# Everybody who does not drive: a person, a sweep, a claim of the lease.
_LOCK = Statement(update(runs).where(_RUN).values(last_activity_at=runs.c.last_activity_at).returning(runs))
_READ = Statement(select(runs).where(_RUN))


def act(connection: Connection, tenant: str, lease: Lease, now: int) -> Row:
    """The run's row, locked, if this driver may start something new; raises LeaseLost or GuardRefused."""
    return _open(connection, _ACT, tenant, lease, now)


def settle(connection: Connection, tenant: str, lease: Lease, now: int) -> Row:
    """The run's row, locked, if this driver may record what happened; raises LeaseLost or GuardRefused."""
    return _open(connection, _SETTLE, tenant, lease, now)


def lock(connection: Connection, tenant: str, run_id: str) -> Row:
    """The run's row, locked, for somebody who does not drive it; raises RunNotFound."""
    row = connection.one(_LOCK, {"tenant": tenant, "run": run_id})
    if row is None:
        raise RunNotFound(run_id)
    return row


def _open(connection: Connection, statement: Statement, tenant: str, lease: Lease, now: int) -> Row:
    values = {
        "tenant": tenant,
        "run": lease.run_id,
        "fence_held": lease.fence,
        "nonce_held": lease.nonce,
        "now": now,
    }
    row = connection.one(statement, values)
    if row is None:
        raise _why(connection.one(_READ, values), lease)
    return row


def _why(row: Row | None, lease: Lease) -> LeaseLost | GuardRefused | RunNotFound:
    if row is None:
        return RunNotFound(lease.run_id)
    if row["fence"] != lease.fence or (row["nonce"] != lease.nonce and row["status"] in DRIVABLE):
        return LeaseLost(f"Another driver took over run {lease.run_id}; this one must not write.")
    return GuardRefused(f"Run {lease.run_id} is {row['status']}, wish {row['desired_action']}: read it again.")


Guard = Callable[[Connection, str, Lease, int], dict[str, Any]]
