"""The boundaries of a process: before and after each commit, each call at the target and each checkpoint write.

Wrappers that are handed in count them, and a process dies at the one it is told to: by a real SIGKILL, or as a `Crash`.
What SQLite itself commits is listened to as well, so a commit that no wrapper counted is found out.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from langgraph.checkpoint.sqlite import SqliteSaver

from graphs.checkpointers import sqlite_saver
from store.business import BUSINESS_HEAD, BusinessStore, Found, Write, business_metadata
from store.database import Database
from store.ledger import LEDGER_HEAD
from store.tables import metadata
from tests.support.faults import Act, Crash, kill
from tests.support.target import SendLetter
from tools.contract import Call, Receipt, Tool

_NAME = re.compile(r"(\d+)\.(ledger|business|effect|put|writes)\.(\d+)\.(before|after)")
_FIRST_WORD = re.compile(r"\s*(\w+)")
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "DROP"})


@dataclass(frozen=True, slots=True)
class Boundary:
    """The side `when` of the n-th event of one source in one process of a story; written `2.ledger.3.after`."""

    process: int
    source: str
    nth: int
    when: str

    def __str__(self) -> str:
        return f"{self.process}.{self.source}.{self.nth}.{self.when}"

    @staticmethod
    def read(name: str) -> Boundary:
        """Raises ValueError for anything that is no boundary's name."""
        found = _NAME.fullmatch(name)
        if found is None:
            raise ValueError(f"{name!r} is no boundary; write it like 2.ledger.3.after")
        return Boundary(int(found[1]), found[2], int(found[3]), found[4])


class Boundaries:
    """Those of one process. Each is written down in `log` before anything happens at it, so it outlives the death."""

    def __init__(self, process: int, log: Path, deaths: Collection[Boundary] = (), how: Act = kill) -> None:
        self.unnumbered: list[str] = []
        self._process = process
        self._deaths = frozenset(deaths)
        self._how = how
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._counted: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._dead = False
        self._here = threading.local()

    @contextmanager
    def around(self, source: str, commits: str | None = None) -> Generator[None]:
        """One event of this source; on the connection `commits`, one commit belongs to it."""
        with self._lock:
            self._counted[source] += 1
            nth = self._counted[source]
        self._reach(Boundary(self._process, source, nth, "before"))
        self._here.expected = commits
        try:
            yield
        except Exception:
            self._reach(Boundary(self._process, source, nth, "after"))
            raise
        finally:
            self._here.expected = None
        self._reach(Boundary(self._process, source, nth, "after"))

    def _reach(self, boundary: Boundary) -> None:
        if self._dead:
            raise Crash
        os.write(self._log, f"{boundary}\n".encode())
        if boundary in self._deaths:
            self._dead = True
            self._how()

    def listen(self, raw: Any, connection: str) -> None:
        """Hear of every statement that SQLite runs on a connection."""
        raw.set_trace_callback(Listener(self, connection))

    def committed(self, connection: str, sql: str) -> None:
        """SQLite commits: it must be inside an event that commits on this connection, and the only time."""
        if getattr(self._here, "expected", None) == connection:
            self._here.expected = None
        else:
            self.unnumbered.append(f"{connection}: {' '.join(sql.split())[:80]}")

    def close(self) -> None:
        os.close(self._log)


class Listener:
    """Knows from the statements alone when SQLite commits: at COMMIT, and at a write outside any transaction."""

    def __init__(self, boundaries: Boundaries, connection: str) -> None:
        self._boundaries = boundaries
        self._connection = connection
        self._inside = False

    def __call__(self, sql: str) -> None:
        found = _FIRST_WORD.match(sql)
        word = found[1].upper() if found else ""
        if word == "BEGIN":
            self._inside = True
        elif word in {"COMMIT", "END"} or (word in _WRITES and not self._inside):
            self._inside = False
            self._boundaries.committed(self._connection, sql)
        elif word == "ROLLBACK":
            self._inside = False


class NumberedDatabase(Database):
    """Its commits are boundaries, also those with which an empty file is made into a database."""

    boundaries: ClassVar[Boundaries]
    source: ClassVar[str]

    def commit(self) -> None:
        with self.boundaries.around(self.source, commits=self.source):
            super().commit()


def raw_connection(database: Database) -> Any:
    """The driver's connection, which only a listener needs."""
    return database._raw


def _numbered(boundaries: Boundaries, source: str, tables: Any, head: str) -> Callable[[Path], Database]:
    made = type("Numbered", (NumberedDatabase,), {"boundaries": boundaries, "source": source})

    def opened(path: Path) -> Database:
        database = made(path, tables, head)
        boundaries.listen(raw_connection(database), source)
        return database

    return opened


def numbered_ledger(boundaries: Boundaries) -> Callable[[Path], Database]:
    """A ledger whose commits are boundaries."""
    return _numbered(boundaries, "ledger", metadata, LEDGER_HEAD)


def numbered_business(boundaries: Boundaries) -> Callable[[Path], Database]:
    """A business store whose commits are boundaries."""
    return _numbered(boundaries, "business", business_metadata, BUSINESS_HEAD)


def numbered_target(business: type[BusinessStore], boundaries: Boundaries) -> type[BusinessStore]:
    """The target, each call to which is an effect with its two boundaries."""

    class Numbered(business):
        def create(self, write: Write) -> Found:
            with boundaries.around("effect"):
                return super().create(write)

    return Numbered


def numbered_tools(tools: Callable[..., Iterable[Tool]], boundaries: Boundaries) -> Callable[..., list[Tool]]:
    """The tools, each call of which to a box outside is an effect with its two boundaries."""

    def numbered(tool: Tool) -> Tool:
        if not isinstance(tool, SendLetter):
            return tool

        def act(self: SendLetter, call: Call) -> Receipt:
            with boundaries.around("effect"):
                return self.box.arrive(call)

        return type("Numbered", (type(tool),), {"act": act})()

    return lambda *stores: [numbered(each) for each in tools(*stores)]


class NumberedSaver(SqliteSaver):
    """A checkpointer whose writes are boundaries."""

    boundaries: Boundaries

    def put(self, *given: Any, **more: Any) -> Any:
        with self.boundaries.around("put", commits="checkpoints"):
            return super().put(*given, **more)

    def put_writes(self, *given: Any, **more: Any) -> None:
        with self.boundaries.around("writes", commits="checkpoints"):
            super().put_writes(*given, **more)


def numbered_saver(path: Path, boundaries: Boundaries) -> Callable[[], AbstractContextManager[SqliteSaver]]:
    """Opens the ordinary checkpointer on this file, with its writes numbered."""

    @contextmanager
    def opened() -> Generator[SqliteSaver]:
        with sqlite_saver(path) as ordinary:
            saver = NumberedSaver(ordinary.conn, serde=ordinary.serde)
            saver.boundaries = boundaries
            saver.setup()
            boundaries.listen(saver.conn, "checkpoints")
            yield saver

    return opened
