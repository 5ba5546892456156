"""The soak: everything that takes too long for every change, and a page that says what came out.

    python -m tests.chaos.soak [--seed N] [--workers N] [--without schedules mutation]

Every story on every engine and durability dies once at each boundary, and twice in all pairs; then thousands of
simulated schedules; then mutation testing. The page is `docs/proof/soak.md`.
"""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tests.chaos.scenarios import IN_ALL_PAIRS
from tests.chaos.sweep import Swept, cases, sweep, told
from tests.chaos.work import workers

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "proof" / "soak.md"
LIBRARIES = ("langgraph", "langgraph-checkpoint-sqlite", "SQLAlchemy", "pydantic")
LAST_LINES = 25


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the soak: what it is, how it went, and its closing words."""

    title: str
    command: str
    passed: bool
    seconds: float
    said: str


def ran(title: str, command: Sequence[str]) -> Part:
    """A command of its own, shown while it runs; its last lines are kept."""
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines: list[str] = []
    for line in process.stdout or ():
        print(line, end="", flush=True)
        lines.append(line.rstrip())
    said = "\n".join(each for each in lines[-LAST_LINES:] if each.strip())
    named = " ".join(["python", *command[1:]])
    return Part(title, named, process.wait() == 0, time.monotonic() - began, said)


def swept_part(swept: Swept) -> Part:
    command = "python -m tests.chaos.sweep --all"
    return Part("Deaths at every boundary", command, swept.whole, swept.seconds, told(swept))


def page(parts: Sequence[Part], commit: str, seed: int) -> str:
    """The page as it is kept beside the code."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    lines = [
        "# The last soak",
        "",
        "Written by `make soak`. What each part does is said in `tests/chaos/` and `tests/properties/`.",
        "",
        "| | |",
        "|---|---|",
        f"| commit | {commit} |",
        f"| CPUs | {os.cpu_count()} ({platform.machine()}, {platform.system()}) |",
        f"| Python, SQLite | {platform.python_version()}, {sqlite3.sqlite_version} |",
        f"| libraries | {libraries} |",
        f"| seed | {seed} |",
        f"| ended | {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC |",
        "",
    ]
    for part in parts:
        verdict = "passed" if part.passed else "NOT PASSED"
        lines += [f"## {part.title}: {verdict}", "", f"`{part.command}`, {part.seconds:.0f} s", ""]
        lines += ["```", part.said, "```", ""]
    return "\n".join(lines)


def commit() -> str:
    """The commit, and whether the files differ from it."""
    try:
        named = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
        changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return named.stdout.strip() + (" with changes" if changed.stdout.strip() else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every part passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--without", nargs="*", choices=["schedules", "mutation"], default=[])
    asked = parser.parse_args(arguments)
    began_at = commit()
    with workers(asked.workers) as pool:
        swept = sweep(cases([], None, None, every=True), pool, None, IN_ALL_PAIRS)
    parts = [swept_part(swept)]
    print(parts[0].said, flush=True)
    if "schedules" not in asked.without:
        schedules = [sys.executable, "-m", "pytest", "-m", "soak", f"--hypothesis-seed={asked.seed}"]
        parts.append(ran("Simulated schedules", schedules))
    if "mutation" not in asked.without:
        parts.append(ran("Mutation testing", [sys.executable, "-m", "tests.mutation"]))
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(parts, began_at, asked.seed))
    print(f"written: {PAGE.relative_to(ROOT)}")
    return int(not all(part.passed for part in parts))


if __name__ == "__main__":
    sys.exit(main())
