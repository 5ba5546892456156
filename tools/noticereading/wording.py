"""The shape of a wording table: which words make a nearby date which kind of date, and how near they must be."""

import re
from dataclasses import dataclass

from tools.noticereading.model import Cue, Role, Strength


@dataclass(frozen=True, slots=True)
class Wording:
    """Words that say what a date is for; `limit` is the distance in characters over which they still say it."""

    role: Role
    strength: Strength
    limit: int
    pattern: re.Pattern[str]


def wording(role: Role, strength: Strength, limit: int, *alternatives: str) -> Wording:
    """One row of a wording table, from regular expressions that mean the same."""
    return Wording(
        role, strength, limit, re.compile("|".join(f"(?:{words})" for words in alternatives), re.IGNORECASE)
    )


def find_cues(text: str, table: list[Wording]) -> list[Cue]:
    """The wordings in a line. Earlier rows of the table are the more particular ones and win where two overlap."""
    found: list[Cue] = []
    taken = bytearray(len(text))
    for row in table:
        for match in row.pattern.finditer(text):
            start, end = match.span()
            if end > start and not any(taken[start:end]):
                taken[start:end] = b"\1" * (end - start)
                found.append(Cue(start, end, row.role, row.strength, row.limit))
    return found
