"""The business store: the built-in target of effects, in a database of its own.

It is the judge of "has it happened?" for what lives in it, and enforces its own promises, whoever calls:

B1  `create` writes the key and the row in one transaction: there is one object per key, and never a key without one.
B2  Inside that transaction it checks the live grant and the resource version.
B3  The same key with the same digest answers the first object; with another digest it is refused.
B4  `lookup` by key is authoritative: what it does not find has not been committed.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import delete, or_, select
from sqlalchemy.dialects.sqlite import insert as upsert

from state.clock import Clock, Permit, iso
from state.digest import Json
from state.errors import ToolError
from store.business_tables import FIELDS, KINDS, business_metadata, effects, grants, resources, withdrawals
from store.database import Connection, Database, Row, Statement, inserting, param

BUSINESS_HEAD = "0002"

_INSERT = {kind: inserting(table) for kind, table in KINDS.items()}
_READ = {
    kind: Statement(select(table).where(table.c.tenant_id == param("tenant"), table.c.object_id == param("object_id")))
    for kind, table in KINDS.items()
}
_LIST = {
    kind: Statement(
        select(table)
        .where(table.c.tenant_id == param("tenant"), or_(param("by").is_(None), table.c.created_by == param("by")))
        .order_by(table.c.created_at.desc(), table.c.object_id)
        .limit(param("limit"))
    )
    for kind, table in KINDS.items()
}
_WITHDRAWN = Statement(
    select(withdrawals.c.object_id)
    .where(withdrawals.c.tenant_id == param("tenant"), withdrawals.c.ticket == param("ticket"))
    .limit(1)
)
_INSERT_EFFECT = inserting(effects)
_EFFECT = Statement(
    select(effects).where(effects.c.tenant_id == param("tenant"), effects.c.operation_key == param("operation_key"))
)
_HELD = Statement(
    select(grants.c.resource).where(
        grants.c.tenant_id == param("tenant"),
        grants.c.subject == param("subject"),
        grants.c.action == param("action"),
        or_(grants.c.resource == "*", grants.c.resource == param("resource")),
    )
)
_GIVE = inserting(grants, or_ignore=True)
_REVOKE = Statement(
    delete(grants).where(
        grants.c.tenant_id == param("tenant"),
        grants.c.subject == param("subject"),
        grants.c.action == param("action"),
        grants.c.resource == param("resource"),
    )
)
_GRANTS = Statement(
    select(grants)
    .where(grants.c.tenant_id == param("tenant"))
    .order_by(grants.c.subject, grants.c.action, grants.c.resource)
)
_VERSION = Statement(
    select(resources.c.version).where(
        resources.c.tenant_id == param("tenant"), resources.c.resource == param("resource")
    )
)
_RAISE = Statement(
    upsert(resources)
    .values(tenant_id=param("tenant"), resource=param("resource"), version=1)
    .on_conflict_do_update(index_elements=["tenant_id", "resource"], set_={"version": resources.c.version + 1})
)


@dataclass(frozen=True, slots=True)
class Write:
    """One object to create. `resource_version` is the one that was approved; None checks nothing.

    After its `permit` the write must not happen any more: a process that was frozen since its claim may find that
    others have looked the outcome up meanwhile.
    """

    kind: str
    key: str
    digest: str
    fields: Json
    principal: str
    resource: str | None
    resource_version: int | None
    permit: Permit | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """An effect that has happened: the object it made and the digest it was made with."""

    object_id: str
    digest: str


class BusinessStore:
    """One tenant's view of a business database. Safe to use from several threads."""

    def __init__(self, database: Database, clock: Clock, tenant: str = "local") -> None:
        self.database = database
        self.tenant = tenant
        self._clock = clock

    @staticmethod
    def database_at(path: Path) -> Database:
        """Open (or make) a business file; raises the errors of `Database`."""
        return Database(path, business_metadata, BUSINESS_HEAD)

    def create(self, write: Write) -> Found:
        """Make the object, or answer the one made under this key before (B1-B3).

        Raises ToolError: `key_conflict` for another digest, `not_permitted` without a grant, `resource_changed` when
        the resource has another version, `transient` when the permit is over. After any of them nothing was written.
        """
        with self.database.write() as connection:
            now = self._clock.now()
            known = connection.one(_EFFECT, self._key(operation_key=write.key))
            if known is not None:
                return self._same(known, write)
            if write.permit is not None and write.permit.is_over(self._clock):
                raise ToolError("transient", "The permit of this call has run out; nothing was written.")
            self._check_grant(connection, write)
            self._check_version(connection, write)
            object_id = f"{write.kind}_{uuid.uuid4().hex[:12]}"
            row = {"tenant_id": self.tenant, "object_id": object_id, "created_by": write.principal}
            connection.execute(_INSERT[write.kind], {**row, **write.fields, "created_at": now})
            effect = {
                "operation_key": write.key,
                "digest": write.digest,
                "kind": write.kind,
                "object_id": object_id,
                "principal": write.principal,
                "committed_at": now,
            }
            connection.execute(_INSERT_EFFECT, {"tenant_id": self.tenant, **effect})
            if write.resource is not None:
                connection.execute(_RAISE, self._key(resource=write.resource))
            return Found(object_id, write.digest)

    def _same(self, known: Row, write: Write) -> Found:
        if known["digest"] != write.digest:
            raise ToolError(
                "key_conflict",
                f"The key {write.key!r} stands for {known['object_id']}, which was made with other arguments.",
            )
        return Found(known["object_id"], known["digest"])

    def _check_grant(self, connection: Connection, write: Write) -> None:
        held = connection.one(
            _HELD,
            self._key(subject=write.principal, action=f"write:{write.kind}", resource=write.resource or "*"),
        )
        if held is None:
            raise ToolError(
                "not_permitted",
                f"{write.principal} has no grant to write a {write.kind} for {write.resource or '*'}.",
            )

    def _check_version(self, connection: Connection, write: Write) -> None:
        if write.resource is None or write.resource_version is None:
            return
        current = self._version(connection, write.resource)
        if current != write.resource_version:
            raise ToolError(
                "resource_changed",
                f"{write.resource} has version {current} by now; version {write.resource_version} was approved.",
            )

    def lookup(self, key: str) -> Found | None:
        """What was committed under this key, or None if nothing was (B4).

        It takes the write lock: a write that has begun elsewhere, even in a process that is frozen, is waited for.
        """
        with self.database.write() as connection:
            known = connection.one(_EFFECT, self._key(operation_key=key))
        return None if known is None else Found(known["object_id"], known["digest"])

    def read(self, kind: str, object_id: str) -> Json | None:
        """The object's fields as they are now, or None."""
        with self.database.read() as connection:
            row = connection.one(_READ[kind], self._key(object_id=object_id))
        return None if row is None else {name: row[name] for name in FIELDS[kind]}

    def withdrawn(self, ticket: str) -> bool:
        """Has this ticket been taken back?"""
        with self.database.read() as connection:
            return connection.one(_WITHDRAWN, self._key(ticket=ticket)) is not None

    def objects(self, kind: str, limit: int = 1000, by: str | None = None) -> list[Json]:
        """Newest first, with `object_id, created_by, created_at` beside the fields; all, or those created by one."""
        with self.database.read() as connection:
            rows = connection.all(_LIST[kind], self._key(limit=limit, by=by))
        return [
            {"object_id": row["object_id"]}
            | {name: row[name] for name in FIELDS[kind]}
            | {"created_by": row["created_by"], "created_at": iso(row["created_at"])}
            for row in rows
        ]

    def resource_version(self, resource: str) -> int:
        """How many writes were committed for the resource; 0 before the first."""
        with self.database.read() as connection:
            return self._version(connection, resource)

    def _version(self, connection: Connection, resource: str) -> int:
        row = connection.one(_VERSION, self._key(resource=resource))
        return 0 if row is None else row["version"]

    def may(self, subject: str, action: str, resource: str | None) -> str | None:
        """The resource pattern under which the subject holds the grant now (`*` or the resource), or None."""
        with self.database.read() as connection:
            row = connection.one(_HELD, self._key(subject=subject, action=action, resource=resource or "*"))
        return None if row is None else row["resource"]

    def give(self, by: str, subject: str, action: str, resource: str = "*") -> bool:
        """A grant takes effect at the next write; False if it was there."""
        row = {"subject": subject, "action": action, "resource": resource, "granted_by": by}
        with self.database.write() as connection:
            return connection.execute(_GIVE, {"tenant_id": self.tenant, **row, "granted_at": self._clock.now()}) == 1

    def revoke(self, subject: str, action: str, resource: str = "*") -> bool:
        """False if there was no such grant."""
        with self.database.write() as connection:
            return connection.execute(_REVOKE, self._key(subject=subject, action=action, resource=resource)) == 1

    def grants(self) -> list[Json]:
        with self.database.read() as connection:
            rows = connection.all(_GRANTS, self._key())
        return [
            {name: row[name] for name in ("subject", "action", "resource", "granted_by")}
            | {"granted_at": iso(row["granted_at"])}
            for row in rows
        ]

    def _key(self, **more: Any) -> Json:
        return {"tenant": self.tenant, **more}
