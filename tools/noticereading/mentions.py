"""Turns the units of a notice into dates in their places: which day each one names and what it is for."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from tools.noticereading.counting import find_counts
from tools.noticereading.dates import find_dates
from tools.noticereading.events import counted_day
from tools.noticereading.layout import Layout
from tools.noticereading.model import Form, Mention, Role, Span, Strength, Unit
from tools.noticereading.publication import publication_days
from tools.noticereading.roles import read_roles, refers_back
from tools.noticereading.shifts import is_new, is_old
from tools.noticereading.years import add_year, day_month_order, numbers_day

# A line with more dates than this is a list of data, and reading all of them would take time out of proportion.
_MOST = 40
# No notice that a person can follow names more dates, or has more words around them; what is beyond stays unread.
_MOST_DATES = 600
_MOST_WORDS = 100_000
_MOST_BASES = 8
_PEOPLE = (
    r"(?:apps?|applications?|customers?|accounts?|users?|projects?|workspaces?|subscri\w+|organi[sz]ations?"
    r"|tenants?|orders?|purchases?|install\w*|integrations?"
    r"|contracts?|members?|clients?|sales|keys|tokens|sign-?ups?|developers?|deployments?|merchants?|teams?"
    r"|repositor\w+|domains?|requests?|callers?|one|body|calls|traffic|registrations?"
    r"|partners?|sellers?|publishers?|vendors?)"
)
_NARROW = re.compile(
    rf"\bnew(?:ly)?(?: \w+)? (?!one\b){_PEOPLE}\b|\b(?:created|registered|signed up|opened|made) (?:after|from|on"
    rf"|since)\b|\bjoined (?:this|after|from|on|since)\b"
    r"|\bcreation\b|\bsign(?:ing)?[ -]ups?\b|新(?:注册|用户|客户|应用|增用户|开通|购|签|租户|实例|账号|订)",
    re.IGNORECASE,
)
_EVERYONE = re.compile(
    rf"\b(?:all|every|each|any)\b(?: (?:other|remaining|existing|current|of the|the|our|\w+))? ?{_PEOPLE}\b"
    rf"|\b(?:every|any|no ?)(?:one|body)\b|\beverywhere\b(?! else)|\bworldwide\b"
    rf"|\bexisting (?:\w+ )?{_PEOPLE}"
    rf"|\bremaining (?:\w+ )?{_PEOPLE}"
    r"|\bfor good\b|\bcompletely\b|\b(?:complete[sd]?|finish(?:es|ed)?|fully)\b|(?:所有|全部|全体|存量|现有"
    r"|已有|老)(?:用户|客户|应用|账号|租户|实例|项目|开发者|商户)|(?:全部|所有)服务|全量|全网|彻底",
    re.IGNORECASE,
)
_PART = re.compile(
    r"(?:§|\b(?:sections?|paragraphs?|subparts?|articles?|clauses?|instructions?|appendix|items?|tables?"
    r"|parts?)\b)\s*\(?(?:\d|[IVX]+\b|[a-z]\b)|\bprovisions?\b|第[一二三四五六七八九十百零\d]+[条款项章]",
    re.IGNORECASE,
)
# What already was so when the notice came out is mostly another act's date.
_PAST = re.compile(
    r"\b(?:was|were|became|took|went|came|since|pushed|moved|delayed|postponed|(?:has|have|had) been"
    r"|(?:now|already|currently) in force)\b|, effective\b|已|此前|曾|原|\(自?\d{4}[-年]",
    re.IGNORECASE,
)
_LEGAL = re.compile(r"effect|force|上线|[施实执]行|实施|生效", re.IGNORECASE)
_PAST_REACH = 40
_TO = re.compile(r"\s*(?:to|until|till)\s+(?:\w+day,?\s+)?")
_LONG = 400
_REACHES_BACK = re.compile(r"retroactiv|retrospectiv|追溯|溯及", re.IGNORECASE)


def _spans(unit: Unit) -> list[Span]:
    """Dates and counted days of a unit; a date that a count starts from belongs to the count."""
    dates = find_dates(unit.text)
    found: list[Span] = []
    for count in find_counts(unit.text):
        inside = [span for span in dates if count.start <= span.start < count.end]
        words = count.end - len(count.event)
        end = count.end
        if inside and inside[0].start - words > 24:
            end = inside[0].start
        elif inside:
            end = inside[0].end
        found.append(Span(count.start, end, Form.COUNTED, count=count))
    free = [span for span in dates if not any(c.start <= span.start < c.end for c in found)]
    return sorted(free + found, key=lambda span: span.start)[:_MOST]


def _known(spans: Sequence[Span], order: str | None) -> list[Span]:
    return [replace(span, day=numbers_day(span, order)) if span.numbers else span for span in spans]


def _nearby(text: str, spans: Sequence[Span], at: int) -> str:
    """The words around one date that are nearer to it than to its neighbours."""
    low = spans[at - 1].end if at else 0
    high = spans[at + 1].start if at + 1 < len(spans) else len(text)
    before = re.split(r"[;。,]|\band\b" if at else r"[;。]", text[low : spans[at].start])[-1]
    after = re.split(r"[;。]|,? \b(?:and|but|while)\b|,(?= )", text[spans[at].end : high])[0]
    return f"{before} {after}"


def _mentions_of(unit: Unit, spans: list[Span], before: str, after: str) -> list[Mention]:
    found: list[Mention] = []
    for at, (span, cue) in enumerate(zip(spans, read_roles(unit, spans, before, after), strict=True)):
        previous = spans[at - 1].end if at else 0
        following = spans[at + 1].start if at + 1 < len(spans) else len(unit.text)
        old = is_old(unit.text, span.start, span.end, previous, following)
        after_old = bool(found) and found[-1].dropped and _TO.fullmatch(unit.text[previous : span.start])
        new = not old and (bool(after_old) or is_new(unit.text, span.start, span.end))
        near = f"{_nearby(unit.text, spans, at)} {unit.row} {after if refers_back(after) else ''}"
        role, strength = cue.role, cue.strength
        if new and role in (Role.EFFECTIVE, Role.EXPIRY, Role.NEUTRAL):
            role, strength = Role.EFFECTIVE, Strength.MOVED
        found.append(
            Mention(
                unit,
                span,
                span.day,
                cue,
                role,
                strength,
                old or role is Role.NEGATED,
                bool(_NARROW.search(near)),
                bool(_EVERYONE.search(near)),
                bool(_PART.search(near)),
            )
        )
    return found


def _dated(layout: Layout) -> tuple[list[tuple[Unit, list[Span]]], Unit | None]:
    """The units with their dates, and the first unit that is left unread for the number of dates before it."""
    found: list[tuple[Unit, list[Span]]] = []
    dates = words = 0
    for unit in layout.units:
        if dates >= _MOST_DATES or words >= _MOST_WORDS:
            return found, unit
        spans = _spans(unit)
        dates += len(spans)
        words += len(unit.text) if spans else 0
        found.append((unit, spans))
    return found, layout.units[-1] if layout.cut else None


def read_mentions(layout: Layout) -> tuple[list[Mention], list[date], Unit | None]:
    """Every date of the notice in its place, the days on which it says that it came out, and where reading stopped."""
    per_unit, unread = _dated(layout)
    struck = [(words, find_dates(words)) for words in layout.struck[:_MOST_DATES]]
    lines = [(unit.text, spans) for unit, spans in per_unit] + struck
    order = day_month_order(layout.plain, lines)
    mentions: list[Mention] = []
    texts = ["", *(unit.text for unit in layout.units), ""]
    for (unit, spans), before, after in zip(per_unit, texts, texts[2:], strict=False):
        mentions += _mentions_of(unit, _known(spans, order), before, after)
    last = len(layout.units) - 1
    published = publication_days(mentions, last)
    named = {span.day for _, spans in lines for span in spans if span.day} | {m.day for m in mentions if m.day}
    mentions = _with_years(mentions, named, published)
    if not published:
        published = publication_days(mentions, last)
        mentions = _with_years(mentions, named, published)
    mentions = [replace(m, day=counted_day(m, mentions, published)) if m.span.count else m for m in mentions]
    mentions = [replace(m, role=Role.CITED) if _is_long_past(m, published) else m for m in mentions]
    return [replace(m, earlier=_is_earlier(m, published)) for m in mentions], published, unread


def _is_long_past(mention: Mention, published: Sequence[date]) -> bool:
    """Whether a start lies so far before the notice that it must be another act's, unless it reaches back."""
    if mention.day is None or mention.role is not Role.EFFECTIVE or not published:
        return False
    return (min(published) - mention.day).days > _LONG and not _REACHES_BACK.search(mention.unit.text)


def _is_earlier(mention: Mention, published: Sequence[date]) -> bool:
    """Whether the day had passed when the notice came out, and its wording looks back at it."""
    if mention.day is None or mention.cue is None or not published or mention.day >= min(published):
        return False
    text, cue = mention.unit.text, mention.cue
    if mention.strength is Strength.HINT:
        return True
    if mention.strength is not Strength.MOVED and not _LEGAL.search(text[cue.start : cue.end]):
        return False  # what a vendor switched off before it told of it is its change all the same
    start = max(0, min(cue.start, mention.span.start) - _PAST_REACH)
    return bool(_PAST.search(text[start : max(cue.end, mention.span.end + _PAST_REACH // 2)]))


def _with_years(mentions: list[Mention], named: set[date], published: Sequence[date]) -> list[Mention]:
    beside: dict[int, list[Span]] = {}
    for mention in mentions:
        beside.setdefault(mention.unit.index, []).append(mention.span)
    found: list[Mention] = []
    for mention in mentions:
        if mention.span.form is Form.NO_YEAR and mention.day is None:
            near, text = beside[mention.unit.index], mention.unit.text
            days = {add_year(mention.span, text, near, named, day) for day in published[:_MOST_BASES] or [None]}
            found.append(replace(mention, day=days.pop() if len(days) == 1 else None))
        else:
            found.append(mention)
    return found
