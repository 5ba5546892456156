"""All that a world's databases hold, as text that is the same whenever the same has happened.

What is made up anew each time (ids, hashes, folders) is numbered in the order of its first appearance.
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.world import World

_MADE_UP = re.compile(
    r"\b\d+-[0-9a-f]{12}\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b"
    r"|(?<=@1\+)[0-9a-f]{12}\b|(?<=op_)[0-9a-f]{24}\b|(?<=_)[0-9a-f]{12}\b|(?<=sha256:)[0-9a-f]{12}\b"
)
_UNTELLING = {"event_id", "hash", "last_hash", "definition"}
_NOT_OURS = {"alembic_version", "sqlite_sequence"}


def records(world: World) -> str:
    """A line per row of every table of ledger and business store; what is nothing, 0 or empty is left out."""
    settings = world.parts.settings
    lines = [line for path in (settings.ledger_path, settings.business_path) for line in _rows(path)]
    text = "\n".join(lines).replace(str(world.folder), "FOLDER")
    numbers: dict[str, int] = {}
    return _MADE_UP.sub(lambda found: f"<{numbers.setdefault(found[0], len(numbers) + 1)}>", text) + "\n"


def _rows(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [
            f"{path.stem} {name} {json.dumps(_said(dict(row)), ensure_ascii=False)}"
            for name in sorted(set(names) - _NOT_OURS)
            for row in connection.execute(f"SELECT * FROM {name} ORDER BY rowid")
        ]


def _said(row: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row.items() if value and name not in _UNTELLING}
    return {name: value for name, value in shown.items() if (name, value) != ("tenant_id", "local")}
