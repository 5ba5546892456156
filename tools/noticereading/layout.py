"""Cuts a notice into the sentences, lines and table cells that a date is read in.

Each unit knows the heading above it and the exact stretch of the given text that it came from.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tools.noticereading.characters import even_out, squeeze, take_out_struck
from tools.noticereading.model import Unit
from tools.noticereading.tables import Row, read_row, table_units

_LONGEST = 1000
# More pieces than this are no notice; reading them all would take time out of proportion.
_MOST_UNITS = 12_000
_HEAD_LINES = 14
_BULLET = re.compile(
    r"\s*(?:[-*+•·]\s+|#{1,6}\s|>|\d{1,2}[.)、]\s*(?!\d)|\([a-z0-9一二三四五六七八九十]{1,3}\)"
    r"|[一二三四五六七八九十]{1,3}、"
    r"|第[一二三四五六七八九十百零\d]{1,5}[条章]|【)"
)
_LABEL = re.compile(r"\s*(?:[A-Z][\w'()/&. -]{1,40}|[\u4e00-\u9fff]{2,12})(?::| - )")
_SENTENCE = re.compile(r"[。!?！？]+[\"')」》]*\s*|\.[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9\u4e00-\u9fff])|;\s*\n\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|No|Nos|Sec|Secs|Art|Doc|Fed|Reg|vs?|Mr|Ms|Dr|St|approx"
    r"|Inc|Ltd|Co|Corp|Dept|Vol|U\.S|E\.U|U\.K|e\.g|i\.e|cf|[ap]\.m|Mon|Tues?|Wed|Thu|Thurs|Fri|Sat|Sun)|\b[A-Z])$",
    re.IGNORECASE,
)
# "Effective date. July 2, 2025." is one statement.
_RUN_IN = re.compile(r"\W{0,4}[A-Za-z ]{0,24}\bdates?", re.IGNORECASE)
_ENDS_OPEN = re.compile(
    r"(?:[,:(-]|\b(?:on|from|of|the|is|as|until|by|to|and|after|in|at|for|with|a|an)|[自于从至起将])\s*$"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """A notice in pieces."""

    units: list[Unit]
    struck: list[str]
    title: str
    plain: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that belong together: a paragraph, a list item, a heading."""

    start: int
    end: int
    lines: int
    first_line: int


def _width(line: str) -> int:
    return sum(2 if char > "\u2e7f" else 1 for char in line)


def _goes_on(line: str, following: str) -> bool:
    """Whether the next line carries on this one's sentence rather than beginning something of its own."""
    if _BULLET.match(following) or following.lstrip().startswith("|"):
        return False
    if _ENDS_OPEN.search(line) and len(line) > 1:
        return True
    if _LABEL.match(following):
        return False
    begins_low = following.lstrip()[:1].islower()
    return _width(line) >= 56 or (begins_low and len(line) > 20)


def _lines(plain: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in plain.split("\n"):
        yield at, line
        at += len(line) + 1


def _blocks(plain: str) -> Iterator[_Block]:
    start = end = -1
    count = first = number = 0
    last = ""
    for at, line in _lines(plain):
        if start >= 0 and (not line.strip() or last.lstrip().startswith(("#", "|")) or not _goes_on(last, line)):
            yield _Block(start, end, count, first)
            start = -1
        if line.strip():
            if start < 0:
                start, count, first = at, 0, number
            end, count, last = at + len(line), count + 1, line
            number += 1
    if start >= 0:
        yield _Block(start, end, count, first)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """The sentences of a block as places in it; an endless one is cut so that work stays in proportion."""
    start = 0
    for match in islice(_SENTENCE.finditer(text), _MOST_UNITS):
        piece = text[max(start, match.start() - 40) : match.start()]
        if match[0].startswith(".") and (_ABBREVIATION.search(piece[-12:]) or _RUN_IN.fullmatch(piece)):
            continue
        yield from _chop(start, match.end())
        start = match.end()
    yield from _chop(start, len(text))


def _chop(start: int, end: int) -> Iterator[tuple[int, int]]:
    for at in range(start, end, _LONGEST):
        yield at, min(at + _LONGEST, end)


def _is_heading(raw: str, block: _Block) -> bool:
    line = raw.strip()
    if line.startswith("#"):
        return True
    if block.lines > 1 or len(line) > 70 or re.search(r"\d{4}|[〇○零一二三四五六七八九]{4}年|;|[.。;；,，|]\s*$", line):
        return False
    if re.match(r"[-*+•]\s", line) and not line.startswith("**"):
        return False
    return not re.search(r":\s*\S", line)


def read_layout(text: str) -> Layout:
    """The notice cut into units, with struck-through words taken out and listed."""
    plain, struck = take_out_struck(even_out(text))
    units: list[Unit] = []
    rows: list[Row] = []
    title = heading = ""
    number = -1
    cut = False
    for number, block in enumerate(_blocks(plain)):
        cut = len(units) + len(rows) >= _MOST_UNITS
        if cut:
            break
        raw = plain[block.start : block.end]
        if raw.lstrip().startswith("|"):
            rows.append(read_row(raw, block.start, block.end))
            continue
        units.extend(table_units(rows, len(units), heading, number))
        rows = []
        if not title and not raw.rstrip().endswith(":"):
            title = squeeze(raw.lstrip("# "))
        elif raw.lstrip().startswith("# "):
            heading = ""  # the name of the whole notice says nothing of the dates right under it
        elif _is_heading(raw, block):
            heading = squeeze(raw.strip("#=- "))
        units.extend(_text_units(raw, block, len(units), heading, number))
    units.extend(table_units(rows, len(units), heading, number + 1))
    return Layout(units[:_MOST_UNITS], struck, title, squeeze(plain[:4000]), cut or len(units) > _MOST_UNITS)


def _text_units(raw: str, block: _Block, index: int, heading: str, number: int) -> list[Unit]:
    head = block.first_line < _HEAD_LINES
    found: list[Unit] = []
    for start, end in _pieces(raw):
        words = squeeze(raw[start:end].lstrip("# "))
        if words:
            place = (block.start + start, block.start + end)
            found.append(Unit(index + len(found), words, *place, heading, number, head))
    return found
