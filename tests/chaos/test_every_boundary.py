"""A process that dies around any commit or call: the next one finds the truth, and one ticket. And the sweep bites.

In this process and on the engine `loop`; `make sweep` does it with real kills, on every engine.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from store.business import BusinessStore, Found, Write
from tests.chaos.pairs import second_deaths
from tests.chaos.scenarios import APPROVES, BY_ID
from tests.chaos.story import Case, prepare
from tests.chaos.trial import Verdict, in_this_process, tell
from tests.chaos.work import kept_folder
from tests.support.boundaries import Boundaries, Boundary, raw_connection

FEWEST = 20  # boundaries in any of these stories


def _told(case: Case, folder: Path) -> Verdict:
    """The story in which nothing dies; what is there before each of its processes is kept."""
    prepare(case, folder / "told")
    return tell(case, folder / "told", run=in_this_process, keep=folder / "kept")


def _again(folder: Path, first: Boundary) -> Path:
    """A copy of what is there before the process in which this boundary lies."""
    shutil.rmtree(folder / "again", ignore_errors=True)
    return shutil.copytree(folder / "kept" / str(first.process), folder / "again")


def _breaches(case: Case, folder: Path) -> dict[str, list[str]]:
    """What is not right after a death at each boundary; empty where all is."""
    told = _told(case, folder)
    assert (told.problems, len(told.boundaries) >= FEWEST) == ([], True)
    found: dict[str, list[str]] = {}
    for first in told.boundaries:
        verdict = tell(case, _again(folder, first), (first,), in_this_process, first.process)
        if verdict.problems:
            found[str(first)] = verdict.problems
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    with kept_folder() as made:
        yield made


@pytest.mark.parametrize("scenario", ["C3", "C9"])
def test_dying_at_any_boundary_loses_nothing_and_repeats_nothing(folder: Path, scenario: str) -> None:
    assert _breaches(Case(scenario), folder) == {}


def test_dying_again_at_any_boundary_after_a_death_between_effect_and_record_changes_nothing(folder: Path) -> None:
    case = Case("C1")
    _told(case, folder)
    first = Boundary.read("3.effect.1.after")

    found = second_deaths(case, first, _again(folder, first), most=None)

    assert len(found) >= FEWEST / 2
    assert {each.boundary: each.problems for each in found if each.problems} == {}


# --- the sweep itself bites -----------------------------------------------------------------------------------


class MakesOneEachTime(BusinessStore):
    """A target that knows no keys: it finds nothing again, and makes another object for each call."""

    def lookup(self, key: str) -> Found | None:
        return None

    def create(self, write: Write) -> Found:
        made = len(self.objects("ticket"))
        return super().create(replace(write, key=f"{write.key}#{made}", resource_version=None))


class WritesByTheWay(BusinessStore):
    """A target that commits where nobody counts."""

    def create(self, write: Write) -> Found:
        raw_connection(self.database).execute("UPDATE grants SET granted_by = granted_by")
        return super().create(write)


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Case]:
    """C1 with something else in it."""

    def made(**changes: Any) -> Case:
        monkeypatch.setitem(BY_ID, "X", replace(BY_ID["C1"], id="X", **changes))
        return Case("X")

    return made


def test_an_effect_that_a_death_repeats_is_found_out(folder: Path, story: Callable[..., Case]) -> None:
    case = story(given=lambda world, _: world.target(MakesOneEachTime))
    _told(case, folder)
    first = Boundary.read("3.effect.1.after")

    verdict = tell(case, _again(folder, first), (first,), in_this_process, first.process)

    assert any("tickets: [" in each for each in verdict.problems), verdict.problems


def test_a_commit_that_is_not_a_boundary_fails_the_sweep(folder: Path, story: Callable[..., Case]) -> None:
    told = _told(story(given=lambda world, _: world.target(WritesByTheWay)), folder)

    assert told.problems == ["business: UPDATE grants SET granted_by = granted_by"]


def test_an_end_that_is_not_the_right_one_fails_the_sweep(folder: Path, story: Callable[..., Case]) -> None:
    rejects = replace(APPROVES, do=lambda run: run.reject(drive=False))

    told = _told(story(deeds=[rejects]), folder)

    assert told.problems[0] == "status: denied/approval_rejected, not succeeded/completed"


def test_a_story_that_dies_where_nobody_asked_it_to_fails_the_sweep(folder: Path) -> None:
    case, nowhere = Case("C1"), Boundary(1, "ledger", 99, "before")
    prepare(case, folder / "told")

    assert tell(case, folder / "told", (nowhere,), in_this_process).problems == ["died 0 times instead of 1"]


def test_every_commit_is_heard_and_only_those_inside_their_event_are_counted(folder: Path) -> None:
    boundaries = Boundaries(1, folder / "log")
    connection = sqlite3.connect(folder / "db", isolation_level=None)
    boundaries.listen(connection, "ledger")

    connection.execute("CREATE TABLE t (x)")
    for statement in ("BEGIN", "INSERT INTO t VALUES (1)", "ROLLBACK", "BEGIN", "INSERT INTO t VALUES (2)"):
        connection.execute(statement)
    with boundaries.around("ledger", commits="ledger"):
        connection.execute("COMMIT")
        connection.execute("DELETE FROM t")
    connection.close()
    boundaries.close()

    assert boundaries.unnumbered == ["ledger: CREATE TABLE t (x)", "ledger: DELETE FROM t"]
    assert (folder / "log").read_text().split() == ["1.ledger.1.before", "1.ledger.1.after"]
