"""What a person at a terminal sees. Colours and boxes only where there is a terminal; elsewhere plain, unbroken lines.

Every word that comes from a file, a run or a person goes through `plain`, so that it cannot draw on the terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from service.wording import event_words, plain, status_words
from state.digest import Json

_PIPE_WIDTH = 200
_OFFERS = {
    "To go on:": {"approve", "reject", "edit", "resume", "budget_grant", "budget_refuse"},
    "To say what happened:": {"settle_done", "settle_not_done"},
    "To take it back:": {"compensate"},
}
_COLOURS = {"succeeded": "green", "waiting": "yellow", "paused": "yellow", "queued": "cyan", "running": "cyan"}


class Screen:
    """Results go to standard output, errors to standard error; with `aside` everything goes to standard error."""

    def __init__(self, aside: bool = False) -> None:
        self._errors = _console(sys.stderr)
        self._out = self._errors if aside else _console(sys.stdout)

    def line(self, text: str, style: str = "") -> None:
        """One line that is never broken, so that a command in it can be copied."""
        self._out.print(Text(text, style=style), soft_wrap=True)

    def error(self, message: str) -> None:
        first, *hints = message.split("\n")
        self._errors.print(Text.assemble(("remit: ", "bold red"), plain(first)), soft_wrap=True)
        for hint in hints:
            self._errors.print(Text(f"  {plain(hint)}"), soft_wrap=True)

    def event(self, event: Json) -> None:
        """One line of a timeline; its time is UTC."""
        at, words = event["at"][11:23], event_words(event)
        style = "red" if event["type"].endswith((".failed", ".denied", ".unknown", ".refused")) else ""
        text = Text.assemble((f"  {at} {event['seq']:>3}  ", "dim"), (words, style))
        self._out.print(text, soft_wrap=True)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Values are folded, never cut off."""
        table = Table(title=title or None, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(plain("" if value is None else value)) for value in row))
        self._out.print(table)

    def approval(self, asked: Json) -> None:
        """Exactly what would be written: the difference, every argument, the words cited, the digest, the expiry."""
        preview = asked["preview"]
        parts: list[Table | Text] = [Text(plain(preview.get("summary", asked["tool"])), style="bold")]
        parts += [self._difference(preview.get("difference", [])), Text()]
        facts = _grid()
        for name, value in asked["arguments"].items():
            facts.add_row(Text(plain(name), style="dim"), Text(plain(value)))
        for cite in preview.get("cites", []):
            words = plain(" ".join(str(cite["quote"]).split()))
            facts.add_row(Text(f"cited from {plain(cite['material'])}", style="dim"), Text(f"“{words}”"))
        for name, value in _people(asked):
            facts.add_row(Text(name, style="dim"), Text(plain(value)))
        facts.add_row(Text("digest", style="dim"), Text(asked["digest"]))
        facts.add_row(Text("open until", style="dim"), Text(asked["expires_at"]))
        facts.add_row(Text("approval", style="dim"), Text(asked["id"]))
        title = Text(plain(f"{asked['tool']}, asked for by {asked['requester']}"))
        body = Group(*parts, facts)
        if self._out.is_terminal:
            self._out.print(Panel(body, title=title, title_align="left", border_style="yellow"))
        else:
            self._out.print(Group(title, body))

    @staticmethod
    def _difference(rows: Sequence[Json]) -> Table:
        table = Table(box=None, pad_edge=False)
        for column in ("field", "recorded", "", "observed"):
            table.add_column(column, overflow="fold")
        for row in rows:
            before, after = plain(row["recorded"]), plain(row["observed"])
            table.add_row(Text(plain(row["field"])), Text(before, style="red"), Text("->"), Text(after, style="green"))
        return table

    def run(self, run: Json) -> None:
        """The result of a run as a table, and what can be done next."""
        status = status_words(run["status"], run["status_reason"])
        if run["desired_action"] != "none" and run["status"] != "cancelling" and run["status_reason"] != "takeover":
            status += f", asked to {run['desired_action'].replace('_', ' ')}"
        table = _grid()
        table.add_row(Text("run", style="dim"), Text(run["run_id"]))
        table.add_row(Text("agent", style="dim"), Text(f"{run['agent_id']}, for {plain(run['created_by'])}"))
        table.add_row(Text("status", style="dim"), Text(status, style=_COLOURS.get(run["status"], "red")))
        table.add_row(Text("effect", style="dim"), Text(_effect(run)))
        for name, value in _outcome(run):
            table.add_row(Text(name, style="dim"), Text(plain(value)))
        self._out.print(table)
        self._next(run)

    def _next(self, run: Json) -> None:
        for title, names in _OFFERS.items():
            actions = [each for each in run["actions"] if each["action"] in names]
            if actions:
                self.line(title, "bold")
            for each in actions:
                self.line(f"  {plain(each['command'])}")

    def ask(self, question: str) -> str:
        """A line from the person. Raises EOFError, KeyboardInterrupt."""
        return self._out.input(Text(question, style="bold")).strip()


def _console(stream: TextIO) -> Console:
    """Rich leaves colours away where there is no terminal, and where NO_COLOR is set."""
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    return console


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def _people(asked: Json) -> list[tuple[str, str]]:
    """Whose answer is asked for, if not anybody's, and the answers that stand already."""
    found: list[tuple[str, str]] = []
    later: Json | None = asked["escalation"]
    if asked["role"] or asked["quorum"] > 1:
        whose = f"people in the role {asked['role']}" if asked["role"] else "people"
        also = f", {'and' if later['in_force'] else 'from ' + later['at'] + ' on also'} {later['to']}" if later else ""
        found.append(("asked of", f"{asked['quorum']} {whose}{also}"))
    return found + [("so far", f"{each['answer']} by {each['approver']}") for each in asked["decided"]]


def _effect(run: Json) -> str:
    """What has happened in the world, and whether it was read back."""
    verified = {each["operation_id"]: each["verified"] for each in run["operations"]}
    said = {True: ", read back and as approved", False: ", but reads back differently", None: ""}
    words = [
        f"{plain(each['tool'])} -> {plain(each['object_id'])}{said[verified.get(each['operation_id'])]}"
        f" ({each['operation_id']})"
        for each in run["effects"]["committed"]
    ]
    words += [f"{plain(each['tool'])}: outcome unknown" for each in run["effects"]["unknown"]]
    return "; ".join(words) or "none"


def _outcome(run: Json) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if run["result"]:
        found.append(("result", run["result"]["summary"]))
    missing: Json | None = run["pending"]["migration"]
    if missing is not None:
        found.append(("needs", f"{missing['needs']}; {missing['why']}"))
    failure: Json = run["failure"] or {}
    for title, name in (("because", "detail"), ("next", "advice")):
        if failure.get(name):
            found.append((title, failure[name]))
    return found
