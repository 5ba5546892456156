"""Several processes on one thread: a task runs up to its next transaction, and goes on when it is told to.

A task stops only where it holds no lock: before a transaction or a read begins, and where a target says so. What
it has read by then may be stale when it goes on, as in a process that the operating system froze. Which task runs when
is said by the test alone, so the same words give the same schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from greenlet import getcurrent, greenlet
from sqlalchemy import MetaData
from sqlalchemy import text as sql

from state.errors import RemitError
from store.database import Connection, Database, Statement
from tests.support.faults import Crash

MOST_BOUNDARIES = 3000  # a drive takes some dozens
START = 1_800_000_000_000


class TwoClocks:
    """The wall clock may jump either way; the other one only goes on."""

    def __init__(self) -> None:
        self._wall = START
        self._steady = 0

    def now(self) -> int:
        return self._wall

    def monotonic(self) -> int:
        return self._steady

    def wait(self, ms: int, until: Any) -> None:
        boundary()
        if not until.is_set():
            self.passes(ms / 1000)

    def passes(self, seconds: float) -> None:
        self._wall += int(seconds * 1000)
        self._steady += int(seconds * 1000)

    def jumps(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self._wall += int(seconds * 1000)


class Task(greenlet):
    """One thing that a process does; `error` is what it ended with. Dead, it touches nothing any more."""

    def __init__(self, name: str, work: Callable[[], Any]) -> None:
        super().__init__(self._live)
        self.name = name
        self.error: BaseException | None = None
        self.answer: Any = None
        self.deaths: str | None = None  # before or after its next commit
        self.depth = 0
        self._gone = False
        self._work = work
        self._left: int | None = None
        self._passed = 0

    def _live(self) -> None:
        try:
            self.answer = self._work()
        except (Crash, RemitError, Exception) as error:
            self.error = error

    @property
    def over(self) -> bool:
        return self.dead

    def goes_on(self, over: int | None = None) -> None:
        """Over so many boundaries, or to its end."""
        if not self.over:
            self._left = over
            self.switch()

    def dies(self, when: str = "here") -> None:
        """Where it stands now, or `before` or `after` its next commit."""
        if self.over:
            return
        if when == "here":
            self._gone = True
            if self:
                self.throw(Crash)
            else:
                self._work = _crash
                self.switch()
        else:
            self.deaths = when
            self.goes_on()

    def boundary(self) -> None:
        if self._gone:
            raise Crash
        if self.depth:
            return
        self._passed += 1
        if self._passed > MOST_BOUNDARIES:
            raise RuntimeError(f"{self.name} does not come to an end")
        if self._left is None:
            return
        self._left -= 1
        if self._left < 0:
            assert self.parent is not None
            self.parent.switch()

    def commits(self, commit: Callable[[], None]) -> None:
        if self._gone or self.deaths == "before":
            self._gone = True
            raise Crash
        commit()
        if self.deaths == "after":
            self._gone = True
            raise Crash


# A process dies here, never the machine: waiting for the disk would only take time.
_NO_SYNC = Statement(sql("PRAGMA synchronous = OFF"))


def _crash() -> None:
    raise Crash


def current() -> Task | None:
    """The task that runs now; None for the test itself."""
    here = getcurrent()
    return here if isinstance(here, Task) else None


def boundary() -> None:
    """The current task may stand still here, for as long as the test likes."""
    task = current()
    if task is not None:
        task.boundary()


@contextmanager
def _entered() -> Generator[None]:
    task = current()
    if task is None:
        yield
        return
    task.boundary()
    task.depth += 1
    try:
        yield
    finally:
        task.depth -= 1


class StagedDatabase(Database):
    """Stops tasks before each transaction, and tells after each commit."""

    committed: Callable[[], None] = staticmethod(lambda: None)

    @contextmanager
    def write(self) -> Generator[Connection]:
        with _entered(), super().write() as connection:
            yield connection

    @contextmanager
    def read(self) -> Generator[Connection]:
        with _entered(), super().read() as connection:
            yield connection

    def commit(self) -> None:
        task = current()
        if task is None:
            self._commit()
        else:
            task.commits(self._commit)

    def _commit(self) -> None:
        super().commit()
        self.committed()


def staged(metadata: MetaData, head: str, committed: Callable[[], None]) -> Callable[[Path], Database]:
    """Opens a database of this kind; `committed` is called after each commit."""

    def opened(path: Path) -> Database:
        database = StagedDatabase(path, metadata, head)
        database.committed = committed  # type: ignore[method-assign]
        with database.read() as connection:
            connection.execute(_NO_SYNC, {})
        return database

    return opened
