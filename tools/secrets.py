"""Secrets by reference: `secret://NAME` stands for a value that is looked up when a call is made, and kept nowhere.

A configuration names secrets, it never holds them. The value comes from `REMIT_SECRET_NAME`, from the file that
`REMIT_SECRET_NAME_FILE` names, or from the file `NAME` in `REMIT_SECRETS_DIR`; it is never in arguments, records,
errors or reprs. What foreign code says may repeat it all the same: `redacted` is where that ends, for every tool
(`tools.contract.foreign`).
"""

from __future__ import annotations

import json
import re
import stat
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

from state.errors import ToolError

REFERENCE = re.compile(r"secret://([A-Z][A-Z0-9_]{0,63})")
MAX_FILE_BYTES = 64 * 1024
SHORTEST = 4  # a shorter value occurs everywhere, so that no text could be kept free of it
HIDDEN = "***"
_VISIBLE = re.compile(r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
T = TypeVar("T")


class Secrets:
    """Looks secrets up in an environment that is handed in, so that a changed secret counts from the next call on."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def reveal(self, text: str, revealed: list[str]) -> str:
        """The text with its references replaced; their values are added to `revealed`, for `hide`.

        Raises ToolError `internal`, which says which secret is missing and where to put it, and nothing of any value.
        """

        def value(reference: re.Match[str]) -> str:
            found = self._value(reference[1])
            revealed.append(found)
            _revealed.add(found)
            return found

        return REFERENCE.sub(value, text)

    def _value(self, name: str) -> str:
        found = self._environment.get(f"REMIT_SECRET_{name}") or self._from_file(name)
        if not found:
            raise ToolError(
                "internal",
                f"The secret {name} is not set: set REMIT_SECRET_{name}, or _FILE to a file, or put a file {name} into"
                " the folder REMIT_SECRETS_DIR.",
            )
        if not _VISIBLE.match(found):
            raise ToolError("internal", f"The secret {name} holds characters that a header cannot carry.")
        if len(found) < SHORTEST:
            raise ToolError("internal", f"The secret {name} is shorter than {SHORTEST} characters: take a longer one.")
        return found

    def _from_file(self, name: str) -> str | None:
        file, folder = self._environment.get(f"REMIT_SECRET_{name}_FILE"), self._environment.get("REMIT_SECRETS_DIR")
        if file:
            return _read(name, Path(file), f"REMIT_SECRET_{name}_FILE")
        if folder and (Path(folder) / name).exists():
            return _read(name, Path(folder) / name, "REMIT_SECRETS_DIR")
        return None

    def __repr__(self) -> str:
        return "Secrets()"


def _read(name: str, file: Path, setting: str) -> str:
    """A file that others may write is refused: who puts a value there decides what Remit sends."""
    try:
        with file.open("rb") as opened:
            if stat.S_IMODE(file.stat().st_mode) & _OTHERS_WRITE:
                raise ToolError("internal", f"The secret {name} lies in a file that others may write: chmod go-w it.")
            return opened.read(MAX_FILE_BYTES).decode("ascii").strip()
    except (OSError, ValueError):
        raise ToolError("internal", f"The secret {name} cannot be read: look at {setting}.") from None


# --- what was revealed is hidden wherever it comes back -------------------------------------------------------


class _Revealed:
    """Every value that was looked up in this process, in the forms in which a target may repeat it."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._lock = threading.Lock()
        self.forms: tuple[str, ...] = ()  # the longest first

    def add(self, value: str) -> None:
        if value in self._values:
            return
        with self._lock:
            self._values.add(value)
            self.forms = _forms(self._values)


_revealed = _Revealed()


def hide(text: str, revealed: Iterable[str]) -> str:
    """The text with every revealed value made unreadable, also as JSON or a URL writes it: a target may repeat what it
    was sent.
    """
    return _without(text, _forms(revealed))


def redacted(value: T) -> T:
    """A JSON value, at any depth, or a text without any secret that was looked up in this process; anything else as it
    is. The value itself, where there is none in it.
    """
    forms = _revealed.forms
    return cast(T, _redacted(value, forms)) if forms else value


def redacted_end(text: str) -> str:
    """As `redacted`, for a text that somebody has cut: the beginning of a secret at its end goes too."""
    text = redacted(text)
    for form in _revealed.forms:
        for length in range(min(len(form) - 1, len(text)), SHORTEST - 1, -1):
            if text.endswith(form[:length]):
                return text[:-length] + HIDDEN
    return text


def _redacted(value: Any, forms: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return _without(value, forms)
    if isinstance(value, list):
        return [_redacted(each, forms) for each in cast(list[Any], value)]
    if isinstance(value, dict):
        named = cast(dict[Any, Any], value)
        return {_redacted(name, forms): _redacted(each, forms) for name, each in named.items()}
    return value


def _without(text: str, forms: tuple[str, ...]) -> str:
    for form in forms:
        text = text.replace(form, HIDDEN)
    return text


def _forms(values: Iterable[str]) -> tuple[str, ...]:
    found = {form for each in values for form in (each, json.dumps(each)[1:-1], repr(each)[1:-1], quote(each, safe=""))}
    return tuple(sorted(found, key=len, reverse=True))
