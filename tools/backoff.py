"""How long to wait before another try: exponential, capped, spread so that many do not come back at once."""

from __future__ import annotations

import random as _random
from collections.abc import Callable


def backoff_ms(
    attempt: int,
    *,
    base_ms: int,
    factor: float = 4.0,
    cap_ms: int,
    jitter: float = 0.25,
    random: Callable[[], float] = _random.random,
) -> int:
    """Milliseconds to wait after the attempt of this number, which counts from 1.

    With x = min(cap, base * factor ** (attempt - 1)) the answer lies in [(1 - jitter) * x, (1 + jitter) * x]. `random`
    gives a number in [0, 1), which picks the place in that range.
    """
    if attempt < 1:
        raise ValueError(f"Attempts count from 1, not {attempt}.")
    wait = float(base_ms)
    for _ in range(attempt - 1):
        if wait >= cap_ms:
            break  # not one power: that overflows long before the attempts do
        wait *= factor
    return round(min(wait, cap_ms) * (1 + jitter * (2 * random() - 1)))
