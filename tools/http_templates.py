"""Templates of a configured tool: where arguments go in texts, bodies and URLs.

`{name}` stands for an argument or for something of the call (`{call.key}`), `{first|second}` for the first that is not
empty, `{{` and `}}` for braces. What goes into a URL is percent-encoded and stays inside its segment or value: no
argument can change the host, the path's structure or another parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import quote, urlsplit

from state.errors import ToolError

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_NAMES = re.compile(r"^[a-z][a-z0-9_.]*(\|[a-z][a-z0-9_.]*)*$")
_URL_TEXT = re.compile(r"^[A-Za-z0-9._~!$'()*+,;:@%-]*$")
_NOT_IN_A_SEGMENT = re.compile(r"[/\\\x00-\x1f\x7f]")

Values = Mapping[str, Any]


class BadTemplate(ValueError):
    """What is wrong with a template, in words for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed text: pieces are literal text, or the names of which the first that is not empty is put in."""

    pieces: tuple[str | tuple[str, ...], ...]

    @staticmethod
    def parse(text: str) -> Template:
        """Raises BadTemplate."""
        pieces: list[str | tuple[str, ...]] = []
        for found in _TOKEN.finditer(text):
            token, names = found[0], found[1]
            if names is not None:
                if not _NAMES.match(names):
                    raise BadTemplate(f"{token!r} names no argument; braces that are meant are doubled")
                pieces.append(tuple(names.split("|")))
            elif token in {"{", "}"}:
                raise BadTemplate(f"{text!r} has a single {token!r}; braces that are meant are doubled")
            else:
                pieces.append({"{{": "{", "}}": "}"}.get(token, token))
        return Template(tuple(pieces))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for piece in self.pieces if isinstance(piece, tuple) for name in piece)

    @property
    def texts(self) -> str:
        """The literal text alone."""
        return "".join(piece for piece in self.pieces if isinstance(piece, str))

    def fill(self, values: Values, encode: Callable[[str], str] = str) -> str:
        return "".join(each if isinstance(each, str) else encode(as_text(first(values, each))) for each in self.pieces)

    def value(self, values: Values) -> Any:
        """As `fill`; but a template that is nothing but one name keeps the type of what it stands for."""
        if len(self.pieces) == 1 and isinstance(self.pieces[0], tuple):
            return first(values, self.pieces[0])
        return self.fill(values)


def first(values: Values, names: tuple[str, ...]) -> Any:
    """The first value that is not empty, else the last one."""
    for name in names:
        if values.get(name) not in (None, ""):
            return values[name]
    return values.get(names[-1])


def as_text(value: Any) -> str:
    """As JSON writes it, but texts without quotes: `true`, not `True`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def filled(body: Any, values: Values) -> Any:
    """A body with all its texts filled in; what is no text stays as it is."""
    if isinstance(body, str):
        return Template.parse(body).value(values)
    if isinstance(body, dict):
        return {name: filled(each, values) for name, each in cast(dict[str, Any], body).items()}
    if isinstance(body, list):
        return [filled(each, values) for each in cast(list[Any], body)]
    return body


def texts_of(body: Any) -> list[str]:
    """Every text in a body, at any depth."""
    if isinstance(body, str):
        return [body]
    inner: list[Any] = []
    if isinstance(body, dict):
        inner = list(cast(dict[str, Any], body).values())
    elif isinstance(body, list):
        inner = cast(list[Any], body)
    return [text for each in inner for text in texts_of(each)]


@dataclass(frozen=True, slots=True)
class UrlTemplate:
    """A base address and a template below it: `/tickets/{ticket}?by={call.key}`."""

    base: str
    segments: tuple[Template, ...]
    query: tuple[tuple[str, Template], ...]

    @staticmethod
    def parse(base: str, text: str) -> UrlTemplate:
        """Raises BadTemplate."""
        if not text.startswith("/"):
            raise BadTemplate("begin it with '/'; host and port belong to the target's base_url")
        path, _, query = text.partition("?")
        segments = tuple(Template.parse(each) for each in path[1:].split("/"))
        pairs = tuple(_pair(each) for each in query.split("&")) if query else ()
        for each in (*segments, *[value for _, value in pairs]):
            if not _URL_TEXT.match(each.texts):
                raise BadTemplate(f"{each.texts!r} has characters that a URL cannot have; percent-encode them")
        if path != "/" and any(not each.pieces or each.texts in {".", ".."} for each in segments):
            raise BadTemplate("a segment of the path is empty, '.' or '..'")
        return UrlTemplate(base.rstrip("/"), segments, pairs)

    @property
    def names(self) -> frozenset[str]:
        return self.path_names.union(*[value.names for _, value in self.query])

    @property
    def path_names(self) -> frozenset[str]:
        return frozenset[str]().union(*[each.names for each in self.segments])

    def fill(self, values: Values) -> str:
        """Raises ToolError `invalid_arguments` for a value that cannot stand in a path."""
        path = "/".join(_segment(each, values) for each in self.segments)
        query = "&".join(f"{name}={value.fill(values, _encode)}" for name, value in self.query)
        return f"{self.base}/{path}" + (f"?{query}" if query else "")


def _pair(text: str) -> tuple[str, Template]:
    name, equals, value = text.partition("=")
    if not equals or not name or not _URL_TEXT.match(name):
        raise BadTemplate(f"{text!r} is no parameter: write name={{argument}}; a name is fixed")
    return name, Template.parse(value)


def _encode(text: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise ToolError("invalid_arguments", "A value holds half a character and cannot be put in a URL.") from None


def _segment(template: Template, values: Values) -> str:
    for names in (each for each in template.pieces if isinstance(each, tuple)):
        why = not_in_a_path(as_text(first(values, names)))
        if why is not None:
            raise ToolError("invalid_arguments", f"{'|'.join(names)}: {why}")
    return template.fill(values, _encode)


def not_in_a_path(text: str) -> str | None:
    """Why a value cannot be (part of) a segment of a path, or None. Servers undo the encoding of '/', some of '..'."""
    if text in {"", ".", ".."}:
        return "it stands in a URL's path, where it cannot be empty, '.' or '..'."
    if _NOT_IN_A_SEGMENT.search(text):
        return "it stands in a URL's path, where it cannot hold '/', '\\' or control characters."
    return None


def checked_base(url: str) -> str | None:
    """What is wrong with a base address, or None."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "it is no URL"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "write https://host[:port][/path]"
    if "@" in parts.netloc or parts.query or parts.fragment or "{" in url:
        return (
            "it holds no user, no query, no fragment and no placeholder; credentials go into headers as secret://NAME"
        )
    if not re.match(r"^[A-Za-z0-9.\-\[\]:]+$", parts.netloc) or not re.match(r"^[A-Za-z0-9/._~%-]*$", parts.path):
        return "it has characters that an address cannot have"
    return None


def is_loopback(url: str) -> bool:
    """A name that only looks like an address of this machine is none."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
