"""Fixtures for every test: a world on each engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.world import World

ENGINES = ("loop", "langgraph")


@pytest.fixture(params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A world whose runs are driven by each engine in turn."""
    made = World(tmp_path, request.param)
    yield made
    made.close()


@pytest.fixture
def loop_world(tmp_path: Path) -> Iterator[World]:
    """A world for what does not depend on the engine."""
    made = World(tmp_path, "loop")
    yield made
    made.close()
