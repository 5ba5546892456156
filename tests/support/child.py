"""A real process that drives a run and dies for real.

`python -m tests.support.child FOLDER ENGINE RUN STORE NTH WHEN`
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.faults import crashing_business, crashing_ledger, kill
from tests.support.world import RunInWorld, World

ROOT = Path(__file__).parents[2]

# Commits of the process that goes on with an approved write: lease, claim, (the target's), settle, verify, end.
WINDOWS = {"A": ("ledger", 2, "after"), "B": ("business", 1, "after"), "C": ("ledger", 3, "after")}


def dies_in(window: str, world: World, run: RunInWorld) -> int:
    """Another process goes on with the run and is killed in this window; its exit status."""
    store, nth, when = WINDOWS[window]
    command = [sys.executable, "-m", "tests.support.child", str(world.folder), world.engine_name, run.run_id]
    done = subprocess.run([*command, store, str(nth), when], cwd=ROOT, check=False, capture_output=True, timeout=60)
    return done.returncode


def main(folder: str, engine: str, run_id: str, store: str, nth: str, when: str) -> None:
    world = World(Path(folder), engine)
    faults = {"ledger": crashing_ledger, "business": crashing_business}
    world.dies(**{store: faults[store](int(nth), when, kill)})
    RunInWorld(world, run_id).goes_on()


if __name__ == "__main__":
    main(*sys.argv[1:])
