"""Reads the effective date out of an official or a vendor's notice, and says so when the notice names none.

The reading is made by general rules about wording, never by a notice's file, title or number, and never by what
day it is today. Where the evidence is missing, open or contradictory the answer is no date, with the reason.
"""

from dataclasses import dataclass
from datetime import date

from tools.noticereading.dates import parse_one_day
from tools.noticereading.documents import UnreadableNotice, notice_text
from tools.noticereading.layout import read_layout
from tools.noticereading.mentions import read_mentions
from tools.noticereading.verdict import Reason, decide

__all__ = ["Reading", "Reason", "UnreadableNotice", "notice_text", "parse_day", "read_effective_date"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a notice says about when it takes effect. The reason is stated or relative exactly when there is a day."""

    effective: date | None
    published: date | None
    reason: Reason
    quote: str
    explanation: str


def read_effective_date(text: str) -> Reading:
    """The day from which the notice holds, worked out from this one text; it never raises."""
    layout = read_layout(text)
    mentions, published, unread = read_mentions(layout)
    verdict = decide(layout, mentions, unread)
    unit = verdict.unit
    quote = text[unit.start : unit.end].strip() if unit is not None else ""
    first = published[0] if published else None
    return Reading(verdict.day, first, verdict.reason, quote, verdict.explanation)


def parse_day(value: str) -> date | None:
    """A catalogue's date in any notation that means one day; None where it means none, or could mean two."""
    return parse_one_day(value)
