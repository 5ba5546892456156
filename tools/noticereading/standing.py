"""Tells whether a notice puts anything into force at all: proposals, drafts and open-ended delays do not."""

import re

from tools.noticereading.layout import Layout
from tools.noticereading.model import Unit
from tools.noticereading.shifts import put_off_without_a_date

_ACTION = re.compile(
    r"^\W*(?:action|type|rule type|document type|kind|category|status|类别|文件类型)\W{0,4}:\s*(.+)$",
    re.IGNORECASE,
)
_PROPOSAL = re.compile(
    r"\bproposed (?:rule|regulation|amendment|order|policy|change|priorit\w+|determination|standards?"
    r"|revisions?)|\bproposal|\bnotice of (?:proposed|public hearing|public meeting|hearing|meeting|inquiry"
    r"|intent)"
    r"|\badvance(?:d)? notice|\brequest for (?:information|proposals)|\bproposes\b|\bNPRM\b|\bdraft (?:rule"
    r"|guidance|regulation|order)|\bconsultation\b|\bdiscussion draft",
    re.IGNORECASE,
)
_IN_FORCE = re.compile(
    r"\b(?:final|interim|direct|temporary|emergency)(?: \w+)? (?:rule|order|regulation|action|result"
    r"|determination)|\bcorrect\w+|\bwithdrawal of|\bwithdrawn\b.*\bas of\b|\bdelay\b|;\s*withdrawal",
    re.IGNORECASE,
)
_PROPOSES = re.compile(
    r"\b(?:now |today |hereby )?(?:proposes|is proposing|are proposing|propose) (?:to|that|a|an|the|new"
    r"|these|changes|amend\w*|revis\w*|adding|raising|requiring)|\bthis (?:proposed rule|proposal"
    r"|notice of proposed|draft)\b"
    r"|\bif (?:this (?:proposal|rule|draft) is |it is |they are |the (?:rule|proposal"
    r"|draft) is )?(?:finali[sz]ed|adopted|approved)\b",
    re.IGNORECASE,
)
_ZH_DRAFT = re.compile(
    r"征求意见稿|草案|(?:公开|现|再次)(?:向社会)?(?:公开)?征求(?:社会)?(?:各界|公众)?(?:的)?意见"
    r"|拟(?:修[订改]|制定)的?公告|征求[^。;]{0,30}意见的(?:通知|公告|函)"
)
_ZH_PAST = re.compile(
    r"(?:在|经|前期|已|曾|此前|基础上|完成)[^。;,]{0,16}征求|征求[^。;]{0,20}(?:后|基础上|基础之上|采纳)"
    r"|草案[^。;]{0,12}(?:通过|审议)"
)
_NAMED_SO = re.compile(
    r"(?:\w+ )?(?:notice of )?proposed rule(?:making)?|request for information"
    r"|notice of (?:public |open )?(?:meeting|hearing|intent)s?",
    re.IGNORECASE,
)
_FORCE = re.compile(
    r"\b(?:this|the) (?:\w+ )?rule (?:is effective|takes effect|will take effect|becomes effective)"
    r"|\beffective date\s*:|\bfinal rule\b|(?:施行|实施|生效)(?:日期|时间)?[::]",
    re.IGNORECASE,
)
_HEAD_UNITS = 25


def _action(layout: Layout) -> tuple[Unit, str] | None:
    for at, unit in enumerate(layout.units[:_HEAD_UNITS]):
        match = _ACTION.match(unit.text)
        if match:
            return unit, match[1]
        if re.fullmatch(r"\W*action\W*", unit.text, re.IGNORECASE) and at + 1 < len(layout.units):
            return layout.units[at + 1], layout.units[at + 1].text
    return None


def _named_so(text: str) -> bool:
    """Whether a line of the masthead, or a part of it between its marks, is nothing but the name of a proposal."""
    parts = re.split(r"[,.;|]", text)
    return not _IN_FORCE.search(text) and any(_NAMED_SO.fullmatch(part.strip()) for part in parts)


def proposal(layout: Layout) -> Unit | None:
    """The line that shows the notice to be a proposal or a draft, if one does."""
    action = _action(layout)
    if action and _IN_FORCE.search(action[1]):
        return None
    if action and _PROPOSAL.search(action[1]):
        return action[0]
    if not layout.units:
        return None
    title = layout.units[0]
    named = next((u for u in layout.units[:_HEAD_UNITS] if _named_so(u.text)), None)
    if named is not None:
        return named
    if _PROPOSAL.search(layout.title) and not _IN_FORCE.search(layout.title):
        return title
    draft = next(
        (u for u in layout.units[:_HEAD_UNITS] if _ZH_DRAFT.search(u.text) and not _ZH_PAST.search(u.text)),
        None,
    )
    if draft is not None:
        return draft
    if _FORCE.search(layout.plain):
        return None
    return next((unit for unit in layout.units if _PROPOSES.search(unit.text)), None)


def open_ended_delay(layout: Layout) -> Unit | None:
    """The line that puts the start off without naming a new day, if one does."""
    return next((unit for unit in layout.units if put_off_without_a_date(unit.text)), None)
