"""Finds days that a notice counts from an event ("30 days after publication") and counts them.

Only calendar days, weeks, months and years are counted. Working days depend on holidays that the notice does
not list, so they name no day here.
"""

import re
from calendar import monthrange
from datetime import date, timedelta

from tools.noticereading.dates import chinese_number
from tools.noticereading.model import Count

_ONES = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
]
_TENTHS = [
    "twentieth",
    "thirtieth",
    "fortieth",
    "fiftieth",
    "sixtieth",
    "seventieth",
    "eightieth",
    "ninetieth",
]
_NUMBER = (
    r"(?P<number>\d{1,4}|(?:"
    + "|".join(_TENS)
    + r")(?:[\s-](?:"
    + "|".join(_ONES[:9])
    + r"))?|"
    + "|".join(sorted(_ONES, key=len, reverse=True))
    + r"|an?|one hundred(?: and)?(?: eighty| twenty)?)"
)
_UNIT = r"(?P<kind>(?:calendar|full|consecutive|business|working|week)?[\s-]*)(?P<unit>day|week|month|year)s?'?"
_EVENT = r"(?P<event>(?:[^.;:,|()]|,\s\d{4}){2,110})"
_COUNTED = re.compile(
    r"\b"
    + _NUMBER
    + r"(?:\s*\(\d{1,4}\))?[\s-]+"
    + _UNIT
    + r"(?:\s+time)?(?:,?\s+counted from|\s+(?:after|from|following|of|past|beyond))\s+"
    + _EVENT,
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b" + _NUMBER + r"(?:\s*\(\d{1,4}\))?[\s-]+" + _UNIT + r"\s+(?P<event>later|thereafter|afterwards?|hence)\b",
    re.I,
)
_IN_TIME = re.compile(
    r"\b(?P<event>in|within) "
    + _NUMBER
    + r"\s+"
    + _UNIT
    + r"(?:'\s+time)?(?=[\s,.;]|$)(?!\s+(?:of|after|from|before))",
    re.I,
)
_NTH = re.compile(
    r"\b(?:the\s+)?(?P<nth>\d{1,3}(?:st|nd|rd|th)|" + "|".join(_ORDINALS + _TENTHS) + r")(?:\s+calendar)?\s+day\s+"
    r"(?:after|following)\s+(?:that of\s+)?" + _EVENT,
    re.IGNORECASE,
)
_NEXT_DAY = re.compile(
    r"\b(?:the\s+|a\s+)?(?:day|next day)\s+(?:after|following)\s+(?:that of\s+)?" + _EVENT, re.IGNORECASE
)
_NEXT_MONTH = re.compile(
    r"\bfirst (?:calendar )?day of the (?:(?P<nth>first|second|third|fourth|sixth) )?(?:calendar )?month\s+"
    r"(?:that\s+)?(?:beginning |starting )?(?:after|following|follows)\s+" + _EVENT,
    re.IGNORECASE,
)
_UPON = re.compile(
    r"\b(?:up)?on\s+(?P<event>(?:(?:the|its|their)\s+)?(?:(?:date|day)\s+(?:of|on which|that"
    r"|when)\s+)?(?:(?:it|this \w+)\s+is\s+|its\s+|the\s+)?"
    r"(?:final\s+)?(?:publication|publishing|published|approval|adoption|signature|signing|issuance|posting"
    r"|ratification"
    r"|enactment|appearance|printing|receipt|registration|announcement|filing)[^.;:,|()]{0,60})",
    re.IGNORECASE,
)
_AT_ONCE = re.compile(
    r"\b(?P<event>immediately|with immediate effect|effective today|from today|as of today|starting today|today"
    r"|(?:as of|from|on) (?:the date of )?this (?:notice|announcement|post|publication|document)(?:'s date)?"
    r"|(?:the )?(?:same )?da(?:y|te) (?:of|this \w+ (?:is|was)|it (?:is|was)) (?:its )?"
    r"(?:publi(?:shed|cation)|print(?:ed|ing)?)"
    r"|same day it is published"
    r"|(?:as of|from) (?:the (?:date|day) of )?(?:its )?publication)\b",
    re.IGNORECASE,
)
_ZH_EVENT = (
    r"(?P<event>公布|发布|印发|发文|公告|下发|颁布|刊登|刊发|签署|签发|签订|批准|核准|通过|备案|登报|公示|验收"
    r"|收到|交付|成立|挂牌|公开)"
)
_ZH_UNIT = r"(?P<unit>工作日|个工作日|交易日|个交易日|日|天|个月|周|个星期|年)"
_ZH_COUNTED = re.compile(
    _ZH_EVENT + r"(?:实施)?(?:之日|当日|当天|之时|日期|日)(?:起)?(?:计算)?[,]?(?:届?满|第)?"
    r"(?P<number>\d{1,3}|[一二两三四五六七八九十廿]{1,3})"
    + _ZH_UNIT
    + r"(?:[之以]?后|起|届?满)?(?:的?(?P<next>次日|第二日))?"
)
_ZH_NEXT_MONTH = re.compile(_ZH_EVENT + r"(?:之日)?(?:的|起)?(?P<next>次月|下月|下个月)(?:1|一)[日号]")
_ZH_UPON = re.compile(
    _ZH_EVENT
    + r"(?:(?:之日|当日|当天|之时|日(?!期))(?:的?(?P<next>次日|第二[日天]))?|后?的?(?P<then>次日|第二[日天]))起?"
)
_ZH_NOW = re.compile(r"(?P<event>即日起?|今日起|今天起|本日起|当日起)")
# "a month and a day after": the part found is not the whole of it.
_AND_SOME = re.compile(r"\b(?:days?|weeks?|months?|years?) and\s+$", re.IGNORECASE)

# More descriptions than this in one line are no sentence.
_MOST = 40
_ANY_ENGLISH = re.compile(
    r"\b(?:days?|weeks?|months?|years?|(?:up)?on|immediate\w*|today|same|from|as of|date)\b", re.IGNORECASE
)
_ANY_LENGTH = re.compile(r"day|week|month|year", re.IGNORECASE)
_ANY_CHINESE = re.compile(r"之日|次日|第二[日天]|当[日天]|之时|[即今本]日|今天|[次下]个?月|日期|[布发登开文告]日")


def _english_number(text: str) -> int:
    low = text.lower()
    if low.isdigit():
        return int(low)
    if low.startswith("one hundred"):
        return 100 + (80 if "eighty" in low else 20 if "twenty" in low else 0)
    if low in ("a", "an"):
        return 1
    first, _, last = low.replace("-", " ").partition(" ")
    if first in _TENS:
        return (_TENS.index(first) + 2) * 10 + (_ONES.index(last) + 1 if last else 0)
    return _ONES.index(first) + 1


def _english_ordinal(text: str) -> int:
    low = text.lower()
    if low[0].isdigit():
        return int(re.sub(r"\D", "", low))
    return _ORDINALS.index(low) + 1 if low in _ORDINALS else (_TENTHS.index(low) + 2) * 10


def _counted(match: re.Match[str]) -> Count:
    compound = _AND_SOME.search(match.string[: match.start()])
    working = compound or re.search(r"business|working|week\b|week-", match["kind"], re.IGNORECASE)
    unit = "working day" if working else match["unit"].lower()
    return Count(match.start(), match.end(), match["event"], _english_number(match["number"]), unit)


def _chinese(match: re.Match[str]) -> Count:
    groups = match.groupdict()
    start = match.start()
    event = re.split(r"[,。;:《》()]", match.string[max(0, start - 24) : start])[-1] + match["event"]
    if "number" not in groups:
        unit = "month start" if groups.get("next") in ("次月", "下月", "下个月") else "day"
        return Count(start, match.end(), event, 1 if groups.get("next") or groups.get("then") else 0, unit)
    name = match["unit"]
    unit = (
        "working day"
        if "工作" in name or "交易" in name
        else ("month" if "月" in name else "week" if name[-1] in "周期" else "year" if name == "年" else "day")
    )
    number = (chinese_number(match["number"]) or 0) + (1 if groups.get("next") and unit == "day" else 0)
    return Count(start, match.end(), event, number, unit)


def _english_counts(text: str) -> list[Count]:
    found: list[Count] = []
    if _ANY_LENGTH.search(text):
        found += [_counted(match) for pattern in (_COUNTED, _LATER, _IN_TIME) for match in pattern.finditer(text)]
        found += [Count(m.start(), m.end(), m["event"], _english_ordinal(m["nth"])) for m in _NTH.finditer(text)]
        found += [
            Count(m.start(), m.end(), m["event"], _english_ordinal(m["nth"] or "first"), "month start")
            for m in _NEXT_MONTH.finditer(text)
        ]
        found += [Count(m.start(), m.end(), m["event"], 1) for m in _NEXT_DAY.finditer(text)]
    found += [Count(m.start(), m.end(), m["event"]) for p in (_UPON, _AT_ONCE) for m in p.finditer(text)]
    return found


def find_counts(text: str) -> list[Count]:
    """The days described by counting, longest description first where two overlap."""
    found = _english_counts(text) if _ANY_ENGLISH.search(text) else []
    for pattern in (_ZH_COUNTED, _ZH_NEXT_MONTH, _ZH_UPON, _ZH_NOW) if _ANY_CHINESE.search(text) else ():
        found += [_chinese(match) for match in pattern.finditer(text)]
    kept: list[Count] = []
    for count in found:
        if len(kept) < _MOST and not any(count.start < other.end and other.start < count.end for other in kept):
            kept.append(count)
    return kept


def _add_months(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def count_on(base: date, number: int, unit: str) -> date | None:
    """The day that many units after another; None for units that need a calendar of working days."""
    try:
        if unit in ("month", "year"):
            return _add_months(base, number * (12 if unit == "year" else 1))
        if unit == "month start":
            return _add_months(base.replace(day=1), number)
        if unit in ("day", "week"):
            return base + timedelta(days=number * (7 if unit == "week" else 1))
    except (ValueError, OverflowError):
        return None
    return None
