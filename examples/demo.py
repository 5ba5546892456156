"""What Remit does, in half a minute: a run asks, acts once and accounts for it; then again with its process killed.

Everything is done by the command `remit` in processes of its own, in a data directory that is removed at the end; this
program only watches. The exit status is 0 only if everything came out as it says here.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from graphs.wiring import Settings, open_parts
from service.use_cases import UseCases
from state.actor import Actor

ROOT = Path(__file__).resolve().parents[1]
USER = "demo"
TASK = ("--notice", "examples/notices/01-ferry-fares.md", "--catalog", "examples/catalogue.csv", "--record", "01")
AT_A_TERMINAL = sys.stdin.isatty() and sys.stdout.isatty()
GOOD = ("succeeded", "committed", "yes", "1")

Run = dict[str, Any]
console = Console(highlight=False)


class Demo:
    """One data directory, the command `remit` on it, and what can be seen in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = os.environ | {"REMIT_DATA_DIR": str(folder), "REMIT_USER": USER}

    def remit(self, *arguments: str, asks: bool = False) -> int:
        """Run `remit` where everybody sees it; its exit code."""
        say(f"\n$ remit {shlex.join(arguments)}", style="cyan")
        return self.python("-m", "service.cli", *arguments, asks=asks)

    def python(self, *command: str, asks: bool = False) -> int:
        """Run a process with the data directory; its exit status."""
        sys.stdout.flush()
        standard_input = None if asks else subprocess.DEVNULL
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, env=self._environment, stdin=standard_input, check=False
        )
        return done.returncode

    def looked_at(self) -> Seen:
        """The newest run, its events, and the tickets there are."""
        parts = open_parts(Settings(self._folder, USER))
        try:
            cases = UseCases(parts, Actor(USER))
            run = cases.run(cases.recent(1)[0]["run_id"])
            return Seen(run, cases.events(run["run_id"]), cases.tickets(10))
        finally:
            parts.close()


class Seen:
    """What the ledger and the business store say at one moment."""

    def __init__(self, run: Run, events: list[dict[str, Any]], tickets: list[dict[str, Any]]) -> None:
        self.run = run
        self.run_id: str = run["run_id"]
        self.asked = run["pending"]["approvals"]
        self.events = [each["type"] for each in events]
        write = next((each for each in reversed(run["operations"]) if each["effect"] == "write"), {})
        self.verified = {True: "yes", False: "NO", None: "-"}[write.get("verified")]
        keys = [f"ticket:{each['source_sha256']}:{each['record']}:{each['field']}" for each in tickets]
        self.tickets = keys.count(write.get("key", ""))

    def row(self) -> tuple[str, ...]:
        return self.run["status"], self.run["effect"], self.verified, str(self.tickets)


def say(text: str, style: str = "") -> None:
    console.print(text, style=style, markup=False, soft_wrap=True)


def ordinary(demo: Demo) -> tuple[str, ...]:
    """A run that asks, is approved, writes one ticket and reads it back."""
    say("\n1. A notice moved a date, and the catalogue still has the old one", style="bold")
    demo.remit("run", "catalog-check", *TASK, "--verbose", asks=AT_A_TERMINAL)
    seen = demo.looked_at()
    if seen.asked and not AT_A_TERMINAL:
        say(f"\nThere is no terminal to ask at, so the demo approves what you see above, as the user {USER!r}.")
        demo.remit("approve", seen.asked[0]["id"], "--digest", seen.asked[0]["digest"], "--verbose")
        seen = demo.looked_at()
    demo.remit("tickets", "list")
    return (*seen.row(), "-")


def killed(demo: Demo) -> tuple[str, ...]:
    """The same run; its process is killed when the ticket is committed and nobody has recorded that yet."""
    say("\n2. The same in a new data directory, and the process is killed at the worst moment", style="bold")
    demo.remit("run", "catalog-check", *TASK)
    asked = demo.looked_at().asked[0]
    say(f"\nThe same question. This time the demo approves by itself, as the user {USER!r}, and only records that.")
    demo.remit("approve", asked["id"], "--digest", asked["digest"], "--no-drive")
    say("\nNow a process drives the run on, and kills itself (SIGKILL) right after the business store has committed")
    say("the ticket, before the ledger could record that. This is window B.")
    status = demo.python("examples/killed_driver.py", demo.looked_at().run_id)
    dead = demo.looked_at()
    say(f"\nThe process ended with {status}. The business store holds {dead.tickets} ticket, and for the ledger the")
    say(f"effect is {dead.run['effect']}. A new process looks it up under its key, and does not write it again:")
    demo.remit("resume", dead.run_id, "--verbose")
    seen = demo.looked_at()
    as_told = dead.tickets == 1 and dead.run["effect"] == "unknown" and "tool.reconciled" in seen.events
    return (*seen.row(), str(status) if as_told else f"{status}, but not in window B")


def main() -> int:
    say("Remit demo. It uses examples/ and a temporary data directory.")
    with tempfile.TemporaryDirectory(prefix="remit-demo-") as folder:
        rows = [ordinary(Demo(Path(folder) / "1")), killed(Demo(Path(folder) / "2"))]
    table = Table(title="\nResult", title_justify="left", title_style="bold")
    for column in ("", "status", "effect", "read back", "tickets", "killed with"):
        table.add_column(column)
    for name, row in zip(("1. ordinary", "2. killed in B"), rows, strict=True):
        table.add_row(name, *row)
    console.print(table)
    if rows == [(*GOOD, "-"), (*GOOD, str(-signal.SIGKILL))]:
        say("One approved ticket each, whatever happened to the process.", style="green")
        return 0
    say("This is not what the demo expects: each run succeeds with exactly one ticket that reads back.", style="red")
    say("If you said no or later above, that is why; run it again and approve.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
