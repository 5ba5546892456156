"""Databases of version 0002 open after `remit db upgrade`, and runs that were parked for whatever reason go on.

`tests/fixtures/v2/` is never changed (see `tests/fixtures/make_v2.py`). In it a run is parked for each reason there
was: an approval, a later look, an outcome that a person has to settle, budget, a takeover, a program that knows the
run, a pause. What each of them waited for comes under this version, on both engines.
"""

from __future__ import annotations

import gc
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from graphs.engines.langgraph import LangGraphEngine
from graphs.engines.loop import LoopEngine
from graphs.wiring import Outside, Parts, Settings, open_parts
from nodes.due import look
from nodes.settlements import Settlement
from state.actor import Actor
from state.errors import DatabaseTooOld
from store import audit, events
from store.ledger import LEDGER_HEAD
from store.upgrade import upgrade
from tests.fixtures.v2_runs import FOLDER, MADE_AT, PARKED, USER, WRITTEN, agents
from tests.support.clock import ManualClock

TEN_MINUTES_MS = 600_000
ADA = Actor(USER)
Opened = Callable[..., Parts]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "data"))


@pytest.fixture
def opened(folder: Path) -> Iterator[Opened]:
    """Opens the upgraded data directory in a program that has these agents, ten minutes after it was made."""
    made: list[Parts] = []

    def program(*names: str) -> Parts:
        upgrade(folder / "ledger.sqlite", "ledger")
        upgrade(folder / "business.sqlite", "business")
        clock = ManualClock(MADE_AT + TEN_MINUTES_MS)
        outside = Outside(clock=clock, agents=lambda settings: agents(*names or ("noter", "asker", "gone")))
        made.append(open_parts(Settings(folder, USER), outside))
        return made[-1]

    yield program
    for each in made:
        each.close()
    gc.collect()


def drive(parts: Parts, engine: str, run_id: str) -> str:
    """Somebody looks at it, and it is driven; how it stands then."""
    look(parts.ledger, run_id)
    if engine == "loop":
        LoopEngine(parts).drive(run_id)
    else:
        with closing(LangGraphEngine(parts)) as langgraph:
            langgraph.drive(run_id)
    run = parts.ledger.run(run_id)
    return f"{run.status}/{run.reason}"


def notes(parts: Parts, run_id: str) -> int:
    return sum(each["subject"] == run_id for each in parts.business.objects("note"))


def approve(parts: Parts, run_id: str) -> None:
    (asked,) = parts.ledger.facts(run_id).questions
    answer = {"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}
    assert parts.answers.record(ADA, run_id, {"decisions": [answer]}).refused == []


def settle(parts: Parts, run_id: str) -> None:
    (operation,) = parts.ledger.facts(run_id).operations
    (made,) = [each for each in parts.business.objects("note") if each["subject"] == run_id]
    parts.settlements.settle(ADA, Settlement(operation.operation_id, made["object_id"], ""))


def resume_and_approve(parts: Parts, run_id: str) -> None:
    parts.controls.resume(ADA, run_id)
    approve(parts, run_id)


def nothing(parts: Parts, run_id: str) -> None:
    """What it waited for comes by itself: time, or a program that knows it."""


COMES: dict[str, Callable[[Parts, str], object]] = {
    "reconciliation": settle,
    "external": nothing,
    "approval-loop": approve,
    "approval-langgraph": approve,
    "paused": resume_and_approve,
    "budget": lambda parts, run_id: parts.budgets.grant(ADA, run_id, {"turns": 2}),
    "migration": nothing,
}


def test_an_old_ledger_is_not_opened_before_it_is_upgraded(folder: Path) -> None:
    with pytest.raises(DatabaseTooOld, match="remit db upgrade"):
        open_parts(Settings(folder, USER))


def test_the_upgrade_leads_from_that_version_to_this_one(folder: Path) -> None:
    assert upgrade(folder / "ledger.sqlite", "ledger") == ("0002", LEDGER_HEAD)


def test_after_the_upgrade_every_run_stands_as_it_was_parked(opened: Opened) -> None:
    parts = opened()

    stand = {run_id: parts.ledger.run(run_id) for run_id in PARKED}

    assert {each: f"{run.status}/{run.reason}" for each, run in stand.items()} == {
        each: status for each, (_, status) in PARKED.items()
    }
    assert {each for each in PARKED if notes(parts, each)} == WRITTEN


@pytest.mark.parametrize("engine", ["loop", "langgraph"])
@pytest.mark.parametrize("run_id", COMES)
def test_a_parked_run_goes_on_to_one_note_once_what_it_waited_for_has_come(
    opened: Opened, engine: str, run_id: str
) -> None:
    parts = opened()

    COMES[run_id](parts, run_id)
    stands = drive(parts, engine, run_id)

    assert (stands, notes(parts, run_id)) == ("succeeded/completed", 1)


@pytest.mark.parametrize("engine", ["loop", "langgraph"])
@pytest.mark.parametrize("run_id", [each for each in PARKED if each not in {"external", "migration", "reconciliation"}])
def test_without_that_it_stays_as_it_was(opened: Opened, engine: str, run_id: str) -> None:
    parts = opened()

    assert drive(parts, engine, run_id) == PARKED[run_id][1]

    assert notes(parts, run_id) == (run_id in WRITTEN)


@pytest.mark.parametrize("engine", ["loop", "langgraph"])
def test_a_run_whose_agent_is_still_missing_waits_on(opened: Opened, engine: str) -> None:
    parts = opened("noter", "asker")

    assert (drive(parts, engine, "migration"), notes(parts, "migration")) == ("waiting/migration", 0)


@pytest.mark.parametrize("engine", ["loop", "langgraph"])
def test_whoever_comes_back_to_an_unknown_outcome_has_it_looked_up(opened: Opened, engine: str) -> None:
    parts = opened()

    assert (drive(parts, engine, "reconciliation"), notes(parts, "reconciliation")) == ("succeeded/completed", 1)


@pytest.mark.parametrize("run_id", PARKED)
def test_every_parked_run_can_be_cancelled_and_its_end_is_true(opened: Opened, run_id: str) -> None:
    parts = opened()

    parts.controls.cancel(ADA, run_id)
    drive(parts, "loop", run_id)

    run = parts.ledger.run(run_id)
    assert (run.status, run.reason, notes(parts, run_id)) == ("cancelled", "user", int(run_id in WRITTEN))
    (write,) = parts.ledger.facts(run_id).operations
    assert write.status == {"reconciliation": "unknown", "external": "committed", "budget": "committed"}.get(
        run_id, "cancelled"
    )


def test_what_came_with_the_new_version_works_on_the_old_rows(opened: Opened) -> None:
    """Roles, quorum, escalation and withdrawn answers (ledger version 0003) are empty for what was asked before."""
    parts = opened()

    (asked,) = parts.ledger.facts("approval-loop").questions
    approve(parts, "approval-loop")
    parts.answers.withdraw(ADA, asked.approval_id)

    assert (asked.role, asked.quorum, asked.escalate_to, asked.escalated) == (None, 1, None, False)
    assert drive(parts, "loop", "approval-loop") == "waiting/approval"
    approve(parts, "approval-loop")
    assert (drive(parts, "loop", "approval-loop"), notes(parts, "approval-loop")) == ("succeeded/completed", 1)


@pytest.mark.parametrize("run_id", PARKED)
def test_the_timeline_and_the_audit_that_were_written_are_whole_and_continued(opened: Opened, run_id: str) -> None:
    parts = opened()
    ledger = parts.ledger
    with ledger.database.read() as connection:
        assert events.first_broken(connection, ledger.tenant, run_id) is None
        before = events.page(connection, ledger.tenant, run_id, 0, 1000)
        lines = audit.entries(connection, ledger.tenant, 0, 1000)

    drive(parts, "loop", run_id)

    with ledger.database.read() as connection:
        assert events.first_broken(connection, ledger.tenant, run_id) is None
        assert events.page(connection, ledger.tenant, run_id, 0, len(before)) == before
        assert audit.entries(connection, ledger.tenant, 0, len(lines)) == lines


def test_the_databases_are_of_their_version_and_name_nobodys_machine() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {"business.sqlite", "checkpoints.sqlite", "ledger.sqlite"}
    for name in ("ledger", "business"):
        with closing(sqlite3.connect(f"file:{FOLDER / name}.sqlite?immutable=1", uri=True)) as connection:
            assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0002",)
    for path in FOLDER.iterdir():
        held = path.read_bytes()
        assert not any(place in held for place in (b"/home/", b"/tmp/", b"/Users/", str(Path.cwd()).encode()))
