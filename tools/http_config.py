"""The configuration of HTTP tools: what a file may say, read strictly, and refused with the place and the remedy.

A file (TOML or JSON) holds `targets`, the services that are written to, and `tools`, the writes. docs/http-tools.md
describes every field.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from state.digest import digest_of
from state.errors import InputInvalid

MAX_FILE_BYTES = 1024 * 1024
NAME = r"^[a-z][a-z0-9_]{0,63}$"

Seconds = Annotated[float, Field(gt=0, le=3600)]
Statuses = list[Annotated[int, Field(ge=200, le=599)]]
Headers = dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")], str]
FieldPaths = dict[str, Annotated[str, Field(min_length=1)]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Target(_Strict):
    """A service. `timeout_s` bounds one exchange as a whole, connecting included."""

    base_url: str
    allow_plain_http: bool = False
    ca_file: str | None = None
    headers: Headers = Field(default_factory=dict[str, str])
    timeout_s: Seconds = 10.0
    connect_timeout_s: Seconds = 3.0
    max_response_bytes: int = Field(default=256 * 1024, ge=1024, le=16 * 1024 * 1024)


class Argument(_Strict):
    """`min` and `max` bound a string's length or an integer's value. One with a `default` may be left out."""

    type: Literal["string", "integer", "boolean"]
    description: str = ""
    default: str | int | bool | None = None
    min: int | None = None
    max: int | None = None
    pattern: str | None = None


class KeyParts(_Strict):
    """The business effect: `kind:part:part`. Where there is none, the key comes from run, turn and index."""

    kind: str = Field(pattern=NAME)
    parts: list[str] = Field(min_length=1)


class Looking(_Strict):
    """A GET whose answer describes one object. `items` is where a list of such objects is found in it."""

    url: str
    headers: Headers = Field(default_factory=dict[str, str])
    found: Statuses = [200]
    absent: Statuses = [404]
    items: str | None = None
    fields: FieldPaths = Field(default_factory=dict[str, str])


class Lookup(Looking):
    """By key. `object_id` is where the object's id is found."""

    object_id: str = "id"


class VersionRequest(_Strict):
    """The version of a resource now: an integer at `version` of the answer; `absent` statuses mean version 0."""

    url: str
    headers: Headers = Field(default_factory=dict[str, str])
    found: Statuses = [200]
    absent: Statuses = [404]
    version: str = "version"


class Resource(_Strict):
    """The versioned resource that is touched: `kind:id`, or none where the id is empty."""

    kind: str = Field(pattern=NAME)
    id: str
    version: VersionRequest | None = None


class Write(_Strict):
    """The request that has the effect, and what its answers mean. Whatever is not listed leaves the outcome unknown.

    `retryable`, `refused`, `key_conflict` and `resource_changed` are statuses with which the target vouches that
    nothing was done.
    """

    method: Literal["POST", "PUT", "PATCH", "DELETE"] = "POST"
    url: str
    headers: Headers = Field(default_factory=dict[str, str])
    body: dict[str, Any] | None = None
    key_header: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]{1,100}$")
    key_form: Literal["plain", "sha256"] = "plain"
    success: Statuses = [200, 201]
    retryable: Statuses = [429]
    refused: Statuses = [400, 401, 403, 404, 405, 410, 413, 415, 422]
    key_conflict: Statuses = Field(default_factory=list[int])
    resource_changed: Statuses = Field(default_factory=list[int])
    object_id: str | None = None
    object_id_is: str | None = None


class Contract(_Strict):
    """What the target can be relied on for; see tools.contract.WriteTool."""

    dedups_by_key: bool = False
    key_valid_for_s: Annotated[float, Field(gt=0)] | None = None
    lookup_is_authoritative: bool = False
    visible_within_s: float = Field(default=0.0, ge=0, le=86_400)
    lookups: int = Field(default=6, ge=1, le=50)
    longest_call_s: Annotated[float, Field(gt=0, le=86_400)] = 60.0


class Difference(_Strict):
    """One row of what an approver is shown."""

    field: str
    recorded: str = ""
    observed: str


class Preview(_Strict):
    """What an approver is shown beside the arguments; by default the description and every argument."""

    summary: str | None = None
    difference: list[Difference] = Field(default_factory=list[Difference])


class Compensation(_Strict):
    """Which tool's effect this one takes back, and its arguments by the effect's arguments and `{call.object_id}`."""

    tool: str = Field(pattern=NAME)
    arguments: dict[str, str]


class Spec(_Strict):
    """One tool."""

    name: str = Field(pattern=NAME)
    version: str = Field(pattern=r"^[A-Za-z0-9._-]{1,40}$")
    description: str = Field(min_length=1, max_length=1000)
    target: str
    needs_approval: bool = True
    arguments: dict[Annotated[str, Field(pattern=NAME)], Argument] = Field(min_length=1)
    operation_key: KeyParts | None = None
    resource: Resource | None = None
    contract: Contract = Contract()
    write: Write
    lookup: Lookup | None = None
    read_back: Looking
    preview: Preview = Preview()
    compensates: Compensation | None = None

    def version_with(self, target: Target) -> str:
        """The declared version and a digest of everything that is configured: another configuration is another tool."""
        configured = {"tool": self.model_dump(), "target": target.model_dump()}
        return f"http-{self.version}+{digest_of(configured)[:12]}"


class File(_Strict):
    """What a file holds."""

    targets: dict[Annotated[str, Field(pattern=NAME)], Target] = Field(min_length=1)
    tools: list[Spec] = Field(min_length=1)

    @model_validator(mode="after")
    def _names(self) -> File:
        names = [each.name for each in self.tools]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"tools are named twice: {', '.join(twice)}; a name stands for one tool")
        return self


def wrong(file: Path, tool: str, field: str, what: str) -> InputInvalid:
    """A refusal that names file, tool and field, and says how to mend it."""
    return InputInvalid(f"{file}: {tool}: {field}: {what}")


def read_file(path: Path) -> File:
    """Raises InputInvalid."""
    data = parsed(path, "REMIT_TOOLS")
    try:
        return File.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = first["loc"]
        raise wrong(path, _tool(data, place), _field(place), in_words(first["type"], first["msg"])) from None


def parsed(path: Path, setting: str) -> Any:
    """What a file of configuration holds; `setting` is what names the file. Raises InputInvalid."""
    try:
        with path.open("rb") as opened:
            text = opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InputInvalid(f"{path}: cannot be read ({error.strerror}); {setting} names a TOML or JSON file.") from None
    if len(text) > MAX_FILE_BYTES:
        raise InputInvalid(
            f"{path}: is longer than {MAX_FILE_BYTES} bytes; split it, or leave out what does not belong there."
        )
    try:
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise InputInvalid(f"{path}: is no {kind}: {error}. Mend it there; a file for JSON ends in .json.") from None


def _tool(data: Any, place: tuple[int | str, ...]) -> str:
    """Which part of the file a place lies in: `tool create_ticket`, `target tickets`, or the file."""
    if len(place) > 1 and place[0] == "tools" and isinstance(place[1], int):
        given: Any = data["tools"][place[1]]
        name = cast(dict[str, Any], given).get("name") if isinstance(given, dict) else None
        return f"tool {name}" if isinstance(name, str) else f"tool {place[1] + 1}"
    return f"target {place[1]}" if len(place) > 1 and place[0] == "targets" else "the file"


def _field(place: tuple[int | str, ...]) -> str:
    inside = place[2:] if len(place) > 1 and place[0] in {"tools", "targets"} else place
    return ".".join(str(each) for each in inside if each != "[key]") or "as a whole"


def in_words(kind: str, said: str) -> str:
    """What a schema says of a field, with the remedy."""
    if kind == "extra_forbidden":
        return "there is no such field; look for a slip of the pen, or take it out"
    if kind == "missing":
        return "it is missing; add it"
    return re.sub(r"^(Value error, |Input )", "", said)
