"""Faults of the world outside, as wrappers that are handed in: a process that dies, a target that lies or falls silent.

A crash is a `Crash`, which nobody swallows and after which the crashed part answers nothing, or a real SIGKILL.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import MetaData

from store.business import BUSINESS_HEAD, BusinessStore, Found, Write, business_metadata
from store.database import Connection, Database, Row, Statement, Values
from store.ledger import LEDGER_HEAD
from store.tables import metadata

Act = Callable[[], None]


class Crash(BaseException):
    """The process is gone, as far as the code under test can tell."""


def crash() -> None:
    raise Crash


def kill() -> None:
    """A real death: no handler, no `finally`, no flush."""
    os.kill(os.getpid(), signal.SIGKILL)


class CrashingDatabase(Database):
    """Dies at a commit: `before` it (the transaction is lost) or `after` it (it is there). Commits count from 1."""

    dies_at = 0
    when = "after"
    how: Act = staticmethod(crash)
    commits = 0
    dead = False

    def commit(self) -> None:
        if self.dead:
            raise Crash
        self.commits += 1
        if self.commits == self.dies_at and self.when == "before":
            self._die()
        super().commit()
        if self.commits == self.dies_at:
            self._die()

    def _die(self) -> None:
        self.dead = True
        self.how()


def crashing_ledger(dies_at: int, when: str, how: Act = crash) -> Callable[[Path], Database]:
    """A ledger that dies around its n-th commit."""

    def opened(path: Path) -> Database:
        database = CrashingDatabase(path, metadata, LEDGER_HEAD)
        database.commits, database.dies_at, database.when, database.how = 0, dies_at, when, how  # type: ignore[method-assign]
        return database

    return opened


def crashing_business(dies_at: int, when: str, how: Act = crash) -> Callable[[Path], Database]:
    """A business store that dies around its n-th commit."""

    def opened(path: Path) -> Database:
        database = CrashingDatabase(path, business_metadata, BUSINESS_HEAD)
        database.commits, database.dies_at, database.when, database.how = 0, dies_at, when, how  # type: ignore[method-assign]
        return database

    return opened


def waiting_for_the_lock(meanwhile: Act, nth: int) -> Callable[[Path], Database]:
    """A ledger whose n-th transaction has to wait for its lock, while something happens."""

    class Locked(Database):
        opened = 0

        @contextmanager
        def write(self) -> Generator[Connection]:
            with super().write() as connection:
                self.opened += 1
                if self.opened == nth:
                    meanwhile()
                yield connection

    return lambda path: Locked(path, metadata, LEDGER_HEAD)


class Unsound(Database):
    """Counts statements and fails at the n-th one, once, as a lost connection, a full disk or a lock would.

    A commit is two of them: one that was lost on its way, and one that arrived and was not heard of.
    """

    fails_at: int | None = None
    says = "disk I/O error"
    statements = 0

    @contextmanager
    def write(self) -> Generator[Connection]:
        with super().write() as connection:
            yield _Counted(connection, self)

    @contextmanager
    def read(self) -> Generator[Connection]:
        with super().read() as connection:
            yield _Counted(connection, self)

    def commit(self) -> None:
        self.counts()
        super().commit()
        self.counts()

    def counts(self) -> None:
        self.statements += 1
        if self.statements == self.fails_at:
            raise sqlite3.OperationalError(self.says)


class _Counted(Connection):
    """A transaction's connection, statement by statement."""

    def __init__(self, connection: Connection, database: Unsound) -> None:
        self._connection = connection
        self._database = database

    def execute(self, statement: Statement, values: Values) -> int:
        self._database.counts()
        return self._connection.execute(statement, values)

    def execute_many(self, statement: Statement, rows: Sequence[Values]) -> None:
        self._database.counts()
        self._connection.execute_many(statement, rows)

    def all(self, statement: Statement, values: Values) -> list[Row]:
        self._database.counts()
        return self._connection.all(statement, values)


def unsound_ledger(path: Path) -> Unsound:
    """A ledger that fails at one statement, once it is told at which."""
    return Unsound(path, metadata, LEDGER_HEAD)


def unsound_business(path: Path) -> Unsound:
    """A business store that fails at one statement, once it is told at which."""
    return Unsound(path, business_metadata, BUSINESS_HEAD)


class Told(Database):
    """A database whose connection is told something about itself first."""

    def __init__(self, path: Path, tables: MetaData, head: str, *pragmas: str) -> None:
        super().__init__(path, tables, head)
        for each in pragmas:
            self._raw.execute(each)


def roomy_for(pages: int) -> Callable[[Path], Database]:
    """A ledger on a disk that has room for so many pages more."""

    def opened(path: Path) -> Database:
        with closing(sqlite3.connect(path)) as connection:
            (used,) = connection.execute("PRAGMA page_count").fetchone()
        return Told(path, metadata, LEDGER_HEAD, f"PRAGMA max_page_count = {used + pages}")

    return opened


_SHORT = "PRAGMA busy_timeout = 20"


def impatient_ledger(path: Path) -> Database:
    """A ledger that does not wait long for a lock."""
    return Told(path, metadata, LEDGER_HEAD, _SHORT)


def impatient_business(path: Path) -> Database:
    """A business store that does not wait long for a lock."""
    return Told(path, business_metadata, BUSINESS_HEAD, _SHORT)


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Another program holds this database's write lock."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


class LosesTheResponse(BusinessStore):
    """Commits, and then the connection breaks before the answer arrives. Once."""

    lost = False

    def create(self, write: Write) -> Found:
        found = super().create(write)
        if not self.lost:
            self.lost = True
            raise ConnectionError("the connection was lost")
        return found


class NeverArrives(BusinessStore):
    """The first call is lost on its way: the caller cannot tell, and nothing has happened."""

    lost = False

    def create(self, write: Write) -> Found:
        if not self.lost:
            self.lost = True
            raise ConnectionError("the connection was lost")
        return super().create(write)


class CannotBeAsked(LosesTheResponse):
    """Loses the response, and its lookup does not answer while `silent`."""

    silent = True

    def lookup(self, key: str) -> Found | None:
        if self.silent:
            raise TimeoutError("no answer")
        return super().lookup(key)


def does_first(act: Callable[[], object]) -> type[BusinessStore]:
    """A business store in which something happens just before the write's transaction begins. Once."""

    class Interrupted(BusinessStore):
        done = False

        def create(self, write: Write) -> Found:
            if not type(self).done:
                type(self).done = True
                act()
            return super().create(write)

    return Interrupted


def does_before_each(*acts: Callable[[], object]) -> type[BusinessStore]:
    """A business store in which the n-th of these happens just before the n-th write's transaction begins."""
    left = list(acts)

    class Interrupted(BusinessStore):
        def create(self, write: Write) -> Found:
            if left:
                left.pop(0)()
            return super().create(write)

    return Interrupted


def does_afterwards(act: Callable[[], object]) -> type[BusinessStore]:
    """A business store in which something happens just after the write was committed."""

    class Followed(BusinessStore):
        def create(self, write: Write) -> Found:
            found = super().create(write)
            act()
            return found

    return Followed
