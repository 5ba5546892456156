"""Waits before another try: they grow, they end at the cap, and they stay within the jitter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.backoff import backoff_ms


def middle() -> float:
    return 0.5


def test_each_wait_is_longer_by_the_factor_until_the_cap():
    waits = [backoff_ms(each, base_ms=100, cap_ms=5_000, random=middle) for each in range(1, 6)]

    assert waits == [100, 400, 1_600, 5_000, 5_000]


@given(attempt=st.integers(1, 10_000), place=st.floats(0, 1, exclude_max=True), jitter=st.floats(0, 1))
def test_a_wait_lies_within_its_jitter(attempt: int, place: float, jitter: float):
    wait = backoff_ms(attempt, base_ms=200, cap_ms=60_000, jitter=jitter, random=lambda: place)

    nominal = min(200 * 4 ** min(attempt - 1, 20), 60_000)
    assert round((1 - jitter) * nominal) <= wait <= round((1 + jitter) * nominal)


def test_there_is_no_attempt_before_the_first():
    with pytest.raises(ValueError, match="count from 1"):
        backoff_ms(0, base_ms=100, cap_ms=1_000)
