"""Finds the day that a counted date counts from ("30 days after publication"), and refuses where none is named."""

import re
from collections.abc import Sequence
from datetime import date

from tools.noticereading.counting import count_on
from tools.noticereading.dates import find_dates
from tools.noticereading.model import Count, Form, Mention, Role

_EVENTS = [
    ("approv", r"approv"),
    ("adopt", r"adopt"),
    ("sign", r"\bsign(?:ed|ature|ing)\b"),
    ("enact", r"enact"),
    ("ratif", r"ratif"),
    ("receipt", r"\breceiv|\breceipt"),
    ("registration|registered", r"\bregistration\b|\bregistered\b"),
    ("filing|filed", r"\bfil(?:ed|ing)\b"),
    ("批准|核准", "批准|核准"),
    ("通过", "通过"),
    ("签[署发订]", "签[署发订]"),
    ("印发", "印发"),
    ("备案", "备案"),
    ("收到|交付|成立|挂牌|验收", "收到|交付|成立|挂牌|验收"),
]
_OWN_PUBLICATION = re.compile(
    r"\bpublish|\bpublication|\bposting|\bposted|\bannounce"
    r"|\bthis (?:notice|post|announcement|document|bulletin|letter|e?-?mail|message|article|circular|advisory|page)\b"
    r"|\bappear|\bprint|\bcame out|\bissu(?:ed|ance)|federal register"
    r"|immediate|today|\bnow\b|公布|发布|发文|公告|下发|颁布|刊登|刊发|登报|公开|即日|今日|今天|本日|当日",
    re.IGNORECASE,
)
_OTHER_PUBLICATION = re.compile(
    r"\bpublication (?:in the federal register )?of (?:(?:the|a|an|another|that|their|its)\s)(?!(?:final "
    r"|interim |direct |present )?(?:rule|notice|regulations?|order|act|law|document|decision|directive"
    r"|amendment|announcement|post)s?\b)"
    r"|\bof (?:a|an|another|that|the later|the second|the subsequent|the approval) (?:\w+ )?(?:notice"
    r"|document|rule)|\bnotice (?:announcing|that|of (?:approval|omb))|\bsubsequent"
    r"|\bend of\b|\bclose of\b|\bcompletion\b|\bcomment|另行|通知书|目录",
    re.IGNORECASE,
)
_FROM_THERE = ("later", "thereafter", "afterwards", "afterward", "hence", "that", "that day", "that date")


def base_days(count: Count, mentions: Sequence[Mention], published: list[date]) -> set[date]:
    """The days that the event of a count may be; more than one, or none, means that it cannot be counted."""
    low = count.event.lower()
    named = find_dates(count.event)
    if named and named[0].start <= 24:
        return {named[0].day} if named[0].day else set()
    for name, pattern in _EVENTS:
        if re.search(name, low):
            found = _days_of(pattern, mentions)
            return found or (set(published) if name == "印发" else set())
    if re.search(r"\bcomment", low):
        return {m.day for m in mentions if m.day and m.role is Role.COMMENT and m.span.form is not Form.COUNTED}
    if low in _FROM_THERE:
        return set()
    if _OTHER_PUBLICATION.search(low):
        return set()
    if low in ("in", "within") or _OWN_PUBLICATION.search(low):
        return set(published)
    return set()


def _days_of(pattern: str, mentions: Sequence[Mention]) -> set[date]:
    found: set[date] = set()
    for mention in mentions:
        text, span = mention.unit.text, mention.span
        near = text[max(0, span.start - 40) : span.start] + " " + text[span.end : span.end + 16]
        known = mention.day and span.form is not Form.COUNTED
        if known and re.search(pattern, near, re.IGNORECASE) and not re.search(r"by reference|after|以后|之后", near):
            found |= {mention.day} if mention.day else set()
    return found


def counted_day(mention: Mention, mentions: Sequence[Mention], published: list[date]) -> date | None:
    """The day that a counted date comes to, when the notice names the one day it counts from."""
    count = mention.span.count
    if count is None:
        return None
    if count.event.lower() in _FROM_THERE:
        bases = _day_before(mention, mentions)
    else:
        bases = base_days(count, mentions, published)
    return count_on(bases.pop(), count.number, count.unit) if len(bases) == 1 else None


def _day_before(mention: Mention, mentions: Sequence[Mention]) -> set[date]:
    earlier = [
        m.day
        for m in mentions
        if m.day
        and m.unit.index in (mention.unit.index, mention.unit.index - 1)
        and (m.unit.index, m.span.end) <= (mention.unit.index, mention.span.start)
    ]
    return {earlier[-1]} if earlier else set()
