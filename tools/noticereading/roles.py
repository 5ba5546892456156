"""Says what each date of a notice is for, from the wordings around it, its label and its heading."""

import re
from collections.abc import Sequence
from dataclasses import replace

from tools.noticereading.model import Cue, Form, Role, Span, Strength, Unit
from tools.noticereading.wording import Wording, find_cues
from tools.noticereading.wording_en import ENGLISH, HINTS
from tools.noticereading.wording_zh import CHINESE, HINTS_ZH

_HAN = re.compile(r"[\u4e00-\u9fff]")
_BREAK = re.compile(r"[;。]|\.\s+(?=[A-Z])")
_JOIN = re.compile(r"\b(?:and|but|while|whereas|although|though)\b|但|而", re.IGNORECASE)
_UNTIL = re.compile(
    r"\b(?:until|till|through|thru|ending"
    r"|to)\s+(?:and including\s+)?(?:[\d:.]+\s*[ap]\.?m\.?,?\s*(?:\w{2,4}\s+)?)?(?:on\s+)?(?:\w+day,?\s+)?$"
    r"|(?:至|到|截至)$",
    re.IGNORECASE,
)
_HOURS = re.compile(
    r"\bfrom\s+(?:[\d:.]+\s*[ap]\.?m\.?|noon|midnight)[^;\d]{0,12}?(?:until|till|to|through)\b", re.IGNORECASE
)
# "旧办法施行至A(止)" is the last day of the old.
_RUNS_UNTIL = re.compile(r"(?:施行|实施|执行|使用|适用|收取|有效)[至到]$")
_PUT_OFF = re.compile(r"[推延顺缓停]|调整|提前|改")
_BY = re.compile(r"\b(?:by|before|no later than|prior to)\W+(?:\w+day,?\s+)?$", re.IGNORECASE)
_AND_THEN = re.compile(r"[^.,;:()\d]{0,60}?(?:,| and| or)\s(?:on |from |as of )?", re.IGNORECASE)
_REFERS = re.compile(r"\b(?:that (?:day|date|point|moment)|then)\b|(?:该日|那天|此日|当日)起", re.IGNORECASE)
_UNFINISHED = re.compile(r"起[;,]$")
_OWN_LABEL = re.compile(r"(?:dates|when)\b", re.IGNORECASE)
_AFTER_COST = 8
_FAR = 1000
_COMMA = re.compile(r",(?! ?\d{4})")
# "keeps working until A" tells when something ends; "may be phased in until A" does not.
_STILL = re.compile(
    r"\b(?:available|works?|working|usable|supported|keeps?|continues?|remains?|reachable|accept(?:s|ed)?"
    r"|stays?|online|up(?! to)|runs?"
    r"|extended|delayed|postponed|moved|deferred)\b|[继可延推]",
    re.IGNORECASE,
)
_ANY_YEAR = re.compile(r"\d{4}")
_SHORT = 80
_POINTING = re.compile(
    r"^(?:this|that|it|the (?:date|change|switch|day|new date)|both|these|all of this)\b|^(?:时间|日期|具体时间)",
    re.IGNORECASE,
)
NO_CUE = Cue(0, 0, Role.NEUTRAL, Strength.HINT, 0)


def _distance(text: str, cue: Cue, span: Span, others: Sequence[Span], most: int) -> int:
    """How far a wording is from a date, with every break of the sentence between them counted as further."""
    if cue.end <= span.start:
        low, high, extra = cue.end, span.start, 0
    elif cue.start >= span.end:
        low, high, extra = span.end, cue.start, _AFTER_COST
        if cue.role is Role.PUBLISHED and "," in text[low:high]:
            return _FAR  # "As of A, the rule published on B": the publication is another's
    else:
        # "90 days after the effective date" counts from the start and is not the start.
        own = cue.role is Role.EFFECTIVE and span.count and (cue.end > span.end or not span.count.number)
        return 0 if own or not span.count else _FAR
    if cue.role is Role.CITED and cue.start == span.end:
        return -1  # "2018年3月1日发布的" belongs to the thing that follows, whatever stands before it
    if (
        cue.role is Role.CITED
        and cue.end <= span.start
        and (text[cue.end - 1] == "的" or text[span.start - 1] in "自从于")
    ):
        return _FAR  # "经批准自A起" begins anew at its preposition
    if high - low + extra > most or _of_another(text, cue, span, others):
        return _FAR
    gap = text[low:high]
    between = sum(1 for other in others if low <= other.start and other.end <= high)
    if _BREAK.search(gap) and cue.role is not Role.EFFECTIVE:
        return _FAR
    breaks = 60 * len(_BREAK.findall(gap)) + 20 * len(_JOIN.findall(gap))
    return len(gap) + extra + 25 * between + 14 * len(_COMMA.findall(gap)) + 6 * gap.count("(") + breaks


def _of_another(text: str, cue: Cue, span: Span, others: Sequence[Span]) -> bool:
    """Whether the wording stands right after another date: in "旧票价至A结束,新票价自B起" the end is A's."""
    gap = text[cue.end : span.start]
    return "," in gap and gap[-1] in "自从" and any(other.end == cue.start for other in others)


def _nearest(text: str, cues: list[Cue], span: Span, others: Sequence[Span]) -> Cue | None:
    best: tuple[int, Cue] | None = None
    for cue in cues:
        most = min(cue.limit, best[0]) if best else cue.limit
        distance = _distance(text, cue, span, others, most)
        if distance <= cue.limit and (best is None or distance < best[0]):
            best = (distance, cue)
    return best[1] if best else None


def read_roles(unit: Unit, spans: Sequence[Span], previous: str, following: str = "") -> list[Cue]:
    """For each date of the unit, the wording that says what it is for, with the units before and after it."""
    if not spans:
        return []
    chinese = bool(_HAN.search(unit.text))
    table, hints = (CHINESE + ENGLISH, HINTS_ZH + HINTS) if chinese else (ENGLISH, HINTS)
    cues = [cue for cue in find_cues(unit.text, table) if not _inside_count(cue, spans)]
    weak = find_cues(unit.text, hints)
    context = _from_context(unit, table, previous) or _referred(unit, table, following if len(spans) == 1 else "")
    found: list[Cue] = []
    for span in spans:
        best = _nearest(unit.text, cues, span, spans) or (context if span is spans[0] or unit.row else None)
        best = best or _nearest(unit.text, weak, span, spans)
        found.append(_bounded(unit.text, span, best, spans) if best else _carried(unit.text, span, spans, found))
    return found


def _carried(text: str, span: Span, spans: Sequence[Span], found: Sequence[Cue]) -> Cue:
    """What a date shares with the one before it: "from A in one place and B in another"."""
    if not found or found[-1].role is not Role.EFFECTIVE:
        return NO_CUE
    return found[-1] if _AND_THEN.fullmatch(text[spans[len(found) - 1].end : span.start]) else NO_CUE


def _inside_count(cue: Cue, spans: Sequence[Span]) -> bool:
    """Whether the wording is the event of a count ("after publication"), which says nothing of other dates."""
    counted = (span for span in spans if span.form is Form.COUNTED)
    return cue.role is not Role.EFFECTIVE and any(span.start <= cue.start < span.end for span in counted)


def _from_context(unit: Unit, table: list[Wording], previous: str) -> Cue | None:
    """What a sentence that points back ("This happens on ...") or a bare day under a heading is about."""
    if _POINTING.match(unit.text):
        pointed = [cue for cue in find_cues(previous, table) if cue.role is Role.EFFECTIVE]
        # "时间:A" stands under "实施时间"; under a longer title it is the day that the page came out.
        labelled = unit.text[0] not in "时日具" or (pointed and pointed[-1].end >= len(previous) - 3)
        if pointed and labelled:
            return pointed[-1]
    if unit.row or (len(unit.text) < _SHORT and not _OWN_LABEL.match(unit.text)):
        return next(iter(find_cues(unit.heading, table)), None)
    return None


def refers_back(text: str) -> bool:
    """Whether a sentence without a date of its own speaks of a day that was named before it."""
    return bool(_REFERS.search(text)) and not _ANY_YEAR.search(text)


def _referred(unit: Unit, table: list[Wording], following: str) -> Cue | None:
    """What the next sentence says of this one's date: "From that day it is gone", or "A自3月1日起;B自4月1日起实行"."""
    shared = refers_back(following) or _UNFINISHED.search(unit.text)
    cues = [cue for cue in find_cues(following, table) if cue.role is Role.EFFECTIVE] if shared else []
    return cues[0] if cues else None


def _bounded(text: str, span: Span, cue: Cue, spans: Sequence[Span]) -> Cue:
    """Turns the end of a stretch of time ("from A until B", "自A起至B") into the expiry that it is."""
    before = text[max(0, span.start - 45) : span.start]
    if cue.role is Role.EFFECTIVE and _RUNS_UNTIL.search(before) and not _PUT_OFF.search(text[: span.start]):
        return replace(cue, role=Role.EXPIRY)
    if cue.strength is Strength.HINT and _BY.search(before):
        return NO_CUE
    if cue.role is not Role.EFFECTIVE or not _UNTIL.search(before) or _HOURS.search(before):
        return cue
    if cue.strength < Strength.FORCE and not _STILL.search(text.split(" unless ", maxsplit=1)[0]):
        return replace(cue, role=Role.EXPIRY)
    opened = any(other.end <= span.start for other in spans)
    if opened or (cue.strength is Strength.FORCE and cue.end <= span.start - 8):
        return replace(cue, role=Role.EXPIRY)
    return cue
