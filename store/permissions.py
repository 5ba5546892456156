"""Rows that say who may do what: permissions, roles, and stops. Each takes effect at the next check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, delete, literal, or_, select, union_all

from state.clock import iso
from state.digest import Json
from store.database import Connection, Statement, inserting, param
from store.tables import permissions, role_members, stops

_GIVE = inserting(permissions, or_ignore=True)
_JOIN = inserting(role_members, or_ignore=True)
_STOP = inserting(stops, or_ignore=True)

_SUBJECTS = and_(permissions.c.tenant_id == param("tenant"), permissions.c.subject == param("subject"))
_ROW = and_(_SUBJECTS, permissions.c.action == param("action"), permissions.c.resource == param("resource"))
_MEMBER = and_(role_members.c.tenant_id == param("tenant"), role_members.c.subject == param("subject"))
_STOPPED = and_(stops.c.tenant_id == param("tenant"), stops.c.kind == param("kind"), stops.c.name == param("name"))
_REVOKE = Statement(delete(permissions).where(_ROW))
_LEAVE = Statement(delete(role_members).where(_MEMBER, role_members.c.role == param("role")))
_LET_GO_ON = Statement(delete(stops).where(_STOPPED))
_LIST = Statement(
    select(permissions)
    .where(permissions.c.tenant_id == param("tenant"))
    .order_by(permissions.c.subject, permissions.c.action, permissions.c.resource)
)
_MEMBERS = Statement(
    select(role_members)
    .where(role_members.c.tenant_id == param("tenant"))
    .order_by(role_members.c.subject, role_members.c.role)
)
_STOPS = Statement(
    select(stops).where(stops.c.tenant_id == param("tenant")).order_by(stops.c.made_at, stops.c.kind, stops.c.name)
)
_HELD = Statement(
    union_all(
        select(permissions.c.action.label("kind"), permissions.c.resource.label("name")).where(
            _SUBJECTS, or_(permissions.c.resource == "*", permissions.c.resource == param("resource"))
        ),
        select(literal("role:").label("kind"), role_members.c.role.label("name")).where(_MEMBER),
        select((literal("stop:") + stops.c.kind).label("kind"), stops.c.name.label("name")).where(
            stops.c.tenant_id == param("tenant")
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Held:
    """What holds at this moment: the subject's roles, the pattern of each action's row, and the stops of the tenant.

    `rows` are by action, each `*` or the resource itself; `stops` are pairs of kind and name.
    """

    rows: dict[str, str]
    roles: tuple[str, ...]
    stops: frozenset[tuple[str, str]]


def held(connection: Connection, tenant: str, subject: str, resource: str) -> Held:
    """Everything that a ruling about this subject and this resource depends on, by one statement."""
    rows: dict[str, str] = {}
    roles: list[str] = []
    stopped: set[tuple[str, str]] = set()
    for row in connection.all(_HELD, {"tenant": tenant, "subject": subject, "resource": resource}):
        kind, name = row["kind"], row["name"]
        if kind == "role:":
            roles.append(name)
        elif kind.startswith("stop:"):
            stopped.add((kind.removeprefix("stop:"), name))
        elif rows.get(kind) != "*":
            rows[kind] = name
    return Held(rows, tuple(sorted(roles)), frozenset(stopped))


# --- permissions ----------------------------------------------------------------------------------------------


def give(connection: Connection, tenant: str, now: int, by: str, subject: str, action: str, resource: str) -> bool:
    """False if the row was there."""
    row = {"subject": subject, "action": action, "resource": resource, "granted_by": by, "granted_at": now}
    return connection.execute(_GIVE, {"tenant_id": tenant, **row}) == 1


def revoke(connection: Connection, tenant: str, subject: str, action: str, resource: str) -> bool:
    """False if there was no such row."""
    values = {"tenant": tenant, "subject": subject, "action": action, "resource": resource}
    return connection.execute(_REVOKE, values) == 1


def permission_rows(connection: Connection, tenant: str) -> list[Json]:
    """Each with `subject, action, resource, granted_by, granted_at` (ISO)."""
    names = ("subject", "action", "resource", "granted_by")
    return [
        {key: row[key] for key in names} | {"granted_at": iso(row["granted_at"])}
        for row in connection.all(_LIST, {"tenant": tenant})
    ]


# --- roles ----------------------------------------------------------------------------------------------------


def join(connection: Connection, tenant: str, now: int, by: str, subject: str, role: str) -> bool:
    """False if the subject had the role."""
    row = {"tenant_id": tenant, "subject": subject, "role": role, "granted_by": by, "granted_at": now}
    return connection.execute(_JOIN, row) == 1


def leave(connection: Connection, tenant: str, subject: str, role: str) -> bool:
    """False if the subject did not have the role."""
    return connection.execute(_LEAVE, {"tenant": tenant, "subject": subject, "role": role}) == 1


def members(connection: Connection, tenant: str) -> list[Json]:
    """Each with `subject, role, granted_by, granted_at` (ISO)."""
    return [
        {key: row[key] for key in ("subject", "role", "granted_by")} | {"granted_at": iso(row["granted_at"])}
        for row in connection.all(_MEMBERS, {"tenant": tenant})
    ]


# --- stops ----------------------------------------------------------------------------------------------------


def stop(connection: Connection, tenant: str, now: int, by: str, kind: str, name: str, why: str) -> bool:
    """Nothing more with this tool, this agent, or (name `*`) at all. False if it was stopped before."""
    row = {"tenant_id": tenant, "kind": kind, "name": name, "why": why, "made_by": by, "made_at": now}
    return connection.execute(_STOP, row) == 1


def let_go_on(connection: Connection, tenant: str, kind: str, name: str) -> bool:
    """False if it was not stopped."""
    return connection.execute(_LET_GO_ON, {"tenant": tenant, "kind": kind, "name": name}) == 1


def stops_in_force(connection: Connection, tenant: str) -> Sequence[Json]:
    """Each with `kind, name, why, made_by, made_at` (ISO), the oldest first."""
    return [
        {key: row[key] for key in ("kind", "name", "why", "made_by")} | {"made_at": iso(row["made_at"])}
        for row in connection.all(_STOPS, {"tenant": tenant})
    ]
