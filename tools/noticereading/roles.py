"""Says what each date of a notice is for, from the wordings around it, its label and its heading."""

import re
from collections.abc import Sequence

from tools.noticereading.model import Cue, Form, Role, Span, Strength, Unit
from tools.noticereading.wording import Wording, find_cues
from tools.noticereading.wording_en import ENGLISH, HINTS
from tools.noticereading.wording_zh import CHINESE, HINTS_ZH

_HAN = re.compile(r"[\u4e00-\u9fff]")
_BREAK = re.compile(r"[;。]|\.\s")
_JOIN = re.compile(r"\b(?:and|but|while|whereas|although|though)\b|但|而", re.IGNORECASE)
_UNTIL = re.compile(
    r"\b(?:until|till|through|thru|ending|to)\s+(?:and including\s+)?(?:[\d:.]+\s*[ap]\.?m\.?,?\s*(?:\w{2,4}\s+)?)?(?:on\s+)?(?:\w+day,?\s+)?$|(?:至|到|截至)$",
    re.IGNORECASE,
)
_STRAIGHT = re.compile(r"^\W{0,3}$")
_BY = re.compile(r"\b(?:by|before|no later than|on or before|prior to)\s+(?:\w+day,?\s+)?$", re.IGNORECASE)
_POINTING = re.compile(
    r"^(?:this|that|it|the (?:date|change|switch|day|new date)|both|these|all of this)\b|^(?:时间|日期|具体时间)",
    re.IGNORECASE,
)
NO_CUE = Cue(0, 0, Role.NEUTRAL, Strength.HINT, 0)


def _distance(text: str, cue: Cue, span: Span, others: Sequence[Span]) -> int:
    if cue.end <= span.start:
        gap, low, high, extra = text[cue.end : span.start], cue.end, span.start, 0
    elif cue.start >= span.end:
        gap, low, high, extra = text[span.end : cue.start], span.end, cue.start, 8
    else:
        return 0 if span.form is not Form.COUNTED or cue.role is Role.EFFECTIVE else 1000
    between = sum(1 for other in others if low <= other.start and other.end <= high)
    return (
        len(gap)
        + extra
        + 25 * between
        + 14 * gap.count(",")
        + 60 * len(_BREAK.findall(gap))
        + 20 * len(_JOIN.findall(gap))
        + 6 * gap.count("(")
    )


def _nearest(text: str, cues: list[Cue], span: Span, others: Sequence[Span]) -> Cue | None:
    best: tuple[int, Cue] | None = None
    for cue in cues:
        if span.form is Form.COUNTED and cue.role is Role.PUBLISHED:
            continue  # "after publication" counts from it; it does not make the day one of publication
        distance = _distance(text, cue, span, others)
        if distance <= cue.limit and (best is None or distance < best[0]):
            best = (distance, cue)
    return best[1] if best else None


def read_roles(unit: Unit, spans: Sequence[Span], previous: str) -> list[Cue]:
    """For each date of the unit, the wording that says what it is for; `previous` is the unit before."""
    if not spans:
        return []
    chinese = bool(_HAN.search(unit.text))
    table, hints = (CHINESE + ENGLISH, HINTS_ZH + HINTS) if chinese else (ENGLISH, HINTS)
    cues = find_cues(unit.text, table)
    weak = find_cues(unit.text, hints)
    found: list[Cue] = []
    for span in spans:
        best = _nearest(unit.text, cues, span, spans) or _from_context(unit, span, table, previous)
        best = best or _nearest(unit.text, weak, span, spans)
        found.append(_bounded(unit.text, span, best, spans) if best else NO_CUE)
    return found


def _from_context(unit: Unit, span: Span, table: list[Wording], previous: str) -> Cue | None:
    if _POINTING.match(unit.text):
        pointed = [cue for cue in find_cues(previous, table) if cue.role is Role.EFFECTIVE]
        if pointed:
            return pointed[-1]
    above = find_cues(unit.heading, table)
    if above and (unit.row or len(unit.text) - (span.end - span.start) < 60):
        return above[0]
    return None


def _bounded(text: str, span: Span, cue: Cue, spans: Sequence[Span]) -> Cue:
    """Turns the end of a stretch of time ("from A until B", "自A起至B") into the expiry that it is."""
    before = text[max(0, span.start - 45) : span.start]
    if cue.role is not Role.EFFECTIVE or not _UNTIL.search(before):
        return cue
    opened = any(other.end <= span.start for other in spans)
    if opened or cue.strength is Strength.FORCE and cue.end <= span.start - 8:
        return Cue(cue.start, cue.end, Role.EXPIRY, cue.strength, cue.limit)
    return cue
