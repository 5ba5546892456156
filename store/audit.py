"""The tenant's own append-only log, and the permission rows it watches over."""

from __future__ import annotations

from sqlalchemy import delete, or_, select

from state.actor import Actor
from state.clock import iso
from state.digest import Json
from store.database import Connection, Statement, decode, encode, inserting, param
from store.tables import audit, permissions

_APPEND = inserting(audit)
_READ = Statement(
    select(audit)
    .where(audit.c.tenant_id == param("tenant"), audit.c.entry > param("after"))
    .order_by(audit.c.entry)
    .limit(param("limit"))
)
_GIVE = inserting(permissions, or_ignore=True)
_REVOKE = Statement(
    delete(permissions).where(
        permissions.c.tenant_id == param("tenant"),
        permissions.c.subject == param("subject"),
        permissions.c.action == param("action"),
        permissions.c.resource == param("resource"),
    )
)
_LIST = Statement(
    select(permissions)
    .where(permissions.c.tenant_id == param("tenant"))
    .order_by(permissions.c.subject, permissions.c.action, permissions.c.resource)
)
_HELD = Statement(
    select(permissions.c.resource).where(
        permissions.c.tenant_id == param("tenant"),
        permissions.c.subject == param("subject"),
        permissions.c.action == param("action"),
        or_(permissions.c.resource == "*", permissions.c.resource == param("resource")),
    )
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


def give(connection: Connection, tenant: str, now: int, by: str, subject: str, action: str, resource: str) -> bool:
    """A permission row takes effect at the next check; False if it was there."""
    row = {"subject": subject, "action": action, "resource": resource, "granted_by": by, "granted_at": now}
    return connection.execute(_GIVE, {"tenant_id": tenant, **row}) == 1


def revoke(connection: Connection, tenant: str, subject: str, action: str, resource: str) -> bool:
    """False if there was no such row."""
    values = {"tenant": tenant, "subject": subject, "action": action, "resource": resource}
    return connection.execute(_REVOKE, values) == 1


def held(connection: Connection, tenant: str, subject: str, action: str, resource: str) -> str | None:
    """The resource pattern (`*` or the resource itself) under which the subject holds the permission now, or None."""
    values = {"tenant": tenant, "subject": subject, "action": action, "resource": resource}
    row = connection.one(_HELD, values)
    return None if row is None else row["resource"]


def permission_rows(connection: Connection, tenant: str) -> list[Json]:
    return [
        {key: row[key] for key in ("subject", "action", "resource", "granted_by")}
        | {"granted_at": iso(row["granted_at"])}
        for row in connection.all(_LIST, {"tenant": tenant})
    ]
