"""Checkpointers that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver


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
