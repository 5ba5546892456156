"""Options that several commands share, and how a command opens Remit. Imports nothing slow."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from graphs.wiring import Parts
    from service.use_cases import UseCases

_DURATION = re.compile(r"^(\d{1,6})([smhd])$")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class EngineName(StrEnum):
    """The engines of this version."""

    langgraph = "langgraph"
    loop = "loop"


AsJson = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object, and ask nothing.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show the timeline as it happens, also without a terminal.")
]
Engine = Annotated[EngineName, typer.Option("--engine", help="What drives the run.")]
OtherEngine = Annotated[
    EngineName | None, typer.Option("--engine", help="Drive with this engine; else with the one that drove last.")
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")]
Deadline = Annotated[
    str | None, typer.Option("--deadline", help="When the run must have ended: 30m, 2h, 1d, or 2026-01-31T12:00:00Z.")
]


@contextmanager
def opened() -> Generator[UseCases]:
    """The use cases on the data directory of the environment, for the local user; closed afterwards."""
    from graphs.wiring import open_parts, settings_from_environment
    from service.use_cases import UseCases
    from state.actor import Actor

    settings = settings_from_environment()
    parts = open_parts(settings)
    try:
        with _telling(parts):
            yield UseCases(parts, Actor(settings.user, settings.tenant, "cli"))
    finally:
        parts.close()


def _telling(parts: Parts) -> AbstractContextManager[None]:
    """Where somebody is to be told something, the command does so before it ends."""
    if parts.notifications is None:
        return nullcontext()
    from service.notify import telling

    return telling(parts.ledger, parts.notifications)


def duration_ms(option: str, given: str) -> int:
    """Milliseconds of 90s, 30m, 2h, 1d."""
    duration = _DURATION.match(given.strip())
    if duration is None:
        raise typer.BadParameter(f"{option} {given!r}: give 90s, 30m, 2h or 1d.")
    amount, unit = duration.groups()
    return int(timedelta(**{_UNITS[unit]: int(amount)}).total_seconds()) * 1000


def moment_ms(option: str, given: str | None, *, ago: bool = False) -> int | None:
    """Milliseconds since 1970 UTC of a time, or of a duration from now on (with `ago`, before now).

    A time without a zone is local time. Raises BadParameter.
    """
    if given is None:
        return None
    try:
        if _DURATION.match(given.strip()):
            span = timedelta(milliseconds=duration_ms(option, given))
            when = datetime.now(UTC) - span if ago else datetime.now(UTC) + span
        else:
            when = datetime.fromisoformat(given.strip())
        return int(when.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        span_too = "7d (ago)" if ago else "1d"
        said = f"{option} {given!r}: give 30m, 2h, {span_too} or a time as 2026-01-31T12:00:00Z."
        raise typer.BadParameter(said) from error
