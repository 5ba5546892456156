"""Databases that version 1 wrote open, and the runs under way in them go on, whatever the version of the program.

`tests/fixtures/v1/` is never changed after the release of version 1 (see `tests/fixtures/make_v1.py`). The materials
that its runs were given do not exist: what was read is recorded.
"""

import gc
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from graphs.engines.langgraph import LangGraphEngine
from graphs.engines.loop import LoopEngine
from graphs.wiring import Outside, Parts, Settings, open_parts
from state.actor import Actor
from store import events
from store.upgrade import upgrade
from tests.fixtures.v1_runs import FOLDER, MADE_AT, NOTICES, USER
from tests.support.clock import ManualClock

A_MINUTE_MS = 60_000
ADA = Actor(USER)
DATABASES = {"business.sqlite", "checkpoints.sqlite", "ledger.sqlite"}


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Parts]:
    """The old data directory, upgraded and opened by this version a minute after it was made."""
    folder = Path(shutil.copytree(FOLDER, tmp_path / "data"))
    upgrade(folder / "ledger.sqlite", "ledger")
    upgrade(folder / "business.sqlite", "business")
    parts = open_parts(Settings(folder, USER), Outside(clock=ManualClock(MADE_AT + A_MINUTE_MS)))
    yield parts
    parts.close()
    gc.collect()


def drive(parts: Parts, engine: str, run_id: str) -> None:
    if engine == "loop":
        LoopEngine(parts).drive(run_id)
        return
    with closing(LangGraphEngine(parts)) as langgraph:
        langgraph.drive(run_id)


def approve(parts: Parts, run_id: str) -> None:
    (asked,) = parts.ledger.facts(run_id).questions
    answer = {"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}
    assert parts.answers.record(ADA, run_id, {"decisions": [answer]}).refused == []


def tickets_of(parts: Parts, run_id: str) -> list[dict[str, Any]]:
    _, record = NOTICES[run_id]
    return [each for each in parts.business.objects("ticket") if each["record"] == record]


def ended_well(parts: Parts, run_id: str) -> bool:
    run = parts.ledger.run(run_id)
    return (run.status, run.reason) == ("succeeded", "completed") and len(tickets_of(parts, run_id)) == 1


@pytest.mark.parametrize("engine", ["loop", "langgraph"])
@pytest.mark.parametrize("run_id", ["parked-loop", "parked-langgraph"])
def test_a_run_parked_by_version_1_goes_on_to_one_ticket(old: Parts, engine: str, run_id: str):
    drive(old, engine, run_id)  # nobody has answered yet: the same question is asked again
    assert tickets_of(old, run_id) == []

    approve(old, run_id)
    drive(old, engine, run_id)

    assert ended_well(old, run_id)


@pytest.mark.parametrize("engine", ["loop", "langgraph"])
def test_a_run_paused_by_version_1_goes_on_to_one_ticket(old: Parts, engine: str):
    drive(old, engine, "paused")
    assert old.ledger.run("paused").status == "paused"

    old.controls.resume(ADA, "paused")
    drive(old, engine, "paused")
    approve(old, "paused")
    drive(old, engine, "paused")

    assert ended_well(old, "paused")


def test_a_checkpoint_of_version_1_shows_its_question_and_takes_the_answer(old: Parts):
    thread: Any = {"configurable": {"thread_id": "parked-langgraph"}}
    with closing(LangGraphEngine(old)) as engine:
        graph = engine.graph("catalog-check")
        (asked,) = graph.get_state(thread).interrupts
        assert asked.value["action_requests"][0]["name"] == "create_ticket"

        graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)

    assert ended_well(old, "parked-langgraph")


def test_a_run_that_ended_in_version_1_is_done_no_second_time(old: Parts):
    for engine in ("loop", "langgraph"):
        drive(old, engine, "succeeded")

    assert ended_well(old, "succeeded")


@pytest.mark.parametrize("run_id", NOTICES)
def test_the_timeline_that_version_1_wrote_is_whole_and_can_be_continued(old: Parts, run_id: str):
    ledger = old.ledger
    with ledger.database.read() as connection:
        assert events.first_broken(connection, ledger.tenant, run_id) is None
        before = events.page(connection, ledger.tenant, run_id, 0, 1000)
    assert before[0]["type"] == "run.accepted"

    drive(old, "loop", run_id)

    with ledger.database.read() as connection:
        assert events.first_broken(connection, ledger.tenant, run_id) is None
        assert events.page(connection, ledger.tenant, run_id, 0, len(before)) == before


def test_the_databases_are_files_alone_and_name_nobodys_machine():
    assert {path.name for path in FOLDER.iterdir()} == DATABASES
    for name in DATABASES:
        held = (FOLDER / name).read_bytes()
        assert not any(place in held for place in (b"/home/", b"/tmp/", b"/Users/", str(Path.cwd()).encode()))
