"""How commands print lines and tables; as JSON there is one object."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import typer

from service.edge import print_json
from state.digest import Json


def line(text: str) -> None:
    """One line that is never broken, so that a command in it can be copied."""
    from service.terminal import Screen

    Screen().line(text)


def table(columns: tuple[str, ...], rows: Sequence[Json]) -> None:
    """These columns of the rows; an object is written as JSON."""
    from service.terminal import Screen

    Screen().table("", columns, [[_cell(row[column]) for column in columns] for row in rows])


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def rows_or_json(name: str, columns: tuple[str, ...], rows: Sequence[Json], as_json: bool, nothing: str) -> None:
    """A table, the words for none, or `{name: rows}`."""
    if as_json:
        return print_json({name: list(rows)})
    if not rows:
        return line(nothing)
    table(columns, rows)


def json_object(option: str, given: str) -> Json:
    """The JSON object that an option holds. Raises BadParameter."""
    try:
        value: Any = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{option} is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{option} must be one JSON object.")
    return cast(Json, value)
