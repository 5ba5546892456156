"""Looking something up in the audit: by who, what, on what and when, or everything that is about one run."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import ColumnElement, and_, exists, func, or_, select

from state.clock import iso
from state.digest import Json
from store.database import Connection, Row, Statement, decode, encode, param
from store.tables import approvals, audit, operations


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines somebody wants to see; None is any. Times are milliseconds since 1970 UTC, `until` not included.

    An action or an object is meant exactly, or as the first part of its name: `grant` is `grant.give` and
    `grant.revoke`, `run` is every run.
    """

    actor: str | None = None
    action: str | None = None
    object: str | None = None
    since: int | None = None
    until: int | None = None


EVERYTHING = Wanted()


def _named(column: ColumnElement[str], name: str, end: str) -> ColumnElement[bool]:
    """The value itself, or something that begins with it and this sign. Without LIKE, which has signs of its own."""
    beginning = param(name).concat(end)
    return or_(column == param(name), func.substr(column, 1, func.length(beginning)) == beginning)


def _if_given(name: str, holds: ColumnElement[bool]) -> ColumnElement[bool]:
    return or_(param(name).is_(None), holds)


_SEARCH = Statement(
    select(audit)
    .where(
        audit.c.tenant_id == param("tenant"),
        audit.c.entry > param("after"),
        _if_given("actor", audit.c.actor == param("actor")),
        _if_given("action", _named(audit.c.action, "action", ".")),
        _if_given("object", _named(audit.c.object, "object", ":")),
        _if_given("since", audit.c.at >= param("since")),
        _if_given("until", audit.c.at < param("until")),
    )
    .order_by(audit.c.entry)
    .limit(param("limit"))
)
_approval = and_(
    approvals.c.tenant_id == param("tenant"),
    approvals.c.run_id == param("run"),
    audit.c.object == "approval:" + approvals.c.approval_id,
)
_operation = and_(
    operations.c.tenant_id == param("tenant"),
    operations.c.run_id == param("run"),
    audit.c.object == "operation:" + operations.c.operation_id,
)
_ABOUT = Statement(
    select(audit)
    .where(
        audit.c.tenant_id == param("tenant"),
        audit.c.action != "prune",  # whose lines are about many runs
        or_(
            audit.c.object == "run:" + param("run"),
            exists().where(_approval),
            exists().where(_operation),
            func.instr(audit.c.detail, param("run_named")) > 0,
            func.instr(audit.c.detail, param("run_id_named")) > 0,
        ),
    )
    .order_by(audit.c.entry)
)


def search(
    connection: Connection, tenant: str, wanted: Wanted = EVERYTHING, *, after: int = 0, limit: int = 1000
) -> list[Json]:
    """Audit entries after a number, oldest first, as JSON objects with `at` in ISO."""
    rows = connection.all(_SEARCH, {"tenant": tenant, "after": after, "limit": limit, **asdict(wanted)})
    return [_shown(row) | {"at": iso(row["at"])} for row in rows]


def about_run(connection: Connection, tenant: str, run_id: str) -> list[Json]:
    """Every entry about a run, its approvals and its operations, oldest first; `at` in milliseconds since 1970 UTC."""
    named = {"run_named": encode({"run": run_id})[1:-1], "run_id_named": encode({"run_id": run_id})[1:-1]}
    rows = connection.all(_ABOUT, {"tenant": tenant, "run": run_id, **named})
    return [_shown(row) | {"at": row["at"]} for row in rows]


def _shown(row: Row) -> Json:
    names = ("entry", "actor", "via", "action", "object", "result", "rule")
    return {name: row[name] for name in names} | {"detail": decode(row["detail"])}
