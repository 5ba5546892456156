"""A clock that stands still until a test moves it."""

from __future__ import annotations

import threading

from state.clock import SystemClock

START = SystemClock().now()


class ManualClock:
    """Both readings move together, by what a test says."""

    def __init__(self, now: int = START) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def monotonic(self) -> int:
        return self._now

    def wait(self, ms: int, until: threading.Event) -> None:
        if not until.is_set():
            self._now += ms

    def passes(self, *, seconds: float) -> None:
        self._now += int(seconds * 1000)
