"""What a tool says of its own failed call is data."""

from __future__ import annotations

from typing import Any

import pytest

from state.errors import MAX_TEXT, ToolError


@pytest.mark.parametrize(
    ("asked_for", "kept"),
    [
        *[(None, None), (-1, None), (float("nan"), None), ("3", None)],
        *[(0, 0.0), (1.5, 1.5), (10**9, 86_400.0), (float("inf"), 86_400.0)],
    ],
)
def test_a_target_asks_for_a_wait_of_at_most_a_day(asked_for: Any, kept: float | None) -> None:
    assert ToolError("rate_limited", "busy", retry_after_s=asked_for).retry_after_s == kept


def test_what_a_tool_says_is_bounded() -> None:
    assert str(ToolError("internal", "x" * 10_000_000)) == "x" * MAX_TEXT
