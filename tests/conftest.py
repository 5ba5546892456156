"""Fixtures for every test: a world on each engine."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ticket_service import TicketService
from tests.support.world import World

ENGINES = ("loop", "langgraph")

# A shell that starts us in the background has Ctrl-C ignored, and our children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture(scope="session")
def ticket_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TicketService]:
    """The ticket service of the examples as a process of its own; one for all tests."""
    started = TicketService(tmp_path_factory.mktemp("tickets"))
    yield started
    started.stop()


@pytest.fixture
def tickets(ticket_process: TicketService) -> TicketService:
    """The ticket service, empty, and as good as it can be."""
    return ticket_process.fresh()
