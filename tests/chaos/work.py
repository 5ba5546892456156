"""The sweep's work, shared out to processes that fork: count the boundaries of each case, then die at each of them."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

from tests.chaos.forks import forked, ready_to_fork
from tests.chaos.pairs import second_deaths
from tests.chaos.story import Case
from tests.chaos.trial import begin, tell
from tests.support.boundaries import Boundary
from tests.support.world import NO_DATE, NOTICE
from tools.notices import read_effective_date

ALL_PAIRS_S = 600
_IN_MEMORY = Path("/dev/shm")  # a killed process loses nothing that it wrote to a file, wherever the file is


@dataclass(frozen=True, slots=True)
class Death:
    """The story of a counted case dies at its boundary `number`; with `pairs` also once more (see `second_deaths`)."""

    case: Case
    number: int
    first: Boundary
    kept: Path
    pairs: bool = False
    most: int | None = None
    then: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one story. `then` numbers the second death, from the restart on."""

    case: Case
    number: int
    at: str
    then: int | None
    problems: list[str]

    @property
    def replay(self) -> str:
        words = ["python -m tests.chaos.sweep", self.case.scenario, "--engine", self.case.engine]
        if self.case.durability is not None:
            words += ["--durability", self.case.durability]
        words += ["--at", str(self.at or self.number)]
        return " ".join(words if self.then is None else [*words, "--then", str(self.then)])


@dataclass(slots=True)
class Counted:
    """The boundaries of one case, in the order in which its story reaches them.

    Under `kept` is what is there before each of its processes, so that a death costs only what comes after it.
    """

    case: Case
    kept: Path
    boundaries: list[Boundary] = field(default_factory=list[Boundary])
    problems: list[str] = field(default_factory=list[str])

    def deaths(self, **how: Any) -> list[Death]:
        """One at each boundary."""
        numbered = enumerate(self.boundaries, start=1)
        return [Death(self.case, number, boundary, self.kept, **how) for number, boundary in numbered]


def count(counted: Counted) -> Counted:
    """The whole story, in which nothing dies. Its folder stays: a run names what it was given by its place."""
    folder = counted.kept / "told"
    problems = begin(counted.case, folder)
    if problems:
        return replace(counted, problems=problems)
    verdict = tell(counted.case, folder, keep=counted.kept)
    return replace(counted, boundaries=verdict.boundaries, problems=verdict.problems)


def die(death: Death) -> list[Result]:
    """All stories of one first death, from the process on in which it happens."""
    process = death.first.process
    with _folder() as folder:
        shutil.copytree(death.kept / str(process), folder)
        if death.pairs:
            return _die_twice(death, folder)
        problems = tell(death.case, folder, (death.first,), first=process).problems
    return [Result(death.case, death.number, str(death.first), None, problems)]


def _die_twice(death: Death, folder: Path) -> list[Result]:
    case, first = death.case, death.first
    gone = forked(lambda: [asdict(e) for e in second_deaths(case, first, folder, death.most, death.then)], ALL_PAIRS_S)
    if gone.said is None:
        return [Result(case, death.number, str(first), 0, [gone.error or f"killed by signal {gone.signal}"])]
    return [Result(case, death.number, str(first), each["at"], each["problems"]) for each in gone.said]


@contextmanager
def _folder() -> Generator[Path]:
    with kept_folder() as folder:
        yield folder / "world"


@contextmanager
def kept_folder() -> Generator[Path]:
    """A folder for as long as this block runs; in memory where there is such a place."""
    base = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="remit-sweep-", dir=base) as folder:
        yield Path(folder)


@contextmanager
def workers(number: int) -> Generator[Pool]:
    """Processes that have imported everything, opened nothing and started no threads."""
    for notice in (NOTICE, NO_DATE):
        read_effective_date(notice)  # what reading needs is loaded once, not in every child
    with multiprocessing.get_context("fork").Pool(number, initializer=ready_to_fork) as pool:
        yield pool


def shared_out(pool: Pool, work: Callable[[Any], Any], jobs: Sequence[Any], ordered: bool = False) -> Iterable[Any]:
    """The results of all jobs; in any order unless `ordered`."""
    return pool.imap(work, jobs) if ordered else pool.imap_unordered(work, jobs)
