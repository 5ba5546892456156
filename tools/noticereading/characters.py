"""Brings the characters of a notice to one form without moving any of them.

Every replacement is one character for one character, so a place in the tidy text is the same place in the
text as it was given, and a quotation can be cut out of the original.
"""

import re

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SPACES = dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000\t\ufeff\u200b\r"), " ")
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-")
_QUOTES = {ord("’"): "'", ord("‘"): "'", ord("“"): '"', ord("”"): '"'}
_TRADITIONAL = str.maketrans(
    "實執發佈號條項廢徵見為後個開關務規則補佈稱書報會議審簽間時從當舊將調達過於給請聽證註銷緩暫遲順延層讓檢準區無續滿計",
    "实执发布号条项废征见为后个开关务规则补布称书报会议审签间时从当旧将调达过于给请听证注销缓暂迟顺延层让检准区无续满计",
)
_TABLE = {**_FULL_WIDTH, **_SPACES, **_DASHES, **_QUOTES, **_TRADITIONAL}

# [^~] and [^<] keep each search short: a mark that is never closed costs one look ahead, not the whole text.
_STRUCK = re.compile(r"~~([^~]{1,2000})~~|<(del|s|strike)\b[^<>]{0,200}>([^<]{1,2000})</\2\s*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,300}>|<!--[^<>]{0,2000}-->")
_LEADER = re.compile(r"\.{4,}|(?: \.){3,}")
# "(A通过 B公布 自C起施行)": the spaces part the clauses, and would be lost inside Chinese.
_CLAUSE = re.compile(r"(?<=通过|公布|发布|修订|修正|批准|施行) (?=自?\d{4}年)")
_MARK = re.compile(r"\*\*|__|`|\*(?=\S)|(?<=\S)\*")
_CJK = r"\u3007\u3400-\u9fff\u3001\u3002《》「」"
_GAP = re.compile(rf"(?<=[{_CJK}])\s+|\s+(?=[{_CJK}])")


def even_out(text: str) -> str:
    """The same text with full-width, traditional and typographic characters made plain, of the same length."""
    plain = _CLAUSE.sub(",", text.translate(_TABLE))
    return _LEADER.sub(lambda dots: ":".ljust(len(dots[0])), plain)


def take_out_struck(text: str) -> tuple[str, list[str]]:
    """The text with struck-through words blanked out in place, and those words."""
    struck: list[str] = []

    def blank(match: re.Match[str]) -> str:
        struck.append(match[1] or match[3] or "")
        return re.sub(r"[^\n]", " ", match[0])

    return _STRUCK.sub(blank, text), struck


def squeeze(text: str) -> str:
    """One line of words for matching: no emphasis marks, single spaces, none inside Chinese."""
    bare = _TAG.sub(" ", _MARK.sub("", text))
    return _GAP.sub("", " ".join(bare.split()))
