"""Faults of the world outside, as wrappers that are handed in: a process that dies, a target that lies or falls silent.

A crash is a `Crash`, which nobody swallows and after which the crashed part answers nothing, or a real SIGKILL.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from store.business import BUSINESS_HEAD, BusinessStore, Found, Write, business_metadata
from store.database import Connection, Database
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


def does_afterwards(act: Callable[[], object]) -> type[BusinessStore]:
    """A business store in which something happens just after the write was committed."""

    class Followed(BusinessStore):
        def create(self, write: Write) -> Found:
            found = super().create(write)
            act()
            return found

    return Followed
