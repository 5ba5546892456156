"""Real processes for a few milliseconds each: children of a process that has imported everything and opened nothing.

A child says one JSON value and goes, or it is killed, by itself or because it took too long.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TOO_LONG_S = 60


@dataclass(frozen=True, slots=True)
class Gone:
    """How a child went: what it said, or the signal that killed it, or the traceback of what it raised."""

    said: Any = None
    signal: int | None = None
    error: str | None = None

    @property
    def killed(self) -> bool:
        return self.signal == signal.SIGKILL


def forked(work: Callable[[], Any], seconds: int = TOO_LONG_S) -> Gone:
    """Do the work in a child and wait for its end, which comes after so many seconds at the latest.

    Raises RuntimeError where there are threads: they do not fork.
    """
    if threading.active_count() != 1:
        raise RuntimeError("a process that forks must have no threads of its own")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(work, writing, seconds)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Gone(signal=os.WTERMSIG(status))
    return Gone(**json.loads(said))


def _child(work: Callable[[], Any], writing: int, seconds: int) -> None:
    """Never returns."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    gc.disable()  # it does not live long enough for it to pay
    try:
        answer = {"said": work()}
    except BaseException:
        answer = {"error": traceback.format_exc()}
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(json.dumps(answer).encode())
    os._exit(0)


def ready_to_fork() -> None:
    """What is there by now is shared with the children, and is not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
