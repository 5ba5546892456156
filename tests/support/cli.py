"""The command `remit` as a test uses it: in this process, through its only entry point, on its own data directory."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from service.cli import main

NOTICE = "Rule on widgets\n\nPublished: January 5, 2026\n\nEffective date: March 1, 2026\n"
NO_DATE = "Proposed rule on widgets\n\nPublished: January 5, 2026\n\nComments are due by March 1, 2026.\n"
CATALOGUE = "id,title,effective\nr1,Rule on widgets,2026-02-01\nr2,Rule on widgets,2026-03-01\n"
TICKET = ("--source", "a notice", "--field", "effective", "--observed", "2026-03-01", "--recorded", "2026-02-01")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        return json.loads(self.out)

    @property
    def error(self) -> str:
        return self.json["error"]["code"]


class Cli:
    """Runs commands as a user; `json` runs them with --json."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._patch = monkeypatch
        self._capsys = capsys
        monkeypatch.setenv("REMIT_DATA_DIR", str(self.data))
        monkeypatch.delenv("REMIT_MATERIALS_ROOT", raising=False)
        self.notice = self.file("notice.md", NOTICE)
        self.catalog = self.file("catalog.csv", CATALOGUE)

    def file(self, name: str, content: str | bytes) -> str:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    def __call__(self, *arguments: str, user: str = "ada") -> Said:
        self._patch.setenv("REMIT_USER", user)
        self._capsys.readouterr()
        code = main(arguments)
        out, err = self._capsys.readouterr()
        return Said(code, out, err)

    def json(self, *arguments: str, user: str = "ada") -> Said:
        return self(*arguments, "--json", user=user)

    def check(self, record: str = "r1", *more: str, notice: str | None = None, user: str = "ada") -> Said:
        """`remit run catalog-check` on the loop engine."""
        files = ("--notice", notice or self.notice, "--catalog", self.catalog, "--record", record)
        return self.json("run", "catalog-check", *files, "--engine", "loop", *more, user=user)

    def ticket(self, *more: str, user: str = "ada") -> Said:
        """`remit run ticket` on the loop engine."""
        return self.json("run", "ticket", *TICKET, "--engine", "loop", *more, user=user)

    def at_a_terminal(self, typed: str, *arguments: str, user: str = "ada") -> Said:
        """The same at a terminal, where somebody types these lines and then presses Ctrl-D."""
        out = Terminal()
        self._patch.setenv("REMIT_USER", user)
        self._patch.setenv("NO_COLOR", "1")
        with self._patch.context() as patch:
            patch.setattr("sys.stdin", Terminal(typed))
            patch.setattr("sys.stdout", out)
            code = main(arguments)
        return Said(code, out.getvalue(), self._capsys.readouterr().err)


def asked(said: Said) -> dict[str, Any]:
    """The one approval that a run waits for."""
    (approval,) = said.json["pending"]["approvals"]
    return approval
