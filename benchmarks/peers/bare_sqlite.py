"""The limit of B3: as many SQLite transactions as Remit makes in W1, each with as many writes of as many bytes.

What Remit writes is not assumed but recorded: `Traced` listens to a run's statements, and `Bare` repeats their number,
kind and length on two plain tables, with the same settings of WAL and `synchronous`.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from store.database import Database

_TABLES = (
    "CREATE TABLE rows (id TEXT PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE facts (id TEXT, number INTEGER, body TEXT NOT NULL, PRIMARY KEY (id, number))",
)
_INSERT = "INSERT INTO facts VALUES (?, ?, ?)"
_UPDATE = "UPDATE rows SET body = ? WHERE id = 'one'"


class Traced(Database):
    """A database that notes every statement it runs, with its values."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.statements: list[str] = []

    def listen(self) -> None:
        self._raw.set_trace_callback(self.statements.append)


@dataclass(frozen=True, slots=True)
class Transaction:
    """One write transaction: how long each of its inserted and updated rows is, as SQL writes its values."""

    inserts: list[int] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)


def transactions(statements: Sequence[str]) -> list[Transaction]:
    """The committed write transactions in a trace."""
    found: list[Transaction] = []
    current = Transaction()
    for statement in statements:
        if statement.startswith("BEGIN"):
            current = Transaction()
        elif statement.startswith("COMMIT"):
            found.append(current)
        elif statement.startswith("INSERT"):
            current.inserts.append(len(statement.partition("VALUES (")[2]))
        elif statement.startswith("UPDATE"):
            current.updates.append(len(statement))
    return found


class Bare:
    """The same transactions on plain tables, without anything around them."""

    def __init__(self, path: Path, work: Sequence[Transaction], synchronous: str = "FULL") -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(f"PRAGMA synchronous = {synchronous}")
        for table in _TABLES:
            self._connection.execute(table)
        self._connection.execute("INSERT INTO rows VALUES ('one', '')")
        self._work = [(["x" * size for size in each.inserts], ["x" * size for size in each.updates]) for each in work]
        self._numbers = itertools.count(1)

    def run(self) -> None:
        """All of it once."""
        execute = self._connection.execute
        for inserts, updates in self._work:
            execute("BEGIN IMMEDIATE")
            for body in updates:
                execute(_UPDATE, (body,))
            for body in inserts:
                execute(_INSERT, ("run", next(self._numbers), body))
            execute("COMMIT")

    def close(self) -> None:
        self._connection.close()
