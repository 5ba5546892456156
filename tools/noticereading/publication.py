"""Finds the day on which the notice itself came out, as the notice names it."""

import re
from collections.abc import Sequence
from datetime import date

from tools.noticereading.model import Form, Mention, Role, Strength

_LABEL = re.compile(
    r"^\W*(?:(?:final |interim )?rule,? )?"
    r"(?:(?:date|day) (?:of )?(?:publi\w+|posting|print(?:ing)?)|publication(?: date| day)?|publish(?:ed"
    r"|ing)?(?: date| on| in[^:]{0,60})?|posted(?: on)?|made public(?: on)?|given out(?: on)?"
    r"|printed[^:\d]{0,60}|date published|"
    r"date posted|announced(?: on)?"
    r"|(?:(?:in|appeared in) the )?federal register[^:]{0,40}|appeared(?: on)?|FR|notice date|release date|issue date"
    r"|date of (?:this )?(?:notice|issue|announcement)|"
    r"(?:签署公布|公布|发布|印发|发文|成文|颁布|签发|刊登|公告|公开|发稿){1,2}(?:日期|时间"
    r"|之日)?为?)\W*(?:on )?(?:in the federal register\W*(?:on |of )?)?(?:\w+day,?\s*)?$|^\W*(?:date|dated|sent"
    r"|issued|released|日期|时间)\W*(?:\w+day,?\s*)?$",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"^(?!.*\b(?:issued?|dated?|released?)\W*(?:on )?(?:\w+day,?\s*)?$)[^A-Za-z]*[A-Za-z ]{2}|公布|发布|颁布|公开", re.I
)
_SELF = re.compile(
    r"\b(?:publication of this|publish(?:ed|ing) this|this (?:document|notice|rule|announcement|final rule"
    r"|post|page|order|regulation)\b[^.;]{0,60}\b(?:is|was|are|being) (?:being )?"
    r"(?:published|posted|printed|issued|announced)|(?:is|was) published (?:today|here)|本(?:公告|办法|通知"
    r"|规定|决定|条例|规则|令)[^。;]{0,12}(?:公布|发布|印发))",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"[\s\W\d]*(?:(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?|at|am|pm|utc|posted|published|by"
    r"|[ap]\.m\.?|est|pst|gmt)?[\s\W]*",
    re.IGNORECASE,
)

_APART = re.compile(r"[|;【]|\s[-/]\s|\.\s+(?=[A-Z])")
_NEAR = 140
_SAYS_SO = re.compile(r"\W*(?:published|posted|printed|announced|issued)\b", re.IGNORECASE)
_ZH_SAYS_SO = re.compile(r"(?:对外)?(?:公布|发布|印发)(?:[。;]|$)|\w{0,14}令(?:第\w{1,6}号)?公布(?:[。;,]|$)")
_VOLUME = re.compile(r"^[^(]*\b\d{1,3} FR \d+[,;]?\s*(?:\w+day,?\s*)?$")
_ENDS_A_MASTHEAD = re.compile(r"(?:^|[,.;·|/-]|\b(?:of|in))\s*(?:\w+day,?\s*)?$")


def _rank(mention: Mention, last: int) -> int | None:
    text, span = mention.unit.text, mention.span
    before, after = text[max(0, span.start - _NEAR) : span.start], text[span.end : span.end + _NEAR]
    if not re.search(r"comment|effective", before, re.I):
        before = _APART.split(before)[-1]
    if _LABEL.search(before):
        return 0 if _STRONG.search(before) else 1
    if _SELF.search(text[max(0, span.start - _NEAR) : span.end + _NEAR]) and mention.role in (
        Role.PUBLISHED,
        Role.NEUTRAL,
    ):
        return 2
    if mention.role is Role.PUBLISHED and mention.unit.head and span.start < _NEAR and _SAYS_SO.match(text):
        return 2
    if mention.unit.head and _ZH_SAYS_SO.match(after):
        return 2
    if mention.role is Role.EFFECTIVE and mention.strength is not Strength.HINT:
        return None
    if _BARE.fullmatch(before) and _BARE.fullmatch(after):
        return 3 if mention.unit.head else 5 if mention.unit.index >= last - 1 else None
    return 4 if _in_masthead(mention) or (mention.unit.head and _VOLUME.search(before)) else None


def _in_masthead(mention: Mention) -> bool:
    text = mention.unit.text
    if not mention.unit.head or len(text) > 130 or mention.role not in (Role.NEUTRAL, Role.PUBLISHED):
        return False
    if re.match(r"[-*•] ", text):
        return False
    if text.endswith(".") and not _ENDS_A_MASTHEAD.search(text[: mention.span.start]):
        return False
    return not text.endswith("。") and not re.search(r"\b(?:will|is|are|was|were|by)\b", text)


def publication_days(mentions: Sequence[Mention], last_unit: int) -> list[date]:
    """The days that the strongest sort of evidence names, in the order of the notice; one where it agrees."""
    ranked: dict[int, list[date]] = {}
    for mention in mentions:
        if mention.day is None or mention.span.form is Form.COUNTED:
            continue
        rank = _rank(mention, last_unit)
        if rank is not None and mention.day not in ranked.setdefault(rank, []):
            ranked[rank].append(mention.day)
    return ranked[min(ranked)] if ranked else []
