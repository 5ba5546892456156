"""Checkpointers that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from graphs.checkpointers import sqlite_saver


def failing_saver(after: int) -> Callable[[], AbstractContextManager[Any]]:
    """A saver whose disk is full after so many checkpoints."""

    class Full(InMemorySaver):
        puts = 0

        def put(self, *args: Any, **more: Any) -> Any:
            self.puts += 1
            if self.puts > after:
                raise OSError("the disk is full")
            return super().put(*args, **more)

    @contextmanager
    def opened() -> Iterator[Any]:
        yield Full()

    return opened


class Saves:
    """What a checkpointer was asked to write: how often, at which of these it fails (once), and what it kept.

    Both kinds of writes count: checkpoints, and what a node answered before its checkpoint is there.
    """

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at
        self.asked = 0
        self.kept: list[str] = []

    def comes(self) -> None:
        self.asked += 1
        if self.asked == self.fails_at:
            raise OSError("the disk is full")


class _Unsound(SqliteSaver):
    saves: Saves

    def put(self, *given: Any, **more: Any) -> Any:
        self.saves.comes()
        saved: Any = super().put(*given, **more)
        self.saves.kept.append(saved["configurable"]["checkpoint_id"])
        return saved

    def put_writes(self, *given: Any, **more: Any) -> None:
        self.saves.comes()
        super().put_writes(*given, **more)


def unsound_saver(path: Path, saves: Saves) -> Callable[[], AbstractContextManager[SqliteSaver]]:
    """The ordinary checkpointer on this file, which fails where `saves` says."""

    @contextmanager
    def opened() -> Iterator[SqliteSaver]:
        with sqlite_saver(path) as ordinary:
            saver = _Unsound(ordinary.conn, serde=ordinary.serde)
            saver.saves = saves
            yield saver

    return opened


def full_saver(path: Path, pages: int) -> Callable[[], AbstractContextManager[SqliteSaver]]:
    """The ordinary checkpointer on a disk that has room for so many pages more."""

    @contextmanager
    def opened() -> Iterator[SqliteSaver]:
        with sqlite_saver(path) as saver:
            (used,) = saver.conn.execute("PRAGMA page_count").fetchone()
            saver.conn.execute(f"PRAGMA max_page_count = {used + pages}")
            yield saver

    return opened
