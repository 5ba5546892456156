"""`python -m benchmarks [B1 B2 B3 B5 B7 ...] [--pairs 30] [--json FILE] [--folder DIR]`: measures, and prints a table.

The figures say something about this machine in this minute, and only their ratio says more. `--folder` names where the
databases are written while measuring: on a disk, because committing is most of the work.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")  # before langgraph is imported, as Remit's own wiring does
os.environ.setdefault("LANGSMITH_TRACING", "false")

from benchmarks.against_peers import BENCHMARKS
from benchmarks.pairs import Measured

PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "langchain", "langchain-core", "SQLAlchemy", "pydantic")


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "cpus": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        **{name: version(name) for name in PACKAGES},
    }


def table(measured: list[Measured]) -> str:
    """One line a measure, and below it what was counted."""
    lines = [f"{'':9} {'goal':>6} {'ratio':>6} {'ours':>10} {'peer':>10}  what (medians of {measured[0].pairs} pairs)"]
    for each in measured:
        verdict = " " if each.reached else "!"
        figures = f"{each.goal:6.2f} {each.ratio:6.2f}{verdict}{each.ours_ms:7.1f} ms {each.peer_ms:7.1f} ms"
        lines.append(f"{each.name:9} {figures}  {each.what}")
        lines += [f"{'':9}   {name}: {value:,}" for name, value in each.facts.items()]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n\n")[-1])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all if none is named")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--folder", type=Path, metavar="DIR")
    given = parser.parse_args()
    unknown = set(given.names) - set(BENCHMARKS)
    if unknown or given.pairs < 1:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}" if unknown else "--pairs must be 1 or more")

    measured: list[Measured] = []
    for name in given.names or BENCHMARKS:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            found = BENCHMARKS[name](Path(folder), given.pairs)
        print(
            table(found) if found else f"{name} needs the `remit` command beside {sys.executable}; left out.",
            flush=True,
        )
        measured += found
    print(", ".join(f"{name} {value}" for name, value in machine().items()))
    if given.json:
        report = {"machine": machine(), "pairs": given.pairs, "measured": [asdict(each) for each in measured]}
        given.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
