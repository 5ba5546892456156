"""The tickets, what was closed, and every call that came in: one SQLite database that belongs to the service alone."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE IF NOT EXISTS objects (
    n INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, key TEXT, body TEXT NOT NULL, made_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS records (record TEXT PRIMARY KEY, version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS calls (
    n INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT NOT NULL, key TEXT, did TEXT NOT NULL, status INTEGER);
CREATE INDEX IF NOT EXISTS by_key ON objects (kind, key);
"""
PREFIX = {"ticket": "T-", "closure": "C-"}

Object = dict[str, Any]


class Store:
    """Used from one thread. Objects are never changed; a ticket's state follows from its closures."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.executescript(_TABLES)

    # --- objects ----------------------------------------------------------------------------------------------

    def make(self, kind: str, key: str | None, body: Object, record: str | None = None) -> Object:
        """A new object, and the next version of the record it is about, in one transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            row = (kind, key, json.dumps(body), time.time())
            n = self._connection.execute(
                "INSERT INTO objects (kind, key, body, made_at) VALUES (?,?,?,?)", row
            ).lastrowid
            if record:
                raised = "INSERT INTO records VALUES (?, 1) ON CONFLICT (record) DO UPDATE SET version = version + 1"
                self._connection.execute(raised, (record,))
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        return self._shown(self._one("SELECT * FROM objects WHERE n = ?", n))

    def by_key(self, kind: str, key: str) -> list[Object]:
        """Every object made under a key: more than one where keys are not supported."""
        rows = self._connection.execute("SELECT * FROM objects WHERE kind = ? AND key = ? ORDER BY n", (kind, key))
        return [self._shown(row) for row in rows.fetchall()]

    def by_id(self, kind: str, name: str) -> Object | None:
        number = name.removeprefix(PREFIX[kind])
        if not number.isascii() or not number.isdigit():
            return None
        row = self._one("SELECT * FROM objects WHERE kind = ? AND n = ?", kind, int(number))
        return None if row is None else self._shown(row)

    def all(self, kind: str) -> list[Object]:
        rows = self._connection.execute("SELECT * FROM objects WHERE kind = ? ORDER BY n", (kind,)).fetchall()
        return [self._shown(row) for row in rows]

    def version(self, record: str) -> int:
        row = self._one("SELECT version FROM records WHERE record = ?", record)
        return 0 if row is None else row["version"]

    def _shown(self, row: Any) -> Object:
        shown = {"id": f"{PREFIX[row['kind']]}{row['n']}", "key": row["key"], "made_at": row["made_at"]}
        body = json.loads(row["body"])
        if row["kind"] == "ticket":
            closed = any(each["ticket"] == shown["id"] for each in self.all("closure"))
            shown["state"] = "closed" if closed else "open"
        return shown | body

    # --- the log of calls -------------------------------------------------------------------------------------

    def came_in(self, what: str, key: str | None) -> int:
        row = (what, key, "nothing")
        n = self._connection.execute("INSERT INTO calls (what, key, did) VALUES (?,?,?)", row).lastrowid
        return int(n or 0)

    def noted(self, n: int, *, did: str | None = None, status: int | None = None) -> None:
        """What a call did, and with which status it was answered; a call that was cut off has none."""
        if did is not None:
            self._connection.execute("UPDATE calls SET did = ? WHERE n = ?", (did, n))
        if status is not None:
            self._connection.execute("UPDATE calls SET status = ? WHERE n = ?", (status, n))

    def calls(self) -> list[Object]:
        return [dict(row) for row in self._connection.execute("SELECT * FROM calls ORDER BY n").fetchall()]

    def empty(self) -> None:
        for table in ("objects", "records", "calls"):
            self._connection.execute(f"DELETE FROM {table}")

    def _one(self, statement: str, *values: Any) -> Any:
        return self._connection.execute(statement, values).fetchone()
