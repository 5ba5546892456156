"""One process of a story: it comes, sees where the run stands, does the one thing that is next, and goes.

It may die at any boundary. The next process knows nothing of it but what the stores say, and the time it was.
"""

from __future__ import annotations

import mmap
import random
import shutil
import sqlite3
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from graphs.engines.engine import Engine
from graphs.engines.langgraph import LangGraphEngine
from graphs.engines.loop import LoopEngine
from graphs.wiring import Parts
from state.errors import RunNotFound
from tests.chaos.declared import RUN, Scenario
from tests.chaos.scenarios import BY_ID
from tests.support.boundaries import (
    Boundaries,
    Boundary,
    numbered_business,
    numbered_ledger,
    numbered_saver,
    numbered_target,
    numbered_tools,
    raw_connection,
)
from tests.support.clock import START, ManualClock
from tests.support.faults import Act, Crash
from tests.support.world import RunInWorld, World

LOG = "boundaries"

Durability = Literal["exit", "sync", "async"]


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario on one engine; `durability` is langgraph's."""

    scenario: str
    engine: str = "loop"
    durability: Durability | None = None

    @property
    def told(self) -> Scenario:
        return BY_ID[self.scenario]

    def __str__(self) -> str:
        return " ".join(each for each in (self.scenario, self.engine, self.durability) if each)


@dataclass(slots=True)
class Report:
    """What a process says when it goes in order: whether all is over, and what was not right."""

    over: bool
    problems: list[str]


class KeptClock(ManualClock):
    """A clock whose time outlives the process, also one that is killed. Looking at it takes a millisecond."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        if not path.exists():
            path.write_bytes(START.to_bytes(8, "little"))
        with open(path, "r+b") as file:
            self._kept = mmap.mmap(file.fileno(), 8)

    def now(self) -> int:
        self.passes(seconds=0.001)
        return int.from_bytes(self._kept[:8], "little")

    def monotonic(self) -> int:
        return self.now()

    def wait(self, ms: int, until: threading.Event) -> None:
        if not until.is_set():
            self.passes(seconds=ms / 1000)

    def passes(self, *, seconds: float) -> None:
        now = int.from_bytes(self._kept[:8], "little")
        self._kept[:8] = (now + round(seconds * 1000)).to_bytes(8, "little")


def seen_in(folder: Path) -> list[str]:
    """The types of the run's events so far, before any part of the product is opened."""
    path = folder / "data" / "ledger.sqlite"
    if not path.exists():
        return []
    connection = sqlite3.connect(path)
    try:
        made = connection.execute("SELECT name FROM sqlite_master WHERE name = 'events'").fetchall()
        rows = connection.execute("SELECT type FROM events WHERE run_id = ? ORDER BY seq", (RUN,)) if made else ()
        return [type_ for (type_,) in rows]
    finally:
        connection.close()


def world_of(case: Case, folder: Path, boundaries: Boundaries | None = None) -> World:
    """The world as a new process finds it; with its boundaries, if there are to be any."""
    world = World(folder, case.engine, clock=KeptClock(folder / "clock"))
    case.told.given(world, seen_in(folder))
    if boundaries is not None:
        world.outside = replace(
            world.outside,
            ledger_database=numbered_ledger(boundaries),
            business_database=numbered_business(boundaries),
            business=numbered_target(world.outside.business, boundaries),
            tools=world.outside.tools and numbered_tools(world.outside.tools, boundaries),
        )
        boundaries.listen(raw_connection(world.parts.reader.database), "reader")
    world.engine_made = lambda parts: _engine(case, parts, boundaries)
    return world


def _engine(case: Case, parts: Parts, boundaries: Boundaries | None) -> Engine:
    if case.engine == "loop":
        return LoopEngine(parts)
    saver = None if boundaries is None else numbered_saver(parts.settings.checkpoints_path, boundaries)
    return LangGraphEngine(parts, cast(Any, saver), case.durability or "async")


def prepare(case: Case, folder: Path) -> None:
    """What the story begins with; nothing dies here."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if case.told.opened:
        world = world_of(case, folder)
        case.told.before(world)
        assert world.parts
        world.close()


def process(case: Case, folder: Path, number: int, deaths: Collection[Boundary], how: Act) -> Report:
    """The process of this number, from its coming to its going. Raises Crash where that is how it dies."""
    random.seed(number)  # how long it waits before another try is the same in every telling
    boundaries = Boundaries(number, folder / LOG, deaths, how)
    world = world_of(case, folder, boundaries)
    run = RunInWorld(world, RUN)
    try:
        _next(case, world, run)
        return Report(_is_over(case, run), [*boundaries.unnumbered, *_left_behind(world, run)])
    except Crash:
        world.restart()  # what was killed is proven dead
        raise
    finally:
        world.close()
        boundaries.close()


def _next(case: Case, world: World, run: RunInWorld) -> None:
    """The one thing to do now."""
    if not _is_there(world):
        _start(case, world, run)
        return
    due = _due(case, run)
    if due is not None:
        due.do(run)
        return
    wake_at = run.row.wake_at
    if run.row.status in {"waiting", "cancelling"} and wake_at is not None:
        world.clock.passes(seconds=max(0, wake_at - world.clock.now()) / 1000)
    run.goes_on()


def _is_there(world: World) -> bool:
    try:
        world.parts.ledger.run(RUN)
    except RunNotFound:
        return False
    return True


def _start(case: Case, world: World, run: RunInWorld) -> None:
    """As a person does it: by the door and a drive, or by invoking the graph."""
    told = case.told
    given = told.task(world)
    if case.engine == "loop":
        world.parts.accept.run(world.parts.identity.actor(), told.agent, given, run_id=RUN, engine=case.engine)
        run.goes_on()
        return
    engine = cast(LangGraphEngine, world.engine)
    graph: Any = engine.graph(told.agent)
    graph.invoke(given, {"configurable": {"thread_id": RUN}}, durability=case.durability)


def _due(case: Case, run: RunInWorld) -> Any:
    return next((deed for deed in case.told.deeds if deed.due(run)), None)


def _is_over(case: Case, run: RunInWorld) -> bool:
    return run.row.ended and _due(case, run) is None


def _left_behind(world: World, run: RunInWorld) -> list[str]:
    """A lease of this process itself; one of a dead driver waits for the next."""
    if run.row.owner != world.parts.owner.name:
        return []
    return [f"a process that went in order left its lease behind ({run.status})"]
