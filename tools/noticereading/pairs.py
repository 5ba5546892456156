"""Tells the end of the old from the start of the new where the two stand side by side.

"The old tariff ends on A. The new tariff is valid from B." starts on B. A bare end is the notice's own change only
where the notice is about that ending, as when a vendor ends its support, and no start stands beside it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tools.noticereading.layout import Layout
from tools.noticereading.model import Mention, Role, Strength

_BARE_END = re.compile(r"^(?!roll).*\bend(?:s|ed|ing)?(?: (?:on|for))?$|^(?:到期|结束)$", re.IGNORECASE | re.DOTALL)
_END = re.compile(
    r"\b(?:stop|ceas|quit|shut|turn|retir|sunset|decommission|remov|discontinu|withdr|delet|disabl|revok|rescind"
    r"|repeal|unsupported|unavailable|EO[LS]|drop|die)"
    r"|\b(?:end[- ]of|end dates?|no longer|not be|cannot|go(?:es|ing)? (?:away|dark|offline|off)|last (?:day|date|time)"
    r"|final|clos(?:es|ed|ing)|any ?more|any longer|phas\w+[- ]out|out of|off|gone)\b"
    r"|停[用服运止]|终止|作废|废[止除]|取消|关[闭停]|下[线架]|退役|淘汰|撤销|不再",
    re.IGNORECASE,
)
_PLAIN_START = re.compile(
    r"\b(?:valid|charged|payable|appl(?:y|ies|ied|icable)|in (?:use|force|effect|place)|replac\w+)\b|收取|有效|使用"
    r"|适用|执行|施行|实施|生效",
    re.IGNORECASE,
)
_START = re.compile(
    _PLAIN_START.pattern + r"|\b(?:used|runs|opens?|introduced|effect(?:ive)?|commenc\w+|start|begin)"
    r"|\b(?:starts|begins|starting|beginning|start dates?|go(?:es)?[- ]live|(?:as )?from|as of|counts|holds?|governs"
    r"|becomes?|good from)\b|启用|上线|开[放通始]|[自从起]",
    re.IGNORECASE,
)
_OPENING = re.compile(r"^(?:opens?|runs|starts?|begins?)\b", re.IGNORECASE)
# Times for signing up and the like are beside the change, whether they open or close.
_SIGNING_UP = (
    r"registrations?|enrol\w*|sign-?ups?|applications? (?:period|window)|bookings?|voting|entries|报名|登记|申报"
)
_BESIDE = re.compile(
    rf"\b(?:{_SIGNING_UP}|seasons?|festival|exhibition|fair|holidays?|course|term|semester|offers?|discounts?|sales?"
    r"|(?<!support )(?<!maintenance )(?<!service )periods?|window)\b|报名|登记|申报|[季学]期?|优惠|活动|注册期",
    re.IGNORECASE,
)
_OPENS_BESIDE = re.compile(
    rf"\b(?:{_SIGNING_UP}|previews?|beta|pilots?|trials?|early access|wait(?:ing)? ?list|applications?|submissions?"
    r"|comments?|consultations?|sales?|polls?)\b|报名|登记|申报",
    re.IGNORECASE,
)
_SERVICE = re.compile(
    r"\b(?:support|access|services?|availability|maintenance|program(?:me)?s?|plans?|sync|API|apps?|applications?"
    r"|products?|versions?|endpoints?|features?|platform|clients?|servers?|sites?|systems?|tools?|SDK|librar(?:y|ies)"
    r"|hosting|models?|v?\d+(?:\.\d+)*)\b|服务|支持|维护|接口|平台|系统|产品|版本|版|应用|功能|运营",
    re.IGNORECASE,
)
_ABOUT_AN_END = re.compile(
    r"\b(?:sunset\w*|retir(?:e|es|ed|ing|ement)|shut(?:s|ting)? ?down|discontinu\w+"
    r"|end[- ]of[- ](?:life|support|service)"
    r"|decommission\w*|deprecat\w+|go(?:es|ing) away|saying goodbye|switch(?:ed|ing)? off|turn(?:ed|ing)? off)\b"
    r"|下线|停服|停止服务|停止运营|退役|停止支持",
    re.IGNORECASE,
)
_TITLE_OF_AN_END = re.compile(
    _ABOUT_AN_END.pattern + r"|\b(?:end(?:s|ing)?|clos(?:es|ing|ure)|withdraw\w*|remov\w+|terminat\w+|farewell|goodbye"
    r"|last day|final)\b|结束|终止|关闭|到期",
    re.IGNORECASE,
)
_OLD = re.compile(
    r"\b(?:old|former|previous|current|present|existing|outgoing|earlier|legacy|prior|today's)\b|旧|原|现行|老",
    re.IGNORECASE,
)
_NEW = re.compile(r"\bnew\b|\bsuccessor|\breplac|新", re.IGNORECASE)
_PRONOUN = re.compile(r"\W*(?:it|this|that|they|these|both)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[;。]|[,,](?! ?\d{4})|\.\s|\b(?:and|but|while|whereas)\b|但|而", re.IGNORECASE)
_BESIDE_UNITS = 2
_SOON = 7


@dataclass(frozen=True, slots=True)
class _Said:
    """A date with the wording that speaks of it and the words of its subject."""

    at: int
    mention: Mention
    words: str
    subject: str

    @property
    def bare(self) -> bool:
        return bool(_BARE_END.match(self.words))

    @property
    def ends(self) -> bool:
        return self.bare or bool(_END.search(self.words))

    @property
    def starts(self) -> bool:
        return not self.ends and bool(_START.search(self.words))


def settle_pairs(layout: Layout, mentions: Sequence[Mention]) -> list[Mention]:
    """The same dates, where an end that is not the notice's own change is an expiry and no start."""
    found = list(mentions)
    said = _all_said(layout, mentions)
    ended = bool(_ABOUT_AN_END.search(layout.plain) or _TITLE_OF_AN_END.search(layout.title))
    for one in said:
        if _OPENING.match(one.words) and _OPENS_BESIDE.search(one.subject):
            found[one.at] = replace(one.mention, role=Role.MILESTONE)
        elif one.bare and not _own_ending(one, ended):
            found[one.at] = replace(one.mention, role=Role.EXPIRY)
    for low, high in _neighbours(said):
        for end, start in ((low, high), (high, low)):
            if end.ends and start.starts and found[start.at].role is Role.EFFECTIVE and _gives_way(end, start):
                found[end.at] = replace(found[end.at], role=Role.EXPIRY)
                found[start.at] = replace(found[start.at], narrow=False)
    return found


def _all_said(layout: Layout, mentions: Sequence[Mention]) -> list[_Said]:
    found: list[_Said] = []
    last: Mention | None = None
    for at, mention in enumerate(mentions):
        before = last.span.end if last is not None and last.unit.index == mention.unit.index else 0
        last = mention
        cue = mention.cue
        if mention.role is not Role.EFFECTIVE or mention.dropped or mention.strength is Strength.MOVED or cue is None:
            continue
        words = mention.unit.text[cue.start : cue.end]
        found.append(_Said(at, mention, words, _subject(layout, mention, cue.start, cue.end, before)))
    return found


def _subject(layout: Layout, mention: Mention, start: int, end: int, before: int) -> str:
    """The words of the clause up to its verb; those after the date where the clause begins with it."""
    text, span = mention.unit.text, mention.span
    low = span.end if span.end <= start else before if before <= start else 0
    head = _CLAUSE.split(text[low:start])[-1]
    if not head.strip() and end <= span.start:
        rest = text[span.end :].lstrip(" ,起")
        head = _CLAUSE.split(rest)[0]
    if _PRONOUN.match(head) and mention.unit.index:
        head = layout.units[mention.unit.index - 1].text
    return f"{head} {text[start:end]}"


def _own_ending(said: _Said, ended: bool) -> bool:
    """Whether a bare end is what the notice is about."""
    return not _BESIDE.search(said.subject) and (ended or bool(_SERVICE.search(said.subject)))


def _neighbours(said: Sequence[_Said]) -> list[tuple[_Said, _Said]]:
    """Dates of the same or of nearby sentences, in pairs; those of one crowded line only with the next few."""
    return [
        (one, two)
        for at, one in enumerate(said)
        for two in said[at + 1 : at + 5]
        if two.mention.unit.index - one.mention.unit.index <= _BESIDE_UNITS
    ]


def _gives_way(end: _Said, start: _Said) -> bool:
    """Whether an end is only the other side of the start that stands beside it."""
    last, first = end.mention.day, start.mention.day
    if last is None or first is None or last == first:
        return False
    plain = start.mention.strength > Strength.HINT
    if end.bare and plain:
        return True
    old, new = bool(_OLD.search(end.subject)), bool(_NEW.search(start.subject))
    if first < last:
        return old and new and plain and bool(_PLAIN_START.search(start.words))
    if end.bare:
        return True
    return (plain or new) and (old or new or (first - last).days <= _SOON)
