"""Finds the dates in a line, in English and Chinese notations, without yet saying what they are for.

A date written in digits whose order could be read two ways stays undecided here; so does one without a year
or without a day. Nothing is ever read relative to today.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from tools.noticereading.model import Form, Span

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

_MONTH = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:\s?(?:st|nd|rd|th))?"
_WEEKDAY = r"(?:(?P<weekday>Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}\.?,?\s+)?"
# Chinese words stand right against a date; Latin letters and digits there make it a part of something else.
_OFTEN = r"(?<![A-Za-z0-9_./-])"
_AFTER = r"(?![A-Za-z0-9_/]|-\w|\.\d)"
_CN = "[〇○零OＯ一二三四五六七八九]"
_CN_DAY = "[一二三四五六七八九十廿卅]{1,3}"
_DAY_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

# A number shaped like an ISO date is the name of a document or a version after these words.
_NUMBERED = re.compile(
    r"(?:\b(?:ADs?|directives?|docket|docs?|document|numbers?|nos?|no\.|nr|rin|version|api-version|v|model"
    r"|snapshot|release"
    r"|bulletin|order|amendment|supersed\w+|replac\w+|id|ref|reference|file|build|rev(?:ision)?|tag|文号"
    r"|编号|版本|型号)"
    r"\s*[:#.]?\s*|#\s?|号:?\s*)(?:\d{4}-\d{2}-\d{2}(?:\s*[,;]\s*(?:and\s+)?|\s+and\s+|\s+or\s+))*$",
    re.IGNORECASE,
)


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_RANGE = _compile(_OFTEN + _MONTH + r"\s+(?P<day>\d{1,2})\s?(?:-|to|through|until)\s?\d{1,2},?\s+(?P<year>\d{4})\b")
_WORDED = [
    _compile(
        _OFTEN + _MONTH + r"\s+" + _DAY + r"(?:\s?\([A-Za-z]{3,9}\))?(?:\s?,\s?|\s+)(?:of\s+)?(?P<year>\d{4})\b(?!-\d)"
    ),
    _compile(_OFTEN + _DAY + r"(?:\s+day)?(?:\s+of)?[\s-]+" + _MONTH + r",?[\s-]+(?P<year>\d{4})\b"),
    _compile(_OFTEN + r"(?P<year>\d{4})[\s-]+" + _MONTH + r"[\s-]+" + _DAY + r"\b"),
]
_CHINESE = [
    re.compile(r"(?P<year>\d{4})\s?年\s?(?P<month>\d{1,2})\s?月\s?(?P<day>\d{1,2})\s?[日号]"),
    re.compile(rf"(?P<year>{_CN}{{4}})\s?年\s?(?P<month>{_CN_DAY})\s?月\s?(?P<day>{_CN_DAY})\s?[日号]"),
]
_ISO = re.compile(
    rf"{_OFTEN}(?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})"
    rf"(?:(?=T\d)|{_AFTER})"
)
_NUMBERS = _compile(_OFTEN + _WEEKDAY + r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})(?P=mark)(?P<year>\d{4})" + _AFTER)
_NO_YEAR = [
    _compile(_OFTEN + _MONTH + r"\s+" + _DAY + r"\b(?!\s*,?\s*\d{4}\b|:\d)"),
    _compile(_OFTEN + _DAY + r"(?:\s+day)?(?:\s+of)?\s+" + _MONTH + r"(?!\w|\s*,?\s*\d{4}\b)"),
    re.compile(rf"(?<!\d)(?<!(?:\d|{_CN})年)(?P<month>\d{{1,2}})\s?月\s?(?P<day>\d{{1,2}})\s?[日号]"),
    re.compile(rf"(?<!(?:\d|{_CN})年)(?<!{_CN})(?P<month>{_CN_DAY})\s?月\s?(?P<day>{_CN_DAY})\s?[日号]"),
]
_VAGUE = [
    _compile(r"\b" + _MONTH + r",?\s+(?:of\s+)?(?P<year>\d{4})\b"),
    re.compile(r"(?P<year>\d{4})\s?年\s?(?P<month>\d{1,2})\s?月(?!\s?\d)"),
    _compile(
        r"\b(?:Q[1-4]|(?:first|second|third|fourth) (?:quarter|half)|early|mid|late|spring|summer|autumn|fall|winter"
        r"|end)[\s-]+(?:of\s+|in\s+)?(?P<year>\d{4})\b"
    ),
    re.compile(r"(?P<year>\d{4})\s?年(?:底|末|初|中|内|[上下]半年|第[一二三四]季度)"),
]


@lru_cache(maxsize=32768)
def _worded_day(words: str) -> date | None:
    """Asks the date library for a day that is written out; it must find day, month and year."""
    found = _library().get_date_data(words).date_obj
    return found.date() if found is not None else None


@lru_cache(maxsize=1)
def _library() -> "DateDataParser":
    from dateparser.date import DateDataParser

    settings = {
        "STRICT_PARSING": True,
        "REQUIRE_PARTS": ["day", "month", "year"],
        "PARSERS": ["absolute-time"],
    }
    return DateDataParser(languages=["en"], settings=settings)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def chinese_number(text: str) -> int | None:
    """The value of a number below a hundred in Chinese or Arabic numerals; digit by digit for years."""
    if text.isascii() and text.isdigit():
        return int(text)
    digits = {char: value for value, char in enumerate("〇一二三四五六七八九")}
    digits |= {"零": 0, "○": 0, "O": 0, "两": 2}
    text = text.replace("廿", "二十").replace("卅", "三十")
    if "十" not in text:
        return int("".join(str(digits.get(char, 0)) for char in text)) if text else None
    tens, _, ones = text.partition("十")
    return (digits.get(tens, 1) if tens else 1) * 10 + (digits.get(ones, 0) if ones else 0)


def _month_number(name: str) -> int:
    return _MONTH_NAMES.index(name[:3].lower()) + 1


def _from_words(match: re.Match[str]) -> Span:
    words = f"{int(match['day'])} {_MONTH_NAMES[_month_number(match['month']) - 1]} {match['year']}"
    found = _worded_day(words)
    return Span(match.start(), match.end(), Form.DAY if found else Form.NO_DAY, found)


def _from_digits(match: re.Match[str]) -> Span:
    year, month, day = (chinese_number(match[name]) or 0 for name in ("year", "month", "day"))
    found = _day(year, month, day)
    return Span(match.start(), match.end(), Form.DAY if found else Form.NO_DAY, found)


def _from_iso(match: re.Match[str]) -> Span | None:
    before = match.string[max(0, match.start() - 90) : match.start()]
    return None if _NUMBERED.search(before) else _from_digits(match)


def _from_numbers(match: re.Match[str]) -> Span:
    a, b, year = int(match["a"]), int(match["b"]), int(match["year"])
    weekday = _DAY_NAMES.index(match["weekday"].lower()) if match["weekday"] else None
    return Span(match.start("a"), match.end(), Form.EITHER_ORDER, numbers=(a, b, year), weekday=weekday)


def _from_no_year(match: re.Match[str]) -> Span:
    month = match["month"]
    number = _month_number(month) if month.isascii() and month.isalpha() else chinese_number(month)
    return Span(match.start(), match.end(), Form.NO_YEAR, month_day=(number or 0, chinese_number(match["day"]) or 0))


def _from_vague(match: re.Match[str]) -> Span:
    month = match.groupdict().get("month")
    number = 0 if month is None else int(month) if month.isdigit() else _month_number(month)
    return Span(match.start(), match.end(), Form.NO_DAY, month_day=(number, 0), year=int(match["year"]))


_FINDERS: list[tuple[re.Pattern[str], Callable[[re.Match[str]], Span | None]]] = [
    (_RANGE, _from_words),
    *((pattern, _from_words) for pattern in _WORDED),
    *((pattern, _from_digits) for pattern in _CHINESE),
    (_ISO, _from_iso),
    (_NUMBERS, _from_numbers),
    *((pattern, _from_no_year) for pattern in _NO_YEAR),
    *((pattern, _from_vague) for pattern in _VAGUE),
]
_NAMELESS = [row for row in _FINDERS if _MONTH not in row[0].pattern]
_ANY_DIGIT = re.compile(r"\d|[一二三四五六七八九十]\s?月")


# More dates than this in one line are data.
_MOST = 45
_ANY_MONTH = re.compile("|".join(_MONTH_NAMES), re.IGNORECASE)


def _finders(text: str) -> list[tuple[re.Pattern[str], Callable[[re.Match[str]], Span | None]]]:
    """The notations to look for in a line: those with a month's name only where one stands in it."""
    return _FINDERS if _ANY_MONTH.search(text) else _NAMELESS


def find_dates(text: str) -> list[Span]:
    """The dates in a line from left to right, none inside another."""
    if not _ANY_DIGIT.search(text):
        return []
    found: list[Span] = []
    taken = bytearray(len(text))
    for pattern, make in _finders(text):
        for match in islice(pattern.finditer(text), _MOST):
            if any(taken[match.start() : match.end()]):
                continue
            span = make(match)
            # A version's number is taken too, so that no shorter notation is found inside it.
            taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
            if span is not None:
                found.append(span)
    return sorted(found, key=lambda span: span.start)


def readings(numbers: tuple[int, int, int]) -> Iterator[tuple[str, date]]:
    """The days that two numbers and a year can mean, each with the order it takes."""
    a, b, year = numbers
    for order, found in (("month first", _day(year, a, b)), ("day first", _day(year, b, a))):
        if found is not None:
            yield order, found


def parse_one_day(value: str) -> date | None:
    """The day that the whole of a short text names; None when it names none, or could name two."""
    from tools.noticereading.characters import even_out

    text = " ".join(even_out(value).split()).strip(" .,")
    if len(text) > 60:
        return None
    spans = find_dates(text)
    if (
        len(spans) != 1
        or re.sub(
            r"(?i)^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?,?\s*|T?\s?00:00(:00)?Z?",
            "",
            text[: spans[0].start] + text[spans[0].end :],
        ).strip()
    ):
        return None
    span = spans[0]
    if span.numbers is not None:
        days = {day for _, day in readings(span.numbers)}
        return days.pop() if len(days) == 1 else None
    return span.day
