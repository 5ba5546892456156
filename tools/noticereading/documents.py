"""Turns the bytes of a notice into text, or says what to do when they hold none."""

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_BLOCKS = (
    "p",
    "div",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "section",
    "article",
    "header",
    "footer",
    "dt",
    "dd",
    "pre",
    "blockquote",
    "ul",
    "ol",
    "dl",
    "table",
    "title",
    "main",
    "aside",
    "figure",
    "figcaption",
    "address",
    "summary",
    "details",
)
_UNSEEN = ("script", "style", "template", "noscript", "head", "nav", "svg")
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_-]{2,30})", re.IGNORECASE)
_BINARY = (
    b"%PDF",
    b"PK\x03\x04",
    b"\xd0\xcf\x11\xe0",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x1f\x8b",
    b"{\\rtf",
)
_COMMON_HAN = re.compile(r"[的一是不了在有年月日公告本自施行及和为]")


class UnreadableNotice(ValueError):
    """The bytes hold no notice that can be read; the message says what to do."""


def notice_text(data: bytes, name: str) -> str:
    """The text of a notice from a .txt, .md, .html or .htm file."""
    if data.startswith(_BINARY):
        raise UnreadableNotice(f"{name} is not a text file; save it as plain text, Markdown or HTML and try again.")
    is_html = name.lower().endswith((".html", ".htm", ".xhtml"))
    text = _decode(data, name, is_html)
    if is_html:
        text = html_text(text)
    if not text.strip():
        raise UnreadableNotice(f"{name} holds no text; check that the whole notice was saved.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decode(data: bytes, name: str, is_html: bool) -> str:
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return _strictly(data, encoding, name)
    if b"\0" in data:
        raise UnreadableNotice(f"{name} is not a text file; save it as plain text in UTF-8 and try again.")
    declared = _CHARSET.search(data[:4096]) if is_html else None
    for encoding in ("utf-8", _known(declared[1].decode("ascii")) if declared else None):
        text = _try(data, encoding)
        if text is not None:
            return text
    text = _try(data, "gb18030")
    if text is not None and _COMMON_HAN.search(text):
        return text
    raise UnreadableNotice(f"The characters of {name} cannot be made out; save it in UTF-8 and try again.")


def _known(encoding: str) -> str | None:
    # Pages that declare GB2312 or GBK use characters of its superset.
    low = encoding.lower()
    if low in ("gb2312", "gbk", "gb18030"):
        return "gb18030"
    try:
        return codecs.lookup(low).name
    except LookupError:
        return None


def _try(data: bytes, encoding: str | None) -> str | None:
    if encoding is None:
        return None
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _strictly(data: bytes, encoding: str, name: str) -> str:
    text = _try(data, encoding)
    if text is None:
        raise UnreadableNotice(f"The characters of {name} cannot be made out; save it in UTF-8 and try again.")
    return text


def html_text(markup: str) -> str:
    """The words of a page with its lines, headings, table rows and struck-through words kept."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(markup, "html.parser")
    _drop_unseen(soup)
    for tag in soup.find_all(("del", "s", "strike")):
        tag.replace_with(f"~~{tag.get_text(' ', strip=True)}~~")
    for row in soup.find_all("tr"):
        row.replace_with(f"{_row(row)}\n")
    for line_break in soup.find_all("br"):
        line_break.replace_with("\n")
    for tag in soup.find_all(_BLOCKS):
        _set_apart(tag)
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in soup.get_text().split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _drop_unseen(soup: "BeautifulSoup") -> None:
    from bs4.element import PreformattedString

    for piece in soup.find_all(string=True):
        if isinstance(piece, PreformattedString):
            piece.extract()  # comments and the document type
        elif piece.find_parent("pre") is None:
            piece.replace_with(re.sub(r"\s+", " ", str(piece)))
    for tag in soup.find_all(_UNSEEN):
        tag.decompose()


def _set_apart(tag: "Tag") -> None:
    level = tag.name[1] if re.fullmatch(r"h[1-6]", tag.name) else ""
    space = "\n\n" if level or tag.name == "p" else "\n"
    tag.insert_before(space)
    tag.insert(0, f"{'#' * int(level)} " if level else "- " if tag.name == "li" else "")
    tag.append(space)


def _row(row: "Tag") -> str:
    cells = (
        re.sub(r"\s+", " ", cell.get_text(" ", strip=True)).replace("|", "/") for cell in row.find_all(("td", "th"))
    )
    return "| " + " | ".join(cells) + " |"
