"""Tells a date that was given up from the date that took its place.

Works on the words right around one date: "was due to start on A", "moved from A to B", "原定于A", "推迟至B".
"""

import re

_MOVE = (
    r"(?:delay(?:s|ed|ing)?|postpon\w+|defer(?:s|red|ring)?|mov(?:e|es|ed|ing)|push(?:es|ed|ing)?|"
    r"exten(?:ds?|ded|ding|sion)(?! (?:support|security|service))"
    r"|reschedul\w+|shift(?:s|ed|ing)?|chang(?:e|es|ed|ing)|bring(?:s|ing)? forward|brought forward|(?:put"
    r"|set|held|hold)(?:s|ting)?"
    r" (?:it |this )?(?:back|off|over|forward)|slip(?:s|ped|ping)?|revis(?:e|es|ed|ing)|adjust\w*"
    r"|correct(?:s|ed|ing)?|advanc\w+|updat(?:ed?|ing)|amended)"
)
_MOVED = re.compile(rf"\b{_MOVE}\b", re.IGNORECASE)
_NEW_BEFORE = re.compile(
    rf"\b{_MOVE}\b(?:(?! and |,(?! ?\d{{4}})|which|while)[^;:]){{0,90}}?\b(?:to|until|till|for|as"
    rf"|by)\s+(?:read\s+)?(?:be\s+)?(?:on\s+)?(?:the\s+)?(?:new\s+date\s+of\s+)?[\"']?(?:\w+day,\s+)?$"
    r"|(?:->|→|=>)\s*$|\bshould (?:be|read|have (?:been|read|said))\b[^;]{0,20}$"
    r"|\bcorrect(?:ed)? (?:effective )?date (?:is|of|:)\s*$"
    r"|\bnew (?:effective |start |end |shut\w* |retirement |removal |sunset |target )?date(?: is| of"
    r"| will be|:)?\s*(?:now )?$"
    r"|\b(?:is|are|be|will|has|have) now\b[^;,]{0,40}$|\bnow (?:is|be|been|takes?|stops?|ends?|scheduled|set"
    r"|planned|effective|due)\b[^;,]{0,60}$"
    r"|\b(?:date|day|start|deadline|end) becomes\s*$|\b(?:replaced (?:by|with)|read)\s*[\"']?$"
    r"|(?:顺延|推迟|延[后迟长]|提前)[^。;,]{1,8}[,]?即$|(?:应|修?改)为[^。;,]{0,6}$"
    r"|\bnow [a-z]+s\b[^;,]{0,50}$"
    r"|(?:延期|推迟|延迟|延后|延至|延长|顺延|调整|改|提前|变更|更正|推后|延)[^。;,]{0,14}?(?:至|到|为|于"
    r"|自)$|延至$|更正为\"?$",
    re.IGNORECASE,
)
_OLD_BEFORE = re.compile(
    r"\b(?:originally|initially|previously|formerly|at first)\b[^;,]{0,50}$"
    r"|\b(?:first|earlier|old|prior|original|initial|previous|former)\s+(?:\w+ )?(?:planned|set|announced"
    r"|scheduled|given|dates?|target|deadline|effective|shut\w*|plan|announcement|notice)\b[^;,]{0,50},?\s*$"
    r"|\b(?:was|were|had been)\s+(?:(?:\w+ly|first|then|once|already)\s+)?(?:due|to|scheduled|set|supposed"
    r"|meant|planned|going|expected|intended)\b[^;]{0,60}$"
    r"|\bhad\s+(?:\w+\s+)?(?:planned|scheduled|intended|said|announced|set)\b[^;]{0,60}$"
    r"|\bwould have\b[^;]{0,60}$|\b(?:instead of|rather than|in place of|in lieu of|not on|not"
    r"|no longer(?: on)?)\s+(?:taking effect |the )?(?:on |from |as of )?$"
    r"|\(\s*(?:was|were|formerly|previously|originally|had been|old)\s*:?\s*$"
    r"|\b(?:given as|stated as|listed as|read as|incorrectly|wrongly|mistakenly|in error|erroneously"
    r"|said)\b[^;]{0,90}$"
    r"|(?:原定|原计划|原拟|原规定|原公告|原先|原来|原本|原(?=[施实生执下停关]))[^。;]{0,24}$|(?:此前|先前"
    r"|早前)[^。;,]{0,24}$|曾[^。;,]{0,15}$|不再[^。;,]{0,8}$|误[写为刊作]?[^。;,]{0,6}$",
    re.IGNORECASE,
)
_OLD_AFTER = re.compile(
    r"^\)?\s*(?:,\s*)?(?:as\s+)?(?:originally|initially|previously|first|formerly)\s+(?:planned|announced"
    r"|scheduled|set|stated|given|published|stated)"
    r"|^\)?,?\s*(?:effective\s+)?(?:date|deadline|start|target|shutdown)?\s*(?:date)?\s*(?:(?:is )?no longer|(?:is|was"
    r"|has been|have been|are|has)\s+(?:hereby\s+|now\s+|being\s+|since been\s+)?"
    rf"(?:{_MOVE}|cancell?ed|withdrawn|dropped|superseded|replaced|void|abandoned))\b"
    rf"|^,?\s*a (?:date|day) (?:that|which) [^.;:]{{0,30}}?\b(?:{_MOVE}|dropped|given up)\b"
    r"|^\s*\(?(?:given |printed |stated |said )?(?:in error|by mistake|wrong(?:ly)?)\b"
    r"|^[\"']?,?\s*read\b|^\)?\s*(?:was|were) the (?:original|first|earlier|old|initial)\b|^\s*(?:->|→|=>)"
    r"|^[^。;,]{0,10}\"[^。;,]{0,4}(?:应|修?改|更正|修正)为"
    r"|^(?:起)?[^。;,]{0,8}(?:不再适用|作废|延期|推迟|延至|顺延)",
    re.IGNORECASE,
)
_FROM = re.compile(r"(?:\bfrom\s+(?:the\s+)?(?:\w+day,\s+)?|[由从自])$", re.IGNORECASE)
_TO = re.compile(r"^\s*(?:,\s*)?(?:to|until|till)\s", re.IGNORECASE)
_TO_ZH = re.compile(r"^(?:起)?[^。;,]{0,8}(?:推迟|延|调整|改|变更|提前|顺延|更正)\w{0,2}(?:至|为|到|于)?$")
_MOVED_DATE = re.compile(rf"\b{_MOVE}\s+(?:the|its|our|that)?\s*(?:\w+\s+)?$", re.IGNORECASE)
_OWN_DATE = re.compile(r"^\s*(?:\w+\s+)?(?:effective |shut\w* |start )?(?:date|deadline)\b", re.IGNORECASE)
_INDEFINITE = re.compile(
    rf"\b(?:{_MOVE}|stay(?:s|ed)?|suspend(?:s|ed)?|paused?|on hold)\b[^.;]{{0,80}}?\b(?:indefinitely"
    rf"|until further notice|pending|with no new date|without a new date)\b"
    r"|\bnew (?:effective |start |end |shutdown |retirement |removal )?(?:date|day)\b[^.;]{0,20}? (?:will|is to) be"
    r" (?:given|announced|set|named|published|shared)"
    r"|\b(?:will|to) (?:name|announce|set|give|publish) a new (?:date|day)\b"
    r"|\bindefinite(?:ly)? (?:delay|postpon|stay|suspen|defer)\w*|无限期(?:推迟|延期|暂停)|(?:推迟|延期|暂缓"
    r"|暂停)(?:施行|实施|执行)?[^。;]{0,16}(?:时间|日期)?另行(?:通知|公布|公告)",
    re.IGNORECASE,
)
_LIFTED = re.compile(r"\b(?:lift(?:s|ed)|dissolved|vacated)\b", re.IGNORECASE)
_REACH = 160


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    before = re.split(r"[;。]", text[max(0, start - _REACH) : start])[-1]
    after = re.split(r"[;。]|\.\s", text[end : end + _REACH])[0]
    return before, after


def is_old(text: str, start: int, end: int, previous: int, following: int) -> bool:
    """Whether the date at this place was given up; previous and following bound the neighbouring dates."""
    before, after = _around(text, start, end)
    near_before = before[-max(0, start - previous) :] if start > previous else ""
    near_after = after[: max(0, following - end)]
    if _OLD_BEFORE.search(near_before) or _OLD_AFTER.search(near_after):
        return True
    if _MOVED_DATE.search(near_before) and _OWN_DATE.search(near_after):
        return True
    if _FROM.search(near_before):
        return bool((_TO.search(near_after) and _MOVED.search(text)) or _TO_ZH.search(near_after))
    return False


def is_new(text: str, start: int, end: int) -> bool:
    """Whether the date at this place took the place of another."""
    before, _ = _around(text, start, end)
    return bool(_NEW_BEFORE.search(before))


def put_off_without_a_date(text: str) -> bool:
    """Whether the line says that the start was put off and no new day is set."""
    return bool(_INDEFINITE.search(text)) and not _LIFTED.search(text)
