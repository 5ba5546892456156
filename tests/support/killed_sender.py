"""A real process that is killed between sending a message and recording that it did: `… killed_sender FOLDER`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.faults import crashing_ledger, kill
from tests.support.notified import Told
from tests.support.world import World

ROOT = Path(__file__).parents[2]


def is_killed_after_sending(folder: Path) -> int:
    """Its exit status."""
    command = [sys.executable, "-m", "tests.support.killed_sender", str(folder)]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, timeout=60).returncode


def main(folder: str) -> None:
    world = World(Path(folder), "loop", notify_file=Path(folder) / "notify.json")
    told = Told(world)
    world.dies(ledger=crashing_ledger(2, "before", kill))
    told.sends()


if __name__ == "__main__":
    main(*sys.argv[1:])
