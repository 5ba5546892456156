"""A folder for stories, in memory where there is such a place: they are told many times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.work import kept_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    """Gone after the test."""
    with kept_folder() as made:
        yield made
