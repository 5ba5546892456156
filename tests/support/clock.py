"""A clock that stands still until a test moves it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from state.clock import SystemClock

START = SystemClock().now()


class ManualClock:
    """Both readings move together, by what a test says."""

    def __init__(self, now: int = START) -> None:
        self._now = now
        self._jumped = 0
        self._meanwhile: list[Callable[[], object]] = []

    def now(self) -> int:
        return self._now + self._jumped

    def monotonic(self) -> int:
        return self._now

    def wait(self, ms: int, until: threading.Event) -> None:
        if self._meanwhile:
            self._meanwhile.pop(0)()
            until.wait()
        if not until.is_set():
            self._now += ms

    def at_the_next_wait(self, act: Callable[[], object]) -> None:
        """While somebody waits, this happens, and it must end the wait."""
        self._meanwhile.append(act)

    def jumps(self, *, seconds: float) -> None:
        """Somebody sets the wall clock; the other one knows nothing of it."""
        self._jumped += int(seconds * 1000)

    def passes(self, *, seconds: float) -> None:
        self._now += int(seconds * 1000)
