"""Reading timelines."""

from __future__ import annotations

from sqlalchemy import select

from state.digest import Json
from state.events import FIRST_HASH, event_hash, public_event
from store.database import Connection, Row, Statement, decode, param
from store.tables import events

_PAGE = Statement(
    select(events)
    .where(
        events.c.tenant_id == param("tenant"),
        events.c.run_id == param("run"),
        events.c.seq > param("after"),
    )
    .order_by(events.c.seq)
    .limit(param("limit"))
)


def page(connection: Connection, tenant: str, run_id: str, after: int, limit: int) -> list[Json]:
    """Events with `seq > after`, ascending and gap-free, as people and programs see them."""
    return [public_event(row) for row in _rows(connection, tenant, run_id, after, limit)]


def first_broken(connection: Connection, tenant: str, run_id: str) -> int | None:
    """The first `seq` at which numbering or hash chain does not hold, or None if the timeline is whole."""
    previous = FIRST_HASH
    for expected, row in enumerate(_rows(connection, tenant, run_id, 0, 1_000_000), start=1):
        hashed = ("run_id", "seq", "event_id", "type", "at", "actor", "payload")
        previous = event_hash(previous, {name: row[name] for name in hashed})
        if row["seq"] != expected or row["hash"] != previous:
            return expected
    return None


def _rows(connection: Connection, tenant: str, run_id: str, after: int, limit: int) -> list[Row]:
    values = {"tenant": tenant, "run": run_id, "after": after, "limit": limit}
    return [{**row, "payload": decode(row["payload"])} for row in connection.all(_PAGE, values)]
