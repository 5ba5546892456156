"""A process that dies around any commit of ledger or business store: the next one finds the truth and one ticket."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.faults import Crash, CrashingDatabase, crashing_business, crashing_ledger
from tests.support.world import RunInWorld, World

FAULTS = {"ledger": crashing_ledger, "business": crashing_business}


def _lives_through(world: World, run: RunInWorld | None) -> RunInWorld:
    """Go through the whole case, beginning with what is not there yet."""
    if run is None:
        run = RunInWorld(world, "run-1")
        world.parts.accept.run(
            world.parts.identity.actor(), "catalog-check", world.check_input(), run_id="run-1", engine="loop"
        )
    run.goes_on()
    if run.questions:
        run.approve(drive=False)
    return run.goes_on()


def _opened(folder: Path) -> World:
    """A world whose data directory is there: the welcome of an empty one is not part of the run."""
    folder.mkdir(parents=True)
    World(folder, "loop").parts.close()
    return World(folder, "loop")


def _commits(folder: Path) -> dict[str, int]:
    """How many commits the whole case takes in each store."""
    world = _opened(folder)
    world.dies(ledger=crashing_ledger(0, "after"), business=crashing_business(0, "after"))
    _lives_through(world, None)
    counted = {"ledger": world.parts.ledger.database, "business": world.parts.business.database}
    made = {name: each.commits for name, each in counted.items() if isinstance(each, CrashingDatabase)}
    world.close()
    return made


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("store", FAULTS)
def test_dying_around_any_commit_loses_nothing_and_repeats_nothing(tmp_path: Path, store: str, when: str) -> None:
    survived: list[int] = []
    total = _commits(tmp_path / "count")[store]
    for nth in range(1, total + 1):
        world = _opened(tmp_path / str(nth))
        world.dies(**{store: FAULTS[store](nth, when)})
        with pytest.raises(Crash):
            _lives_through(world, None)
        world.restart()
        run = _lives_through(world, None)
        assert (run.status, run.effect, len(world.tickets)) == ("succeeded/completed", "committed", 1), nth
        assert run.timeline.count("run.completed") == 1
        assert run.row.used["turns"] == 3
        survived.append(nth)
        world.close()

    assert survived == list(range(1, total + 1))
