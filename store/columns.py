"""How columns and CHECKs are written, the same for every table of the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKeyConstraint, MetaData, Text
from sqlalchemy import text as sql

from state.run import REASONS

metadata = MetaData()


def text(name: str, *, null: bool = False, default: str | None = None) -> Column[Any]:
    return Column(name, Text, nullable=null, server_default=default)


def number(name: str, *, null: bool = False, default: str | None = None) -> Column[Any]:
    return Column(name, BigInteger, nullable=null, server_default=default)


def one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def reasons() -> CheckConstraint:
    """A reason is always set where a status has reasons, and never where it has none (spec: run statuses)."""
    cases: list[str] = []
    for status, reasons in REASONS.items():
        listed = ", ".join(f"'{reason}'" for reason in sorted(reasons))
        # A CHECK that comes out as NULL passes, hence IS NOT NULL.
        test = f"reason IS NOT NULL AND reason IN ({listed})" if reasons else "reason IS NULL"
        cases.append(f"(status = '{status}' AND {test})")
    return CheckConstraint(" OR ".join(cases), name="status_has_its_reason")


def of_run(*more: ForeignKeyConstraint) -> tuple[ForeignKeyConstraint, ...]:
    return (ForeignKeyConstraint(["tenant_id", "run_id"], ["runs.tenant_id", "runs.run_id"]), *more)


def where(condition: str) -> dict[str, Any]:
    """Options of an index over part of a table, the same on SQLite and PostgreSQL."""
    return {"sqlite_where": sql(condition), "postgresql_where": sql(condition)}
