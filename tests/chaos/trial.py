"""One story from its beginning to its end, with the deaths it is told to die, and the verdict on what it left."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.chaos import invariants
from tests.chaos.forks import Gone, forked
from tests.chaos.story import LOG, Case, Report, prepare, process
from tests.support.boundaries import Boundary
from tests.support.faults import Act, Crash, crash, kill

MOST_PROCESSES = 40

Run = Callable[[Case, Path, int, Sequence[Boundary]], Gone]


@dataclass(slots=True)
class Verdict:
    """The boundaries that were reached, in order, how often it died, and everything that was not right."""

    boundaries: list[Boundary] = field(default_factory=list[Boundary])
    died: int = 0
    problems: list[str] = field(default_factory=list[str])


def in_a_child(case: Case, folder: Path, number: int, deaths: Sequence[Boundary]) -> Gone:
    """A process that dies by a real SIGKILL."""
    return forked(lambda: asdict(_seen_to_its_end(case, folder, number, deaths, kill)))


def in_this_process(case: Case, folder: Path, number: int, deaths: Sequence[Boundary]) -> Gone:
    """A process that dies by a `Crash`, within this one."""
    try:
        return Gone(said=asdict(_seen_to_its_end(case, folder, number, deaths, crash)))
    except Crash:
        return Gone(signal=signal.SIGKILL)


def _seen_to_its_end(case: Case, folder: Path, number: int, deaths: Sequence[Boundary], how: Act) -> Report:
    """The process, and after the story's last one a look at everything that is there, opened anew."""
    report = process(case, folder, number, deaths, how)
    if report.over:
        report.problems += invariants.problems(case, folder)
    return report


def begin(case: Case, folder: Path) -> list[str]:
    """What the story begins with, made in a process of its own; and what was not right with that."""
    gone = forked(lambda: prepare(case, folder))
    return [f"cannot begin: {gone.error or gone.signal}"] if gone.error or gone.signal else []


def tell(
    case: Case,
    folder: Path,
    deaths: Sequence[Boundary] = (),
    run: Run = in_a_child,
    first: int = 1,
    keep: Path | None = None,
) -> Verdict:
    """Go on with the story that is in this folder until it is over, beginning with its process `first`.

    What is there before each process is kept under its number, if there is somewhere to keep it.
    """
    verdict = Verdict()
    for number in range(first, MOST_PROCESSES + 1):
        if keep is not None:
            shutil.copytree(folder, keep / str(number))
        gone = run(case, folder, number, deaths)
        if gone.killed:
            verdict.died += 1
            continue
        if gone.said is None:
            verdict.problems.append(f"process {number}: {gone.error or f'killed by signal {gone.signal}'}")
            break
        verdict.problems += gone.said["problems"]
        if gone.said["over"]:
            break
    else:
        verdict.problems.append("the story does not come to its end")
    if verdict.died != len(deaths):
        verdict.problems.append(f"died {verdict.died} times instead of {len(deaths)}")
    verdict.boundaries = [Boundary.read(line) for line in (folder / LOG).read_text().splitlines()]
    return verdict


def told(case: Case, folder: Path) -> Verdict:
    """The whole story within this process; nothing dies, and what is there before each of its processes is kept."""
    prepare(case, folder / "told")
    return tell(case, folder / "told", run=in_this_process, keep=folder / "kept")


def again(folder: Path, first: Boundary) -> Path:
    """Of a story that was `told`: a copy of what is there before the process in which this boundary lies."""
    shutil.rmtree(folder / "again", ignore_errors=True)
    return shutil.copytree(folder / "kept" / str(first.process), folder / "again")
