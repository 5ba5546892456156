"""P13: The engines loop and langgraph give the same result, and a paused run can change engine."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.support.world import NO_DATE, NOTICE, World

ENGINES = ("loop", "langgraph")


@pytest.mark.parametrize("pair", list(itertools.permutations(ENGINES)))
def test_a_run_paused_on_one_engine_goes_on_on_another(tmp_path: Path, pair: tuple[str, str]) -> None:  # C16
    world = World(tmp_path, pair[0])
    run = world.check().approve(drive=False)
    world.restart()

    world.engine_name = pair[1]
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)
    assert run.timeline.count("run.completed") == 1
    world.close()


@pytest.mark.parametrize("notice", [NOTICE, NO_DATE])
@pytest.mark.parametrize("record", ["r1", "r2"])
def test_both_engines_tell_the_same_story(tmp_path: Path, notice: str, record: str) -> None:
    stories: list[object] = []
    for engine in ENGINES:
        world = World(tmp_path / engine, engine)
        world.folder.mkdir()
        run = world.check(notice, record)
        if run.questions:
            run.approve()
        stories.append((run.status, run.timeline, run.writes, run.row.used, len(world.tickets)))
        world.close()

    assert stories[0] == stories[1]
