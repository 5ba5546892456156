"""Hashes can be recomputed by anybody: what the fast way gives for values of our own making is RFC 8785."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from state.digest import canonical, canonical_plain, operation_digest

names = st.text(st.characters(codec="ascii"), max_size=12)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)


@given(plain)
def test_the_fast_way_gives_the_bytes_of_rfc_8785(value: object) -> None:
    assert canonical_plain(value) == canonical(value)


def test_the_digest_of_an_operation_depends_on_tool_version_and_arguments_and_on_no_order() -> None:
    one = operation_digest("create_note", "1", {"subject": "s", "text": "t"})

    assert one == operation_digest("create_note", "1", {"text": "t", "subject": "s"})
    assert len({one, operation_digest("create_note", "2", {"subject": "s", "text": "t"})}) == 2
    assert len({one, operation_digest("create_ticket", "1", {"subject": "s", "text": "t"})}) == 2
    assert len({one, operation_digest("create_note", "1", {"subject": "s", "text": "T"})}) == 2


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**60, {1: 2}, object()])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        canonical(value)
