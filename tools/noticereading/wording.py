"""The shape of a wording table: which words make a nearby date which kind of date, and how near they must be."""

import re
from dataclasses import dataclass

from tools.noticereading.model import Cue, Role, Strength

_HAN = re.compile(r"[\u4e00-\u9fff]")
_FRONT = re.compile(r"[A-Za-z0-9]|\(\?:")
_BACK = re.compile(r"(?:[A-Za-z0-9)]|\w\?|\)\?|\\w[*+])$")


@dataclass(frozen=True, slots=True)
class Wording:
    """Words that say what a date is for; `limit` is the distance in characters over which they still say it."""

    role: Role
    strength: Strength
    limit: int
    pattern: re.Pattern[str]


def any_of(block: str) -> re.Pattern[str]:
    """One pattern out of a block of expressions that stand on lines or two spaces apart; Latin ones are whole words."""
    return re.compile("|".join(_whole(words) for words in re.split(r"\s*\n\s*|\s{2,}", block.strip())), re.IGNORECASE)


def _whole(words: str) -> str:
    if _HAN.search(words):
        return f"(?:{words})"
    front = r"\b" if _FRONT.match(words) else ""
    back = r"\b" if _BACK.search(words) else ""
    return f"(?:{front}{words}{back})"


def wording(role: Role, strength: Strength, limit: int, *blocks: str) -> Wording:
    """One row of a wording table, from expressions that mean the same."""
    return Wording(role, strength, limit, any_of("\n".join(blocks)))


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
