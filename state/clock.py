"""Time as a dependency: everything that asks for the time is handed a clock."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Two readings of time, both integers."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01 UTC. May jump; used for facts, expiry and deadlines."""
        ...

    def monotonic(self) -> int:
        """Milliseconds that never run backwards; used for durations inside one process."""
        ...

    def wait(self, ms: int, until: threading.Event) -> None:
        """Let so many milliseconds pass, or fewer: the event ends the wait."""
        ...


@dataclass(frozen=True, slots=True)
class Permit:
    """How long something may still be begun. Over when either clock says so: one may be set, the other may sleep."""

    until: int
    until_monotonic: int

    @staticmethod
    def of(clock: Clock, seconds: float) -> Permit:
        length = int(seconds * 1000)
        return Permit(clock.now() + length, clock.monotonic() + length)

    def is_over(self, clock: Clock) -> bool:
        return clock.now() > self.until or clock.monotonic() > self.until_monotonic


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def wait(self, ms: int, until: threading.Event) -> None:
        until.wait(ms / 1000)


def iso(ms: int | None) -> str | None:
    """`2026-01-02T03:04:05.678Z` of milliseconds since 1970, for people and JSON; None stays None."""
    if ms is None:
        return None
    seconds, rest = divmod(ms, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03d}Z"
