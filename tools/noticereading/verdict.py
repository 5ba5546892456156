"""Draws the one effective date from the dates of a notice, or says why there is none.

Plainer wordings beat vaguer ones, a date that replaced another beats it, and two days that both stand leave the
question open: no day is ever picked because it is the likelier one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Literal

from tools.noticereading.layout import Layout
from tools.noticereading.model import Form, Mention, Role, Strength, Unit
from tools.noticereading.pairs import settle_pairs
from tools.noticereading.standing import open_ended_delay, proposal

Reason = Literal["stated", "relative", "none", "several", "unnamed_day", "ambiguous", "not_in_force"]

_EXCEPT = re.compile(
    r"\b(?:except|other than|with the exception of|apart from|save for|excluding)\b(?P<rest>.*)|除[^。]{0,60}外",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_START = re.compile(
    r"\b(?:effective|take[sn]? effect|into (?:force|effect)|delayed|stayed|postponed|effective dates?)\b"
    r"|\bwhich\b[^.]{0,60}\b(?:later|after|when|once|upon)\b",
    re.IGNORECASE,
)
_LATER_NOTICE = re.compile(
    r"\b(?:will|shall) (?:publish|issue|announce|provide)\b[^.]{0,80}\b(?:document"
    r"|notice)?[^.]{0,60}\beffective date|\beffective date\b[^.]{0,80}\b(?:will be|to be) (?:announced"
    r"|published|set|determined)"
    r"|\b(?:date|day)\b[^.]{0,40}\b(?:to be (?:announced|determined|confirmed)|TBD|TBA)\b|(?:施行|实施"
    r"|生效)?(?:日期|时间)以[^。;]{0,12}为准|(?:施行|实施|生效)(?:日期|时间)?[^。;]{0,24}另行(?:规定|公布|通知|公告|确定|发布)",
    re.IGNORECASE,
)
_UNNAMED = re.compile(
    r"(?:批准|通过|验收|收到|备案)(?:之日|当日|后)[^。;,]{0,8}(?:施行|实施|生效|执行)"
    r"|\b(?:effective|takes? effect|in(?:to)? (?:force|effect))\b[^.;]{0,60}"
    r"\b(?:upon|once|when|after|following|until)\b[^.;]{0,20}\b(?:approval|approved|approves|ratification"
    r"|ratified|OMB|Office of Management|Council|Congress|Parliament|clearance|further notice)\b",
    re.IGNORECASE,
)


_WHOLE = re.compile(
    r"(?:it|they|these|this|the (?:\w+ )?(?:rule|regulation|order|notice|act|law|directive|by-?law|document)s?)\b",
    re.IGNORECASE,
)
_THAT_IS = re.compile(
    r"[\s,(:-]*(?:in the federal register[\s,(:-]*)?"
    r"(?:(?:that is|i\.e\.|namely|which is|in other words|being|即)[\s,:]*)?"
    r"(?:on )?(?:the first \w+ day )?(?:at least )?[\s(]*",
    re.IGNORECASE,
)
_LAST_OF_OLD = re.compile(r"\b(?:after|until|till|through)\s+(?:\w+day,?\s+)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the notice says about its start, with the unit that decided it."""

    day: date | None
    reason: Reason
    unit: Unit | None
    explanation: str


def decide(layout: Layout, mentions: Sequence[Mention], unread: Unit | None = None) -> Verdict:
    """The verdict on a notice, from its dates in their places; what was left unread might say something else."""
    verdict = _decided(layout, mentions)
    if unread is not None and (verdict.day is not None or verdict.reason == "none"):
        return Verdict(
            None,
            "ambiguous",
            unread,
            "The notice names more dates, or has more parts, than can be weighed, and what is beyond was not read.",
        )
    return verdict


def _decided(layout: Layout, mentions: Sequence[Mention]) -> Verdict:
    draft = proposal(layout)
    if draft is not None:
        return Verdict(
            None,
            "not_in_force",
            draft,
            "The notice is a proposal or a draft, so it puts nothing into force yet.",
        )
    later = open_ended_delay(layout)
    if later is not None:
        return Verdict(None, "not_in_force", later, "The start was put off and the notice names no new day.")
    mentions = settle_pairs(layout, mentions)
    live = _standing(mentions)
    top = _plainest(live)
    verdict = _from(top, live) if top else _nothing(layout, mentions)
    return _unless_parts_differ(layout, verdict)


def _standing(mentions: Sequence[Mention]) -> list[Mention]:
    """The effective dates that no other place of the notice gives up."""
    given_up = {m.day: _place(m) for m in mentions if m.dropped and m.day}
    return [
        m
        for m in mentions
        if (m.role in (Role.EFFECTIVE, Role.HYPOTHETICAL) and not m.dropped and m.day not in given_up)
        or (
            m.strength is Strength.MOVED
            and m.role is Role.EFFECTIVE
            and not m.dropped
            and _place(m) > _given(m, given_up)
        )
    ]


def _place(mention: Mention) -> tuple[int, int]:
    return mention.unit.index, mention.span.start


def _given(mention: Mention, given_up: dict[date, tuple[int, int]]) -> tuple[int, int]:
    """Where the mention's day is last given up; a day that a move set can be moved once more after it."""
    return given_up.get(mention.day, (-1, 0)) if mention.day else (-1, 0)


def _plainest(live: Sequence[Mention]) -> list[Mention]:
    """The dates with the plainest wording; dates for newcomers only, or for a month only, give way to full ones."""
    wide = [m for m in live if not m.narrow]
    wide = [m for m in wide if not m.earlier] or wide
    sure = [m for m in wide if m.role is Role.EFFECTIVE]
    if not sure:
        return wide
    best = max(m.strength for m in sure)
    top = [m for m in sure if m.strength is best]
    if best is Strength.MOVED:
        # A move of one part leaves the other parts on the day they had.
        top += [m for m in sure if m.strength is Strength.FORCE and any(t.part for t in top) and not m.part]
    if best is Strength.FORCE:
        top += [m for m in sure if m.strength < Strength.FORCE and _applies_apart(m, top)]
    return top


def _applies_apart(mention: Mention, top: Sequence[Mention]) -> bool:
    """Whether "X applies from A" speaks of a part, in a sentence of its own whose subject is not the whole act."""
    text, cue = mention.unit.text, mention.cue
    begins = ("appl", "start", "begin", "commence") if mention.part else ("appl",)
    if cue is None or not text[cue.start : cue.end].lower().startswith(begins) or _WHOLE.match(text):
        return False
    return all(mention.unit.index != other.unit.index for other in top)


def _covers(vague: Mention, day: date) -> bool:
    span = vague.span
    if span.form is not Form.NO_DAY or span.year != day.year:
        return False
    return span.month_day is None or span.month_day[0] in (0, day.month)


def _said_twice(top: Sequence[Mention]) -> list[Mention]:
    """Open counts whose day is named right beside them: "30 days after publication, that is on 1 May"."""
    found: list[Mention] = []
    for one, two in pairwise(top):
        beside = one.unit.index == two.unit.index and (one.day is None) != (two.day is None)
        if beside and _THAT_IS.fullmatch(one.unit.text[one.span.end : two.span.start]):
            found.append(one if one.day is None else two)
    return found


def _from(top: Sequence[Mention], live: Sequence[Mention]) -> Verdict:
    maybe = [m for m in top if m.role is Role.HYPOTHETICAL]
    if maybe:
        return Verdict(
            None,
            "not_in_force",
            maybe[0].unit,
            "The notice names the day only as possible or planned, not as settled.",
        )
    days = list(dict.fromkeys(m.day for m in top if m.day))
    twice = _said_twice(top)
    undated = [m for m in top if m.day is None and m not in twice] if days else top
    open_ones = [m for m in undated if not any(_covers(m, day) for day in days)]
    if len(days) > 1:
        days = _for_everyone(top) or _day_after(top) or days
    if len(days) > 1 or (days and open_ones):
        return Verdict(None, "several", (open_ones or top)[0].unit, _differ(days, open_ones))
    if not days:
        return _open(open_ones[0])
    first = next(m for m in top if m.day == days[0])
    return _stated(first)


def _differ(days: Sequence[date], open_ones: Sequence[Mention]) -> str:
    names = [day.isoformat() for day in sorted(days)] + ["a day that it does not name"] * bool(open_ones)
    return f"The notice gives more than one start: {', '.join(names)}."


def _day_after(top: Sequence[Mention]) -> list[date]:
    """The later of two days in a row where the earlier is the last of the old: "not after 14 May; from 15 May"."""
    days = sorted({m.day for m in top if m.day})
    if len(days) != 2 or (days[1] - days[0]).days != 1:
        return []
    lasts = [m for m in top if m.day == days[0]]
    return days[1:] if all(_LAST_OF_OLD.search(m.unit.text[: m.span.start]) for m in lasts) else []


def _for_everyone(top: Sequence[Mention]) -> list[date]:
    """The one day from which the change holds for everybody, when the notice says so and no day is later."""
    everyone = list(dict.fromkeys(m.day for m in top if m.everyone and m.day))
    latest = max(m.day for m in top if m.day)
    return everyone if len(everyone) == 1 and everyone[0] == latest and not any(m.part for m in top) else []


def _open(mention: Mention) -> Verdict:
    if mention.span.form is Form.COUNTED:
        return Verdict(
            None,
            "unnamed_day",
            mention.unit,
            "The start is counted from a day that the notice does not name.",
        )
    if mention.span.form is Form.EITHER_ORDER:
        return Verdict(
            None,
            "ambiguous",
            mention.unit,
            "The date can be read as two days, and nothing in the notice shows which order it uses.",
        )
    return Verdict(None, "ambiguous", mention.unit, "The start is given without a full day, month and year.")


def _stated(mention: Mention) -> Verdict:
    day = mention.day
    if mention.span.form is Form.COUNTED:
        return Verdict(day, "relative", mention.unit, f"Counted from a day that the notice names, the start is {day}.")
    if mention.strength is Strength.MOVED:
        return Verdict(day, "stated", mention.unit, f"The notice moves the start to {day}.")
    return Verdict(day, "stated", mention.unit, f"The notice says that it starts on {day}.")


def _nothing(layout: Layout, mentions: Sequence[Mention]) -> Verdict:
    for unit in layout.units:
        if _LATER_NOTICE.search(unit.text) or _UNNAMED.search(unit.text):
            return Verdict(None, "unnamed_day", unit, "The start depends on a day that the notice does not name.")
    gone = [m for m in mentions if m.dropped]
    if gone:
        return Verdict(None, "not_in_force", gone[-1].unit, "The day once set no longer holds, and no other is named.")
    return Verdict(None, "none", None, "The notice names no day on which it starts.")


def _unless_parts_differ(layout: Layout, verdict: Verdict) -> Verdict:
    """Takes the day back where the same notice starts some part of itself on another or an unnamed day."""
    if verdict.day is None:
        return verdict
    for unit in layout.units:
        match = _EXCEPT.search(unit.text)
        apart = (
            match
            and match["rest"]
            and _OTHER_START.search(match["rest"])
            and _OTHER_START.search(unit.text[: match.start()])
        )
        if apart or _LATER_NOTICE.search(unit.text):
            return Verdict(
                None,
                "several",
                unit,
                f"Most of it starts on {verdict.day}, but a part starts on another day.",
            )
    return verdict
