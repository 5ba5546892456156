"""A real process that drives a run where no file may grow beyond a size, as on a disk that is full.

`python -m tests.support.cramped FOLDER ENGINE RUN BYTES` says which error its drive ended with, or `done`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from tests.support.world import RunInWorld, World

ROOT = Path(__file__).parents[2]


def drives_cramped(world: World, run: RunInWorld, size: int) -> str:
    """What such a process said."""
    command = [sys.executable, "-m", "tests.support.cramped", str(world.folder), world.engine_name, run.run_id]
    done = subprocess.run([*command, str(size)], cwd=ROOT, check=False, capture_output=True, text=True, timeout=60)
    return done.stdout.strip() or done.stderr


def main(folder: str, engine: str, run_id: str, size: str) -> None:
    world = World(Path(folder), engine)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        RunInWorld(world, run_id).goes_on()
    except Exception as error:
        print(type(error).__name__)
    else:
        print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
