"""Measuring two sides in turn (A B A B ...), so that what else the machine does falls on both alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

WARM_UP = 5

Side = Callable[[], Any]  # one piece of work, each time with materials of its own


@dataclass(frozen=True, slots=True)
class Measured:
    """What a comparison gave. `ratio` is the median of the pairs' ratios; the other figures are medians in ms."""

    name: str
    what: str
    goal: float
    ratio: float
    ours_ms: float
    peer_ms: float
    pairs: int
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        return self.ratio <= self.goal


def measure(name: str, what: str, goal: float, ours: Side, peer: Side, pairs: int, facts: dict[str, Any]) -> Measured:
    """Run both sides in turn; the first pairs only warm up."""
    taken = [(_timed(ours), _timed(peer)) for _ in range(WARM_UP + pairs)][WARM_UP:]
    return Measured(
        name=name,
        what=what,
        goal=goal,
        ratio=statistics.median(a / b for a, b in taken),
        ours_ms=statistics.median(a for a, _ in taken) * 1000,
        peer_ms=statistics.median(b for _, b in taken) * 1000,
        pairs=pairs,
        facts=facts,
    )


def _timed(side: Side) -> float:
    """Seconds. Garbage of the other side is collected before, not during."""
    gc.collect()
    begun = time.perf_counter()
    side()
    return time.perf_counter() - begun
