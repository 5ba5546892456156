"""The business store's tables: what can be written, who may write it, and which key made it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, MetaData, PrimaryKeyConstraint, Table, Text

business_metadata = MetaData()


def _table(name: str, key: tuple[str, ...], *columns: str, **numbers: Any) -> Table:
    return Table(
        name,
        business_metadata,
        Column("tenant_id", Text, nullable=False),
        *[Column(column, Text, nullable=False) for column in columns],
        *[Column(column, BigInteger, nullable=False) for column in numbers.get("numbers", ())],
        PrimaryKeyConstraint("tenant_id", *key),
        *numbers.get("constraints", ()),
    )


tickets = _table(
    "tickets",
    ("object_id",),
    *("object_id", "source", "source_sha256", "record", "field", "observed", "recorded", "created_by"),
    numbers=("created_at",),
)
withdrawals = _table(
    "withdrawals", ("object_id",), "object_id", "ticket", "reason", "created_by", numbers=("created_at",)
)
notes = _table("notes", ("object_id",), "object_id", "subject", "text", "created_by", numbers=("created_at",))
grants = _table(
    "grants",
    ("subject", "action", "resource"),
    "subject",
    "action",
    "resource",
    "granted_by",
    numbers=("granted_at",),
)
resources = _table("resources", ("resource",), "resource", numbers=("version",))
effects = _table(
    "effects",
    ("operation_key",),
    "operation_key",
    "digest",
    "kind",
    "object_id",
    "principal",
    numbers=("committed_at",),
)

KINDS: dict[str, Table] = {"ticket": tickets, "note": notes, "withdrawal": withdrawals}
FIELDS: dict[str, tuple[str, ...]] = {
    "ticket": ("source", "source_sha256", "record", "field", "observed", "recorded"),
    "note": ("subject", "text"),
    "withdrawal": ("ticket", "reason"),
}
