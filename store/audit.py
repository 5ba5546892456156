"""The tenant's own append-only log."""

from __future__ import annotations

from sqlalchemy import select

from state.actor import Actor
from state.clock import iso
from state.digest import Json
from store.database import Connection, Statement, decode, encode, inserting, param
from store.tables import audit

_APPEND = inserting(audit)
_READ = Statement(
    select(audit)
    .where(audit.c.tenant_id == param("tenant"), audit.c.entry > param("after"))
    .order_by(audit.c.entry)
    .limit(param("limit"))
)


def append(
    connection: Connection,
    tenant: str,
    now: int,
    actor: Actor,
    action: str,
    object_: str,
    result: str,
    *,
    rule: str | None = None,
    detail: Json | None = None,
) -> None:
    """Who did what, on which object, with what result, by which rule, when."""
    connection.execute(
        _APPEND,
        {
            "tenant_id": tenant,
            "at": now,
            "actor": actor.subject,
            "via": actor.via,
            "action": action,
            "object": object_,
            "result": result,
            "rule": rule,
            "detail": encode(detail or {}),
        },
    )


def entries(connection: Connection, tenant: str, after: int, limit: int) -> list[Json]:
    """Audit entries after a number, oldest first, as JSON objects with `at` in ISO."""
    rows = connection.all(_READ, {"tenant": tenant, "after": after, "limit": limit})
    return [
        {key: row[key] for key in ("entry", "actor", "via", "action", "object", "result", "rule")}
        | {"at": iso(row["at"]), "detail": decode(row["detail"])}
        for row in rows
    ]
