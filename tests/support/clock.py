"""A clock that stands still until a test moves it."""

from __future__ import annotations

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

    def passes(self, *, seconds: float) -> None:
        self._now += int(seconds * 1000)
