"""P2: Where a store fails instead of the process, there is a clear error, no half fact, one effect, and a right end."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from graphs.engines.langgraph import LangGraphEngine
from state.errors import DatabaseUnavailable
from state.run import STATE_VERSION
from tests.support.cramped import drives_cramped
from tests.support.faults import (
    impatient_business,
    impatient_ledger,
    locked,
    roomy_for,
    unsound_business,
    unsound_ledger,
)
from tests.support.persistence import seen_to_its_end, wrong
from tests.support.savers import Saves, full_saver, unsound_saver
from tests.support.world import RunInWorld, World

FEWEST = {"ledger": 100, "business": 8}  # statements of a catalogue check
FEWEST_SAVES = {"sync": 15, "async": 15, "exit": 3}
ALL = pytest.mark.long
TICKET = {"source": "gazette 7", "field": "effective", "observed": "2026-03-01", "recorded": "2026-02-01"}

# --- the checkpointer -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("durability", "every"),
    [("sync", 6), ("async", 6), ("exit", 1), pytest.param("sync", 1, marks=ALL), pytest.param("async", 1, marks=ALL)],
)
def test_a_checkpoint_that_cannot_be_written_is_an_error_and_costs_nothing(  # X3
    tmp_path: Path, durability: Any, every: int
) -> None:
    whole = saved(tmp_path / "whole", durability, None)
    assert (whole.problems, whole.asked >= FEWEST_SAVES[durability]) == ({}, True)

    told = {n: saved(tmp_path / str(n), durability, n) for n in range(1, whole.asked + 1, every)}

    assert {n: each.problems for n, each in told.items() if each.problems} == {}
    assert {n: each.said for n, each in told.items() if each.said != ["the disk is full"]} == {}


@pytest.mark.parametrize("pages", [0, 1, 2, 4])
def test_a_full_disk_under_the_checkpoints_is_an_error_and_the_next_process_goes_on(  # X3
    tmp_path: Path, pages: int
) -> None:
    world = World(tmp_path, "langgraph")
    run = world.ticket()
    world.restart()
    world.engine_made = lambda parts: LangGraphEngine(parts, full_saver(parts.settings.checkpoints_path, pages), "sync")

    with pytest.raises(sqlite3.OperationalError, match="full"):
        run.approve()
    assert (run.row.owner, run.row.state_version) == (None, STATE_VERSION)
    world.engine_made = None
    world.restart()

    assert (seen_to_its_end(run), wrong(run)) == ([], {})
    world.close()


# --- ledger and business store ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "store", "every"),
    [
        ("loop", "ledger", 17),
        ("loop", "business", 4),
        pytest.param("loop", "ledger", 1, marks=ALL),
        pytest.param("loop", "business", 1, marks=ALL),
        pytest.param("langgraph", "ledger", 5, marks=ALL),
        pytest.param("langgraph", "business", 1, marks=ALL),
    ],
)
def test_a_store_that_fails_at_any_statement_leaves_no_half_fact_and_the_run_ends_right(  # X9
    tmp_path: Path, engine: str, store: str, every: int
) -> None:
    whole = stated(tmp_path / "whole", engine, store, None)
    assert (whole.problems, whole.asked >= FEWEST[store]) == ({}, True)

    told = {n: stated(tmp_path / str(n), engine, store, n) for n in range(1, whole.asked + 1, every)}

    assert {n: each.problems for n, each in told.items() if each.problems} == {}
    assert all("disk I/O error" in each for story in told.values() for each in story.said[:1])


@pytest.mark.parametrize("pages", [0, 1])
def test_a_full_disk_under_the_ledger_is_said_so_and_the_next_process_goes_on(world: World, pages: int) -> None:  # X9
    run = world.start("catalog-check", world.check_input(), drive=False)
    world.restart()
    world.dies(ledger=roomy_for(pages))

    with pytest.raises(DatabaseUnavailable, match="is full"):
        run.goes_on().approve()
    world.restart()

    assert (seen_to_its_end(run), wrong(run)) == ([], {})


def test_a_locked_ledger_is_said_so_and_nothing_happens_without_it(world: World) -> None:  # X9
    run = world.ticket().approve(drive=False)
    world.restart()
    world.dies(ledger=impatient_ledger)

    with locked(world.parts.settings.ledger_path), pytest.raises(DatabaseUnavailable, match="is locked"):
        run.goes_on()

    assert (run.status, world.tickets) == ("queued", [])
    assert (seen_to_its_end(run), wrong(run)) == ([], {})


def test_a_locked_target_has_an_unknown_outcome_until_it_can_be_asked(world: World) -> None:  # X9
    run = world.ticket().approve(drive=False)
    world.restart()
    world.dies(business=impatient_business)

    with locked(world.parts.settings.business_path):
        run.goes_on()
        assert (run.status, run.effect) == ("waiting/external", "unknown")
    run.waits_it_out()

    assert (wrong(run), run.tried[0]) == ({}, ("call", "unknown"))


@pytest.mark.long
@pytest.mark.parametrize("size", [1_000, 40_000, 60_000, 90_000, 130_000])
def test_a_process_whose_disk_is_full_repeats_nothing(world: World, size: int) -> None:  # X3, X9
    run = world.check().approve(drive=False)
    world.restart()

    said = drives_cramped(world, run, size)

    assert said in {"done", "DatabaseUnavailable", "OperationalError"}
    assert (seen_to_its_end(run), wrong(run)) == ([], {})


class Story:
    """What became of a run in which something failed once: how much was asked, what was said, what is wrong."""

    def __init__(self, world: World, run: RunInWorld, asked: Callable[[], int]) -> None:
        self.said = [str(each) for each in seen_to_its_end(run)]
        self.asked = asked()
        world.restart()
        self.problems = wrong(run)
        world.close()


def saved(folder: Path, durability: Any, fails_at: int | None) -> Story:
    """A ticket on a checkpointer that fails at one of its writes."""
    folder.mkdir()
    world, saves = World(folder, "langgraph"), Saves(fails_at)
    saver = unsound_saver(folder / "checkpoints.sqlite", saves)
    world.engine_made = lambda parts: LangGraphEngine(parts, saver, durability)
    story = Story(world, world.start("ticket", TICKET, drive=False), lambda: saves.asked)
    with closing(sqlite3.connect(folder / "checkpoints.sqlite")) as connection:
        there = [each for (each,) in connection.execute("SELECT checkpoint_id FROM checkpoints ORDER BY rowid")]
    return story if there == saves.kept else pytest.fail(f"recovery points {there}, written {saves.kept}")


def stated(folder: Path, engine: str, store: str, fails_at: int | None) -> Story:
    """A catalogue check on a store that fails at one statement, counted from the moment it is driven."""
    folder.mkdir()
    world = World(folder, engine)
    world.dies(ledger=unsound_ledger, business=unsound_business)
    run = world.start("catalog-check", world.check_input(), drive=False)
    database: Any = {"ledger": world.parts.ledger, "business": world.parts.business}[store].database
    database.statements, database.fails_at = 0, fails_at
    return Story(world, run, lambda: database.statements)
