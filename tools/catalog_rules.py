"""The catalogue check's rules: a notice's effective date against a catalogue's, and fields that somebody gives.

The right answer is worked out here from what was read, whatever a decider proposes: one ticket with the notice's
date as `observed` and the catalogue's as `recorded`, or nothing to do, or an honest "cannot be told".
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from state.acceptance import Expectation
from state.digest import Json
from state.errors import InputInvalid
from state.operation import Action, Citation
from store.operations import Source
from tools import materials
from tools.business_objects import TicketArguments
from tools.notices import Reading, parse_day, read_effective_date

FIELD = "effective"
_Input = TypeVar("_Input", bound=BaseModel)


class CheckInput(BaseModel):
    """A notice (text, Markdown, HTML), a catalogue (CSV, JSON) and the id of the record to compare."""

    model_config = ConfigDict(extra="ignore", strict=True)

    notice: str = Field(min_length=1, max_length=4096)
    catalog: str = Field(min_length=1, max_length=4096)
    record: str = Field(min_length=1, max_length=200)


class CatalogRules:
    """Rules of the agent `catalog-check`. `root` confines the files that a run may be given; None allows any."""

    def __init__(self, root: Path | None = None) -> None:
        self._root = root

    def accept_input(self, given: Json) -> Json:
        task = _validated(CheckInput, given)
        notice = materials.resolve(task.notice, "notice", self._root)
        catalog = materials.resolve(task.catalog, "catalog", self._root)
        materials.text_of_notice(notice)
        materials.record_of_catalog(catalog, task.record)
        return {"notice": notice, "catalog": catalog, "record": task.record}

    def expectation(self, task: Json, sources: Sequence[Source]) -> Expectation:
        notice = _last(sources, "read_notice")
        if notice is None:
            return Expectation("incomplete", "The notice was not read yet.", read=Action(tool="read_notice"))
        record = _last(sources, "read_record")
        if record is None:
            wanted = Action(tool="read_record", arguments={"record": task["record"]})
            return Expectation("incomplete", "The catalogue's record was not read yet.", read=wanted)
        return compare(notice, record)


def compare(notice: Json, catalog: Json) -> Expectation:
    """What follows from a notice and a record that were both read (results of the two reading tools)."""
    reading = _reading(notice["text"])
    record = catalog["record"]
    recorded = record[FIELD]
    if reading.effective is None:
        return Expectation("insufficient_evidence", f"{notice['name']}: {reading.explanation}")
    observed = reading.effective.isoformat()
    if _day(recorded) == reading.effective:
        said = f"{notice['name']} and record {record['id']} agree on {observed}."
        return Expectation("nothing_to_do", said)
    if reading.effective in _possible_days(recorded):
        said = f"The record's {recorded!r} can be read as {observed} and as another day."
        return Expectation("insufficient_evidence", said)
    effect = Action(
        tool="create_ticket",
        arguments={
            "source": notice["name"],
            "source_sha256": notice["sha256"],
            "record": record["id"],
            "field": FIELD,
            "observed": observed,
            "recorded": recorded,
        },
        cites=_citations(notice, catalog, reading),
    )
    return Expectation("effect", reading.explanation, effect=effect, free=frozenset({"source"}))


@lru_cache(maxsize=64)
def _reading(text: str) -> Reading:
    """Acceptance is asked for at every step; the same text is read once."""
    return read_effective_date(text)


def _possible_days(recorded: str) -> list[date]:
    """The days that a purely numeric date may mean, where its order is open."""
    numbers = re.fullmatch(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})", recorded.strip())
    if numbers is None:
        return []
    first, second, year = (int(each) for each in numbers.groups())
    orders = [(month, day) for month, day in ((first, second), (second, first)) if month <= 12]
    return [date(year, month, day) for month, day in orders if day <= monthrange(year, month)[1] and day > 0 < month]


@lru_cache(maxsize=64)
def _day(recorded: str) -> date | None:
    return parse_day(recorded)


def _citations(notice: Json, catalog: Json, reading: Reading) -> list[Citation]:
    return [
        Citation(material="notice", sha256=notice["sha256"], quote=reading.quote[:2000]),
        Citation(material="catalog", sha256=catalog["sha256"], quote=catalog["record"][FIELD][:2000]),
    ]


class TicketRules:
    """Rules of the agent `ticket`: the fields that somebody gives are the sources."""

    def accept_input(self, given: Json) -> Json:
        known = {name: given[name] for name in TicketArguments.model_fields if given.get(name) is not None}
        return _validated(TicketArguments, known).model_dump()

    def expectation(self, task: Json, sources: Sequence[Source]) -> Expectation:
        del sources
        effect = Action(tool="create_ticket", arguments=task)
        return Expectation("effect", "The ticket's fields were given.", effect=effect)


def _last(sources: Sequence[Source], tool: str) -> Json | None:
    found = [source.result for source in sources if source.tool == tool]
    return found[-1] if found else None


def _validated(schema: type[_Input], given: Json) -> _Input:
    try:
        return schema.model_validate(given)
    except ValidationError as error:
        wrong = "; ".join(f"{_where(each['loc'])}: {each['msg']}" for each in error.errors())
        raise InputInvalid(f"The input cannot be used: {wrong}.") from error


def _where(location: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in location) or "input"
