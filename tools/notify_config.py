"""Whom to tell what: the file of `REMIT_NOTIFY`, read strictly, and refused with the place and the remedy.

A file (TOML or JSON) holds `targets`, each a webhook or a command. docs/notifications.md describes every field.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from state.errors import InputInvalid
from store.outbox import NOTIFIED
from tools.http_config import in_words, parsed, wrong
from tools.http_line import Line
from tools.http_templates import checked_base, is_loopback
from tools.secrets import REFERENCE

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
MAX_RESPONSE_BYTES = 64 * 1024

Seconds = Annotated[float, Field(gt=0, le=120)]
Texts = list[Annotated[str, Field(min_length=1, max_length=1000)]]


class _Target(BaseModel):
    """`events` are types, or beginnings of types followed by `*`; `tries` is how often a message is sent in all."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    events: Texts = ["*"]
    tries: int = Field(default=10, ge=1, le=50)
    timeout_s: Seconds = 10.0

    @property
    def types(self) -> frozenset[str]:
        """The types of events that it is told."""
        return frozenset(type_ for type_ in NOTIFIED for each in self.events if fnmatchcase(type_, each))


class Webhook(_Target):
    """A signed POST. The first of the `keys` is the new one, the others are those that it takes the place of."""

    url: str
    keys: Texts = Field(min_length=1, max_length=5)
    connect_timeout_s: Seconds = 3.0
    allow_plain_http: bool = False
    ca_file: str | None = None


class Command(_Target):
    """A program of this machine, which gets the message on its standard input; no shell.

    `environment` names what it is given of this process's environment beside PATH and LANG.
    """

    command: Texts = Field(min_length=1)
    environment: Texts = Field(default_factory=list[str])


@dataclass(frozen=True)
class Notifications:
    """A file that was found right. `environment` is where secrets, and what commands are given, are looked up."""

    file: Path
    targets: Mapping[str, Webhook | Command]
    environment: Mapping[str, str] = field(repr=False)

    @property
    def routes(self) -> dict[str, frozenset[str]]:
        """The types of events that each target is told."""
        return {name: target.types for name, target in self.targets.items()}

    def line(self, target: Webhook) -> Line:
        """How it is reached; a file of certificates is named from where the configuration is."""
        authorities = None if target.ca_file is None else str(self.file.parent / target.ca_file)
        secure = target.url.startswith("https://")
        return Line(secure, authorities, target.timeout_s, target.connect_timeout_s, MAX_RESPONSE_BYTES)


def read_notifications(file: Path, environment: Mapping[str, str]) -> Notifications:
    """Raises InputInvalid, which names file, target and field, and how to mend it."""
    given = parsed(file, "REMIT_NOTIFY")
    targets: Any = cast(dict[str, Any], given).get("targets") if isinstance(given, dict) else None
    if not isinstance(targets, dict) or not targets or set(cast(dict[str, Any], given)) != {"targets"}:
        raise wrong(file, "the file", "targets", "it holds tables [targets.NAME], at least one, and nothing else")
    named = cast(dict[str, Any], targets)
    return Notifications(file, {name: _target(file, name, each) for name, each in named.items()}, environment)


def _target(file: Path, name: str, given: Any) -> Webhook | Command:
    def refuse(field: str, what: str) -> InputInvalid:
        return wrong(file, f"target {name}", field, what)

    if not NAME.fullmatch(name):
        raise refuse("as a whole", "a name is lower-case letters, digits and '_', at most 40; rename it")
    fields = set(cast(dict[str, Any], given)) if isinstance(given, dict) else set[str]()
    if len(fields & {"url", "command"}) != 1:
        raise refuse("url", "give either url, for a webhook, or command, for a program of this machine")
    try:
        target = (Webhook if "url" in fields else Command).model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(each) for each in first["loc"])
        raise refuse(place, in_words(first["type"], first["msg"])) from None
    what = _wrong_events(target)
    if what is None:
        what = _wrong_webhook(target, file.parent) if isinstance(target, Webhook) else None
    if what is not None:
        raise refuse(*what)
    return target if isinstance(target, Webhook) else _found(target, file.parent, refuse)


def _wrong_events(target: _Target) -> tuple[str, str] | None:
    if not target.events:
        return "events", "nothing would be told; name some, or take the field out for all"
    for each in target.events:
        if not any(fnmatchcase(type_, each) for type_ in NOTIFIED):
            return "events", f"there is no {each!r}; there are {', '.join(sorted(NOTIFIED))}"
    return None


def _wrong_webhook(target: Webhook, folder: Path) -> tuple[str, str] | None:
    if any(each in target.url for each in "@?#"):
        return "url", "it holds no user, no query and no fragment; take it out: the signature says who sends"
    what = checked_base(target.url)
    if what is not None:
        return "url", what
    plain = target.url.startswith("http://")
    if plain and not target.allow_plain_http and not is_loopback(target.url):
        return "url", "http:// is read by anybody on the way: use https://, or set allow_plain_http"
    for each in target.keys:
        if not REFERENCE.fullmatch(each):
            return "keys", "a key does not stand in a file: write secret://NAME, and set REMIT_SECRET_NAME"
    if target.ca_file is not None and not (folder / target.ca_file).is_file():
        return "ca_file", f"there is no file {target.ca_file!r}; name one with certificates in PEM form"
    if target.connect_timeout_s > target.timeout_s:
        return "connect_timeout_s", "it is longer than timeout_s, which bounds the whole exchange; shorten it"
    return None


def _found(target: Command, folder: Path, refuse: Any) -> Command:
    """The command with the whole path of its program; one with a slash is named from where the file is."""
    program, *rest = target.command
    path = str(folder / program) if "/" in program else program
    whole = shutil.which(path, path=os.defpath)
    if whole is None:
        raise refuse("command", f"there is no program {program!r} in {os.defpath}; give its whole path")
    return target.model_copy(update={"command": [os.path.abspath(whole), *rest]})
