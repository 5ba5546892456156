"""Checkpointers, opened right: WAL, `synchronous=NORMAL` (a checkpoint may be lost), a busy timeout, and set up."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver

BUSY_TIMEOUT_S = 10.0


@contextmanager
def sqlite_saver(path: Path) -> Generator[SqliteSaver]:
    """A `SqliteSaver` on this file, for `graph.invoke` in one process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        saver = SqliteSaver(connection)
        saver.setup()
        yield saver
    finally:
        connection.close()
