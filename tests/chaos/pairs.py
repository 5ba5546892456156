"""Two deaths in one story: at a boundary, and again at a boundary counted from the restart. Within this process.

What the first death left is kept and copied, so that each second one costs only what comes after it.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.story import Case
from tests.chaos.trial import in_this_process, tell
from tests.support.boundaries import Boundary


@dataclass(frozen=True, slots=True)
class Second:
    """A second death and what was not right after it; `at` is 0 where already the first one is not survived."""

    at: int
    boundary: str
    problems: list[str]


def second_deaths(case: Case, first: Boundary, left: Path, most: int | None, only: int | None = None) -> list[Second]:
    """Die at `first` in the folder `left`, where the story stands before that process; then, from what that left, once
    at each boundary of the rest: at `most` so many of them (a sample that is the same every time), or at number `only`.
    """
    assert in_this_process(case, left, first.process, (first,)).killed, f"{case} does not die at {first}"
    copy, rest = left.with_name("copy"), first.process + 1
    once = tell(case, _copied(left, copy), (), in_this_process, rest)
    found = [Second(0, "", once.problems)] if once.problems else []
    numbered = list(enumerate((each for each in once.boundaries if each.process >= rest), start=1))
    for at, second in _chosen(case, first, numbered, most, only):
        problems = tell(case, _copied(left, copy), (second,), in_this_process, rest).problems
        found.append(Second(at, str(second), problems))
    return found


def _copied(left: Path, copy: Path) -> Path:
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(left, copy)
    return copy


def _chosen(
    case: Case, first: Boundary, numbered: list[tuple[int, Boundary]], most: int | None, only: int | None
) -> list[tuple[int, Boundary]]:
    if only is not None:
        return [each for each in numbered if each[0] == only]
    if most is None or most >= len(numbered):
        return numbered
    return random.Random(f"{case} {first}").sample(numbered, most)
