"""Whether two JSON values are the same: type and value, all the way down."""

from __future__ import annotations

from typing import Any

import pytest

from state.digest import same


@pytest.mark.parametrize(
    "value", [None, True, 0, "a", 1.5, [], {}, {"a": [1, {"b": None}], "é": "\U0001f600"}, {"b": 1, "a": 2}]
)
def test_a_value_is_the_same_as_itself(value: Any) -> None:
    assert same(value, value)


def test_the_order_of_names_and_the_way_a_number_is_written_do_not_matter() -> None:
    assert same({"a": 1, "b": 2.0}, {"b": 2, "a": 1})


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (0, False), (0, None), ("1", 1), ("", None), ([], {}), ([1, 2], [2, 1]), ({"a": None}, {})],
)
def test_another_type_or_value_is_not_the_same_at_any_depth(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same({"a": [one]}, {"a": [other]})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**60, "\ud800", object(), {1: 2}])
def test_what_json_cannot_hold_is_the_same_as_nothing(value: Any) -> None:
    assert not same(value, value)
