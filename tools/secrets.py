"""Secrets by reference: `secret://NAME` stands for a value that is looked up when a call is made, and kept by nobody.

A configuration names secrets, it never holds them. The value comes from `REMIT_SECRET_NAME`, or from the file that
`REMIT_SECRET_NAME_FILE` names; it is never in arguments, records, errors or reprs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from state.errors import ToolError

REFERENCE = re.compile(r"secret://([A-Z][A-Z0-9_]{0,63})")
MAX_FILE_BYTES = 64 * 1024
_VISIBLE = re.compile(r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$")


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
            return found

        return REFERENCE.sub(value, text)

    def _value(self, name: str) -> str:
        found = self._environment.get(f"REMIT_SECRET_{name}")
        file = self._environment.get(f"REMIT_SECRET_{name}_FILE")
        if found is None and file:
            found = _read(name, file)
        if not found:
            raise ToolError("internal", f"The secret {name} is not set: set REMIT_SECRET_{name}, or _FILE to a file.")
        if not _VISIBLE.match(found):
            raise ToolError("internal", f"The secret {name} holds characters that a header cannot carry.")
        return found

    def __repr__(self) -> str:
        return "Secrets()"


def hide(text: str, revealed: list[str]) -> str:
    """The text with every revealed value made unreadable, also as JSON or a URL writes it: a target may repeat what it
    was sent.
    """
    forms = {form for each in revealed for form in (each, json.dumps(each)[1:-1], quote(each, safe=""))}
    for value in sorted(forms, key=len, reverse=True):
        text = text.replace(value, "***")
    return text


def _read(name: str, file: str) -> str:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(MAX_FILE_BYTES).decode("ascii").strip()
    except (OSError, ValueError):
        raise ToolError("internal", f"The secret {name} cannot be read: look at REMIT_SECRET_{name}_FILE.") from None
