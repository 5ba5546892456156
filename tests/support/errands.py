"""What the agents of a simulation are asked to do; some of it collides with other of it, and that is the point."""

from __future__ import annotations

import json

from tests.support.post import SENDERS

OFFICES = tuple(each.name for each in SENDERS)
FIELDS = {"source": "gazette 7", "field": "effective", "recorded": "2026-02-01"}


def _plan(*turns: list[tuple[str, dict[str, str]]]) -> dict[str, str]:
    return {"about": json.dumps(turns)}


def _notes(*subjects: str) -> list[tuple[str, dict[str, str]]]:
    return [("create_note", {"subject": each, "text": "well"}) for each in subjects]


def _letters(office: str, *names: str) -> list[tuple[str, dict[str, str]]]:
    return [(office, {"to": each}) for each in names]


TASKS: dict[str, tuple[str, dict[str, str]]] = {
    "a ticket": ("ticket", {**FIELDS, "observed": "2026-03-01"}),
    "the same ticket, otherwise": ("ticket", {**FIELDS, "observed": "2026-04-01"}),
    "a ticket about a record": ("ticket", {**FIELDS, "observed": "2026-03-01", "record": "r1"}),
    "a check": ("catalog-check", {"record": "r1"}),
    "a check of what agrees": ("catalog-check", {"record": "r2"}),
    "three notes": ("noter", _plan(_notes("a", "b", "c"))),
    "notes, turn by turn": ("teller", _plan(_notes("a", "d"), _notes("b"), _notes("a"))),
    "notes beyond the budget": ("miser", _plan(_notes("e", "f"), _notes("g"))),
    "notes beyond the budget, asked for": ("asker", _plan(_notes("e", "f"), _notes("h"))),
    "notes that may be taken over": ("giver", _plan(_notes("a", "i"))),
    **{f"letters by {name}": ("noter", _plan(_letters(name, "bob", "cy"))) for name in OFFICES},
    **{f"a letter by {name}, twice": ("teller", _plan(*[_letters(name, "cy")] * 2)) for name in OFFICES},
}
