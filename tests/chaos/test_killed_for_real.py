"""Real processes, killed for real at every boundary of one story, with a checkpointer beside the stores."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_a_graph_that_is_killed_at_any_boundary_ends_as_if_nothing_had_happened() -> None:
    command = [sys.executable, "-m", "tests.chaos.sweep", "C3", "--engine", "langgraph", "--durability", "sync"]

    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=300)

    found = re.search(r"survived (\d+)/(\d+) single deaths", done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found is not None
    assert found[1] == found[2]
    assert int(found[2]) > 60
