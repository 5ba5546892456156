"""The programs in the README run as they stand, in two processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _program(name: str) -> str:
    readme = (ROOT / "README.md").read_text("utf-8")
    (found,) = re.findall(rf"```python\n# {name}\n(.*?)```", readme, re.DOTALL)
    return found


@pytest.mark.long
def test_one_process_asks_and_another_answers(tmp_path: Path) -> None:
    said: list[str] = []
    for name in ("ask.py", "answer.py"):
        done = subprocess.run(
            [sys.executable, "-c", _program(name)],
            cwd=ROOT,
            env={**os.environ, "REMIT_DATA_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        said.append(done.stdout)

    assert "'observed': '2026-06-15'" in said[0]
    assert "Done and read back: create_ticket ticket_" in said[1]
