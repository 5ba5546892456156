"""Settles dates that a single line leaves open, from the other dates of the same notice.

The order of day and month comes from another date in the notice or from a weekday; a missing year comes from a
date that names it. What nothing settles stays open.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date

from tools.noticereading.dates import readings
from tools.noticereading.model import Span

_SAID_ORDER = re.compile(
    r"\b(?:(dd?[/.-]mm?[/.-]yy)|(mm?[/.-]dd?[/.-]yy))|\b(day[ /-]month)|\b(month[ /-]day[ /-]year)",
    re.IGNORECASE,
)
_SAME_DAY = re.compile(r"[\s,(=/:-]*(?:that is|i\.e\.)?[\s,(]*")
_HALF_YEAR = 183


def day_month_order(text: str, lines: Iterable[tuple[str, Sequence[Span]]]) -> str | None:
    """Which of "day first" and "month first" the notice shows that it uses, if it shows one and only one."""
    said = _SAID_ORDER.search(text)
    orders: set[str] = {"day first" if said[1] or said[3] else "month first"} if said else set()
    for line, spans in lines:
        for at, span in enumerate(spans):
            if span.numbers is not None:
                orders |= _order_of(span, line, [*spans[max(0, at - 1) : at], *spans[at + 1 : at + 2]])
    return orders.pop() if len(orders) == 1 else None


def _order_of(span: Span, line: str, neighbours: Sequence[Span]) -> set[str]:
    """The order that this one date gives away: by a number above twelve, a weekday, or the same day in words."""
    found = dict(readings(span.numbers)) if span.numbers else {}
    if len(set(found.values())) < 2:
        return set(found) if len(found) == 1 else set()
    by_weekday = {order for order, day in found.items() if day.weekday() == span.weekday}
    if len(by_weekday) == 1:
        return by_weekday
    beside = {other.day for other in neighbours if _SAME_DAY.fullmatch(_between(line, span, other))}
    return {order for order, day in found.items() if day in beside}


def _between(line: str, one: Span, other: Span) -> str:
    first, second = sorted((one, other), key=lambda span: span.start)
    return line[first.end : second.start]


def numbers_day(span: Span, order: str | None) -> date | None:
    """The day of a date in digits, when it has one reading or the notice's order is known."""
    found = dict(readings(span.numbers)) if span.numbers else {}
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return found.get(order) if order else None


def add_year(span: Span, text: str, beside: Sequence[Span], named: set[date], published: date | None) -> date | None:
    """The day of a date without a year: the one the notice names elsewhere, or the year that the line carries over."""
    if span.month_day is None:
        return None
    same = {day for day in named if (day.month, day.day) == span.month_day}
    if len(same) == 1:
        return same.pop()
    for other in beside:
        if (
            other.day
            and other.start >= span.end
            and re.fullmatch(
                r"\s*(?:,?\s*(?:to|until|till|through|and|or|-)\s*(?:on\s+)?|[至到和、])\s*",
                text[span.end : other.start],
            )
        ):
            return _on(other.day, span.month_day, back=True)
    for other in reversed(beside):
        if other.day and other.end <= span.start:
            return _on(other.day, span.month_day, back=False)
    if published is None and len({day.year for day in named}) == 1:
        published = max(named)
    return _soon_after(published, span.month_day, text, span) if published else None


def _on(base: date, month_day: tuple[int, int], back: bool) -> date | None:
    step = 0 if back == (month_day <= (base.month, base.day)) else -1 if back else 1
    try:
        return date(base.year + step, *month_day)
    except ValueError:
        return None


def _soon_after(published: date, month_day: tuple[int, int], text: str, span: Span) -> date | None:
    before = text[max(0, span.start - 4) : span.start]
    if before.endswith(("明年", "次年")):
        return _on(published.replace(month=12, day=31, year=published.year), month_day, back=False)
    found = _on(published, month_day, back=False)
    return (
        found
        if (found and (found - published).days <= _HALF_YEAR) or (found and found.year == published.year)
        else None
    )
