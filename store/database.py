"""One database: opened right, one held connection, statements compiled once, transactions that are whole or nothing.

Ledger and business store are each a `Database` of their own. Statements are declared in SQLAlchemy Core and compiled to
text once; running them on the driver's connection costs a quarter of what building them per call does.
SQLite has one writer at a time, so one connection behind a lock loses nothing within a process.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from sqlalchemy import BindParameter, MetaData, Table, bindparam, insert
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.expression import ClauseElement, Executable

from state.errors import DatabaseTooNew, DatabaseTooOld, DatabaseUnavailable

Row = dict[str, Any]
Values = Mapping[str, Any]

BUSY_TIMEOUT_S = 10.0


def param(name: str) -> BindParameter[Any]:
    """A named value that is given when the statement runs."""
    return bindparam(name, required=False)


class Statement:
    """SQL text with named parameters, made once; constants of the clause are kept beside it.

    `columns` are the names of what it answers, learnt from the first answer: asking the driver each time costs more
    than the rows themselves.
    """

    __slots__ = ("_constants", "columns", "sql")

    def __init__(self, clause: Executable) -> None:
        compiled = cast(ClauseElement, clause).compile(
            dialect=sqlite_dialect(paramstyle="named"), compile_kwargs={"render_postcompile": True}
        )
        self.sql = str(compiled)
        self.columns: tuple[str, ...] = ()
        given = cast(Any, compiled).construct_params(_check=False)
        self._constants = {name: value for name, value in given.items() if value is not None}

    def bind(self, values: Values) -> Values:
        return {**self._constants, **values} if self._constants else values


def inserting(table: Table, *, or_ignore: bool = False) -> Statement:
    """INSERT of all columns that have no value of their own; `or_ignore` keeps the row that is there (ON CONFLICT)."""
    names = [column.name for column in table.columns if column.autoincrement is not True]
    clause = sqlite_insert(table).on_conflict_do_nothing() if or_ignore else insert(table)
    return Statement(clause.values({name: param(name) for name in names}))


def part_of(row: Row, prefix: str) -> Row:
    """The columns of one side of a join, under their own names."""
    return {name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)}


class Connection:
    """What a transaction runs its statements on."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    def execute(self, statement: Statement, values: Values) -> int:
        """Run and answer the number of rows that changed."""
        return self._raw.execute(statement.sql, statement.bind(values)).rowcount

    def execute_many(self, statement: Statement, rows: Sequence[Values]) -> None:
        self._raw.executemany(statement.sql, rows)

    def one(self, statement: Statement, values: Values) -> Row | None:
        rows = self.all(statement, values)
        return rows[0] if rows else None

    def all(self, statement: Statement, values: Values) -> list[Row]:
        cursor = self._raw.execute(statement.sql, statement.bind(values))
        rows = cursor.fetchall()
        if rows and not statement.columns:
            statement.columns = tuple(column[0] for column in cursor.description)
        return [dict(zip(statement.columns, row, strict=True)) for row in rows]


class Database:
    """A SQLite file (WAL, `synchronous=FULL`, BEGIN IMMEDIATE, busy timeout).

    Raises DatabaseUnavailable where the file cannot be opened, read or written, DatabaseTooNew and DatabaseTooOld where
    its version is not the one this program writes.
    """

    def __init__(self, path: Path, metadata: MetaData, head: str) -> None:
        self.path = path
        self._lock = threading.RLock()
        with _explained(path):
            self._raw = _open(path)
            self._connection = Connection(self._raw)
            self._prepare(metadata, head)

    def _prepare(self, metadata: MetaData, head: str) -> None:
        """Make an empty database, or check the version of one that exists."""
        version = self._version()
        if version is None:
            with self.write():
                if self._version() is None:  # another process may have made it in between
                    _create(self._raw, metadata, head)
                version = self._version()
        check_version(self.path, version, head)

    def _version(self) -> str | None:
        tables = self._raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        if not tables:
            return None
        if ("alembic_version",) not in tables:
            raise DatabaseTooOld(f"{self.path} is not one of Remit's databases; give another REMIT_DATA_DIR.")
        row = self._raw.execute("SELECT version_num FROM alembic_version").fetchone()
        return row[0] if row else ""

    @contextmanager
    def write(self) -> Generator[Connection]:
        """One write transaction; everything in it becomes true at once at its end, or nothing does."""
        with self._lock, _explained(self.path):
            self._raw.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self.commit()
            except BaseException:
                if self._raw.in_transaction:
                    self._raw.execute("ROLLBACK")
                raise

    def commit(self) -> None:
        """The instant at which a transaction becomes true."""
        self._raw.execute("COMMIT")

    @contextmanager
    def read(self) -> Generator[Connection]:
        """Reading; sees everything that is committed, and waits for nobody."""
        with self._lock, _explained(self.path):
            yield self._connection

    def close(self) -> None:
        with self._lock:
            self._raw.close()


def check_version(path: Path, version: str | None, head: str) -> None:
    """Refuse a database of another version. Versions are four digits that only grow."""
    if version == head:
        return
    if version is not None and version > head:
        raise DatabaseTooNew(
            f"{path} was written by a newer Remit (version {version}, this one knows {head})."
            " Install that version again; nothing was changed."
        )
    raise DatabaseTooOld(f"{path} has version {version or 'none'}, this Remit needs {head}: run `remit db upgrade`.")


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute("PRAGMA foreign_keys = ON")
    return raw


def _create(raw: sqlite3.Connection, metadata: MetaData, head: str) -> None:
    dialect = sqlite_dialect()
    for table in metadata.sorted_tables:
        raw.execute(str(CreateTable(table).compile(dialect=dialect)))
        for index in sorted(table.indexes, key=lambda each: str(each.name)):
            raw.execute(str(CreateIndex(index).compile(dialect=dialect)))
    raw.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    raw.execute("INSERT INTO alembic_version VALUES (?)", (head,))


@contextmanager
def _explained(path: Path) -> Generator[None]:
    """Turn the driver's words about the file as a whole into ours; a broken constraint stays what it is."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.ProgrammingError):
            raise
        raise DatabaseUnavailable(
            f"The database {path} cannot be used: {error}. Check that the folder is writable, the disk has room and no"
            " other program holds it; what was committed before is safe."
        ) from error
    except OSError as error:
        raise DatabaseUnavailable(f"The database {path} cannot be used: {error}.") from error


def encode(value: object) -> str:
    """JSON text for a column."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def decode(text: str | None) -> Any:
    """The value of a JSON column; None stays None."""
    return None if text is None else json.loads(text)
