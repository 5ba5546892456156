"""A real process that drives a run, is stopped in the middle of its write, and goes on when nobody reckons with it.

`python -m tests.support.frozen FOLDER ENGINE RUN WHEN` stops itself `before` its write, `inside` its transaction or
`after` its commit, and says how its drive ended once it is let go on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from store.business import BUSINESS_HEAD, business_metadata
from store.database import Database
from tests.support.faults import does_afterwards, does_first
from tests.support.world import RunInWorld, World

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60


class Frozen:
    """Made when the process stands still, and holds the run."""

    def __init__(self, world: World, run: RunInWorld, when: str) -> None:
        command = [sys.executable, "-m", "tests.support.frozen", str(world.folder), world.engine_name, run.run_id, when]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self._wait_until_it_stops()

    def _wait_until_it_stops(self) -> None:
        give_up = time.monotonic() + PATIENCE_S
        while True:
            pid, status = os.waitpid(self._process.pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                return
            assert not pid, f"it ended instead: {self._process.communicate()[1]}"
            assert time.monotonic() < give_up
            threading.Event().wait(0.01)

    def thaws(self) -> str:
        """It goes on to its end; the name of the error that its drive ended with, or `done`."""
        self._process.send_signal(signal.SIGCONT)
        said, error = self._process.communicate(timeout=PATIENCE_S)
        return said.strip() or error


def stop() -> None:
    """The whole process stands still, with all its threads."""
    os.kill(os.getpid(), signal.SIGSTOP)


class StopsInside(Database):
    """Stands still when everything is written and only the commit is missing."""

    def commit(self) -> None:
        stop()
        super().commit()


def stopping_inside(path: Path) -> Database:
    return StopsInside(path, business_metadata, BUSINESS_HEAD)


def main(folder: str, engine: str, run_id: str, when: str) -> None:
    world = World(Path(folder), engine)
    if when == "inside":
        world.dies(business=stopping_inside)
    else:
        world.target({"before": does_first, "after": does_afterwards}[when](stop))
    try:
        RunInWorld(world, run_id).goes_on()
    except RuntimeError as error:
        print(type(error).__name__)
    else:
        print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
