"""Effects in doubt: what may have happened, for whoever is on call. Read from the effects, so no run is left out."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import and_, func, select

from state.operation import Operation
from state.run import Run
from store.database import Connection, Statement, param, part_of
from store.operations import operation_of
from store.runs import run_of
from store.tables import effects, operations, runs, tries

_tries = [
    select(func.count())
    .where(tries.c.tenant_id == effects.c.tenant_id, tries.c.operation_id == effects.c.operation_id)
    .where(tries.c.kind == kind)
    .scalar_subquery()
    .label(f"tried_{kind}")
    for kind in ("call", "lookup")
]
_IN_DOUBT = Statement(
    select(
        effects.c.claimed_at,
        *_tries,
        *[column.label(f"operation_{column.name}") for column in operations.columns],
        *[column.label(f"run_{column.name}") for column in runs.columns],
    )
    .join_from(
        effects,
        operations,
        and_(operations.c.tenant_id == effects.c.tenant_id, operations.c.operation_id == effects.c.operation_id),
    )
    .join(runs, and_(runs.c.tenant_id == operations.c.tenant_id, runs.c.run_id == operations.c.run_id))
    .where(effects.c.tenant_id == param("tenant"), effects.c.status.in_(["dispatched", "unknown"]))
    .order_by(effects.c.claimed_at)
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """One effect whose outcome nobody has recorded. `since` is its last claim, in milliseconds since 1970 UTC."""

    operation: Operation
    run: Run
    since: int
    calls: int
    lookups: int


def in_doubt(connection: Connection, tenant: str) -> list[Doubt]:
    """The oldest first; also those that a driver is working on at this moment."""
    return [
        Doubt(
            operation_of(part_of(row, "operation_")),
            run_of(part_of(row, "run_")),
            row["claimed_at"],
            row["tried_call"],
            row["tried_lookup"],
        )
        for row in connection.all(_IN_DOUBT, {"tenant": tenant})
    ]
