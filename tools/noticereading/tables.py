"""Reads the rows of a table as sentences: the header's words in front of each cell, or the first cell as a label."""

import re
from dataclasses import dataclass

from tools.noticereading.characters import squeeze
from tools.noticereading.model import Unit

_RULE = re.compile(r"[\s|:+-]*")
_HAS_DAY = re.compile(
    r"\d{1,4}\s*[-/.年]\s*\d|\d{1,2},?\s+\d{4}|\d\s*-?[A-Za-z]{3,9}-?\s*\d|[〇零一二三四五六七八九]{4}年"
)
_WHEN = re.compile(
    r"^\W*(?:date|when|day|time|deadline|value|details|information)?s?\W*$|^\W*(?:日期|时间|内容)\W*$", re.I
)


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row and where the row stands in the notice."""

    cells: list[str]
    start: int
    end: int


def read_row(raw: str, start: int, end: int) -> Row:
    """One line that begins with a bar, cut at its bars."""
    return Row([squeeze(cell) for cell in raw.strip().strip("|").split("|")], start, end)


def table_units(rows: list[Row], index: int, heading: str, block: int) -> list[Unit]:
    """A unit for each cell or row that may hold a date."""
    body = [row for row in rows if not _RULE.fullmatch("|".join(row.cells))]
    if not body:
        return []
    header = body[0].cells
    if any(_HAS_DAY.search(cell) for cell in header):
        header = []
    found: list[Unit] = []
    for row in body[1:] if header else body:
        for words in _row_sentences(header, row.cells):
            name = row.cells[0]
            found.append(Unit(index + len(found), words, row.start, row.end, heading, block, False, name))
    return found


def _row_sentences(header: list[str], cells: list[str]) -> list[str]:
    dated = [at for at, cell in enumerate(cells) if _HAS_DAY.search(cell)]
    if not dated:
        return [" | ".join(cells)]
    if len(header) == len(cells) > 2 and not (len(dated) == 1 and _WHEN.match(header[dated[0]])):
        return [f"{header[at]}: {cells[at]}" for at in dated if at > 0 or not _WHEN.match(header[at])]
    label = " - ".join(cell for at, cell in enumerate(cells) if at not in dated)
    return [f"{_column(header, at)}{label}: {cells[at]}" for at in dated]


def _column(header: list[str], at: int) -> str:
    """The header over a cell, unless it only says that a date stands below."""
    return f"{header[at]} - " if at < len(header) and not _WHEN.match(header[at]) else ""
