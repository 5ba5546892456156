"""A configured tool, ready to be used: its templates parsed, and whatever contradicts itself refused.

What is refused here could only fail later, at a call that somebody has approved. Each refusal names the field and says
how to mend it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from state.errors import InputInvalid
from tools.contract import Arguments
from tools.http_arguments import arguments_model
from tools.http_checks import SAYING, contradictions, listed, unknown_names, write_names
from tools.http_config import File, Looking, Spec, Target, VersionRequest, read_file, wrong
from tools.http_line import Line
from tools.http_templates import BadTemplate, Template, UrlTemplate, checked_base, is_loopback
from tools.secrets import REFERENCE

_OURS = {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding", "expect", "te"}
_OFTEN_SECRET = re.compile(r"authorization|cookie|token|secret|api-?key|password", re.IGNORECASE)
_VISIBLE = re.compile(r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$")

Refuse = Callable[[str, str], InputInvalid]


@dataclass(frozen=True, slots=True)
class Asking:
    """A request that looks: its URL, its headers, and what its answers mean."""

    url: UrlTemplate
    headers: Mapping[str, Template]
    means: Looking | VersionRequest


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a configured tool is made of."""

    spec: Spec
    base_url: str
    version: str
    arguments: type[Arguments]
    line: Line
    url: UrlTemplate
    headers: Mapping[str, Template]
    look: Asking | None
    read: Asking
    resource_version: Asking | None


def plans(path: Path) -> list[Plan]:
    """Every tool of a file. Raises InputInvalid, which names file, tool and field, and how to mend it."""
    file = read_file(path)
    for name, target in file.targets.items():
        what = _wrong_target(target, path.parent)
        if what is not None:
            raise wrong(path, f"target {name}", *what)
    return [_Planner(path, file, spec).plan() for spec in file.tools]


def _wrong_target(target: Target, folder: Path) -> tuple[str, str] | None:
    what = checked_base(target.base_url)
    if what is not None:
        return "base_url", what
    plain = target.base_url.startswith("http://")
    if plain and not target.allow_plain_http and not is_loopback(target.base_url):
        return "base_url", "http:// is read and changed by anybody on the way: use https://, or set allow_plain_http"
    if target.ca_file is not None and not (folder / target.ca_file).is_file():
        return "ca_file", f"there is no file {target.ca_file!r}; name one with certificates in PEM form"
    if target.connect_timeout_s > target.timeout_s:
        return "connect_timeout_s", "it is longer than timeout_s, which bounds the whole exchange; shorten it"
    return None


class _Planner:
    """Parses one tool, field by field."""

    def __init__(self, path: Path, file: File, spec: Spec) -> None:
        self._path = path
        self._file = file
        self._spec = spec

    def refuse(self, field: str, what: str) -> InputInvalid:
        return wrong(self._path, f"tool {self._spec.name}", field, what)

    def plan(self) -> Plan:
        spec, target = self._spec, self._target()
        url = self._url("write.url", target, spec.write.url, write_names(spec))
        for what in contradictions(spec, target, url, {each.name: each for each in self._file.tools}):
            raise self.refuse(*what)
        known = frozenset(spec.arguments)
        look = None if spec.lookup is None else self._asking("lookup", target, spec.lookup, known | SAYING)
        version = spec.resource.version if spec.resource is not None else None
        in_paths = url.path_names if look is None else url.path_names | look.url.path_names
        return Plan(
            spec=spec,
            base_url=target.base_url.rstrip("/"),
            version=spec.version_with(target),
            arguments=arguments_model(spec.name, spec.arguments, in_paths & known, self.refuse),
            line=_line(target, self._path.parent),
            url=url,
            headers=self._headers("write", target, spec.write.headers, write_names(spec) - known),
            look=look,
            read=self._asking("read_back", target, spec.read_back, frozenset({"call.object_id"})),
            resource_version=None
            if version is None
            else self._asking("resource.version", target, version, frozenset({"call.resource_id"})),
        )

    def _target(self) -> Target:
        name, targets = self._spec.target, self._file.targets
        if name not in targets:
            raise self.refuse("target", f"there is no target {name!r}; there are {listed(targets)}")
        return targets[name]

    def _asking(self, field: str, target: Target, given: Looking | VersionRequest, names: frozenset[str]) -> Asking:
        url = self._url(f"{field}.url", target, given.url, names)
        return Asking(url, self._headers(field, target, given.headers, names - set(self._spec.arguments)), given)

    def _url(self, field: str, target: Target, text: str, names: frozenset[str]) -> UrlTemplate:
        if "secret://" in text:
            raise self.refuse(field, "a secret does not go into a URL, which ends up in logs; send it in a header")
        try:
            url = UrlTemplate.parse(target.base_url, text)
        except BadTemplate as error:
            raise self.refuse(field, str(error)) from None
        what = unknown_names(url.names, names)
        if what is None and "call.key" in url.path_names and self._spec.write.key_form == "plain":
            what = "a key may hold '/': put {call.key} into the query, or set write.key_form = \"sha256\""
        if what is not None:
            raise self.refuse(field, what)
        return url

    def _headers(
        self, field: str, target: Target, given: Mapping[str, str], names: frozenset[str]
    ) -> dict[str, Template]:
        """The target's headers and the request's own; arguments have no place in them."""
        made: dict[str, Template] = {}
        for name, value in (target.headers | dict(given)).items():
            what = _wrong_header(name, value)
            try:
                made[name] = Template.parse(value)
                what = what or unknown_names(made[name].names, names)
            except BadTemplate as error:
                what = what or str(error)
            if what is not None:
                raise self.refuse(f"{field}.headers.{name}", what)
        return made


def _wrong_header(name: str, value: str) -> str | None:
    if name.lower() in _OURS:
        return "Remit sets this header itself; take it out"
    if not _VISIBLE.match(value):
        return "a header's value is one line of visible ASCII characters; write it so"
    if "secret://" in REFERENCE.sub("", value):
        return "after secret:// comes a name of capital letters, digits and '_'; write it so"
    if _OFTEN_SECRET.search(name) and not REFERENCE.search(value):
        return "a secret does not stand in a file: write secret://NAME, and set REMIT_SECRET_NAME"
    return None


def _line(target: Target, folder: Path) -> Line:
    """A file of certificates is named from where the configuration is."""
    secure = target.base_url.startswith("https://")
    authorities = None if target.ca_file is None else str(folder / target.ca_file)
    return Line(secure, authorities, target.timeout_s, target.connect_timeout_s, target.max_response_bytes)
