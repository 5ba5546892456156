"""Things that begin together: threads of this process, and real processes.

`python -m tests.support.racing FOLDER ENGINE RUN` says `ready`, drives once a line comes in, and says how that ended.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.support.world import RunInWorld, World

ROOT = Path(__file__).parents[2]


def at_once(acts: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each of these came to, done in threads of their own that begin together."""
    start = threading.Barrier(len(acts))

    def one(act: Callable[[], Any]) -> Any:
        start.wait()
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(one, acts))


def drive_at_once(world: World, run: RunInWorld, processes: int) -> list[str]:
    """So many processes go on with a run together; how each ended: `done`, or the name of an error."""
    command = [sys.executable, "-m", "tests.support.racing", str(world.folder), world.engine_name, run.run_id]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = [subprocess.Popen(command, cwd=ROOT, text=True, **pipes) for _ in range(processes)]
    for each in started:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    ended = at_once([lambda each=each: each.communicate("go\n", timeout=60) for each in started])
    return [said.strip() or error for said, error in ended]


def main(folder: str, engine: str, run_id: str) -> None:
    world = World(Path(folder), engine)
    run = RunInWorld(world, run_id)
    driver = world.engine
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        driver.drive(run.run_id)
    except RuntimeError as error:
        print(type(error).__name__)
    else:
        print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
