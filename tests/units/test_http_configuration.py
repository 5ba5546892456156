"""A wrong configuration is refused when it is read, with file, tool, field, and how to mend it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from state.clock import SystemClock
from state.errors import InputInvalid
from tests.support.ticket_service import CONFIGURATION
from tools.contract import WriteTool
from tools.http_action import http_actions
from tools.secrets import Secrets

EXAMPLE = tomllib.loads(CONFIGURATION.read_text("utf-8"))


def read(path: Path) -> list[WriteTool]:
    return list(http_actions(path, None, Secrets({}), SystemClock()))  # type: ignore[arg-type]


def changed(folder: Path, place: str, value: Any) -> Path:
    """The example with one value put in its place; `tools.0.write.url`. None takes it out."""
    data = json.loads(json.dumps(EXAMPLE))
    *way, last = [int(each) if each.isdigit() else each for each in place.split(".")]
    inner = data
    for step in way:
        inner = inner[step] if isinstance(step, int) else inner.setdefault(step, {})
    inner[last] = value
    if value is None:
        del inner[last]
    path = folder / "tools.json"
    path.write_text(json.dumps(data))
    return path


WRITE, CONTRACT = "tools.0.write", "tools.0.contract"
REFUSED: list[tuple[str, Any, str]] = [
    # shape
    ("targets", {}, "the file: targets"),
    ("tools.0.colour", "red", "tool create_ticket: colour: there is no such field"),
    ("tools.0.version", None, "tool create_ticket: version: it is missing; add it"),
    ("tools.0.name", "Create!", "tool Create!: name: String should match"),
    ("tools.1.name", "create_ticket", "tools are named twice: create_ticket"),
    ("tools.0.target", "jira", "target: there is no target 'jira'; there are tickets"),
    ("tools.0.read_back", None, "read_back: it is missing"),
    ("tools.0.needs_approval", "yes", "needs_approval: should be a valid boolean"),
    # targets
    ("targets.tickets.base_url", "http://tickets.example", "target tickets: base_url: http:// is read and changed by"),
    ("targets.tickets.base_url", "https://me:pw@tickets.example", "base_url: it holds no user"),
    ("targets.tickets.ca_file", "nowhere.pem", "ca_file: there is no file 'nowhere.pem'"),
    ("targets.tickets.connect_timeout_s", 60, "connect_timeout_s: it is longer than timeout_s"),
    ("targets.tickets.timeout_s", 0, "timeout_s: should be greater than 0"),
    ("targets.tickets.headers.Authorization", "Bearer abc", "headers.Authorization: a secret does not stand in a file"),
    ("targets.tickets.headers.X-Api-Key", "abc", "headers.X-Api-Key: a secret does not stand in a file"),
    ("targets.tickets.headers.Authorization", "secret://token", "after secret:// comes a name of capital letters"),
    ("targets.tickets.headers.Host", "other.example", "headers.Host: Remit sets this header itself"),
    ("targets.tickets.headers.X", "two\nlines", "headers.X: a header's value is one line"),
    ("targets.tickets.headers.X", "{source}", "headers.X: source cannot be used here"),
    # arguments
    ("tools.0.arguments.approved", {"type": "boolean"}, "arguments.approved: only trusted code may give"),
    ("tools.0.arguments.model_dump", {"type": "string"}, "arguments.model_dump: the name is taken"),
    ("tools.0.arguments.field.type", "date", "arguments.field.type: should be 'string', 'integer' or 'boolean'"),
    ("tools.0.arguments.field.pattern", "(", "arguments: no schema can be made of them"),
    ("tools.0.arguments.field.min", 500, "arguments.field: min is greater than max"),
    ("tools.0.arguments.n", {"type": "integer", "pattern": "x"}, "arguments.n: pattern is for strings"),
    ("tools.0.arguments.n", {"type": "boolean", "max": 1}, "arguments.n: min and max are for strings and integers"),
    ("tools.0.arguments.n", {"type": "integer", "default": "1"}, "arguments.n: the default is no integer"),
    ("tools.0.arguments.n", {"type": "integer", "default": 5, "max": 1}, "arguments.n: its own default is refused"),
    ("tools.0.arguments.n", {"type": "string", "min": -1}, "arguments.n: a length is not negative"),
    # templates
    (f"{WRITE}.url", "https://evil.example/", "write.url: begin it with '/'"),
    (f"{WRITE}.url", "/tickets/{nobody}", "write.url: nobody cannot be used here; there are call.key"),
    (f"{WRITE}.url", "/tickets/{call.key}", "write.url: a key may hold '/'"),
    (f"{WRITE}.url", "/tickets?t=secret://T", "write.url: a secret does not go into a URL"),
    (f"{WRITE}.body.about.record", "{nobody}", "write.body: nobody cannot be used here"),
    (f"{WRITE}.body.about.record", "{", "write.body: '{' has a single '{'"),
    (f"{WRITE}.body.about.record", "secret://T", "write.body: secrets go into headers only"),
    (f"{WRITE}.headers", {"If-Match": "{call.resource_version}"}, "call.resource_version cannot be used here"),
    ("tools.0.operation_key.parts", ["{call.key}"], "operation_key.parts: call.key cannot be used here"),
    ("tools.0.preview.summary", "{secret}", "preview.summary: secret cannot be used here"),
    ("tools.0.resource.id", "{nobody}", "resource.id: nobody cannot be used here"),
    # answers
    (f"{WRITE}.success", [201, 409], "would mean two things; list a status once"),
    (f"{WRITE}.success", [99], "write.success.0: should be greater than or equal to 200"),
    (f"{WRITE}.object_id", None, "write.object_id: give either object_id"),
    (f"{WRITE}.resource_changed", [412], "write.resource_changed: it needs resource.version"),
    (f"{WRITE}.fields", {"colour": "x"}, "write.fields: there is no such field"),
    ("tools.0.lookup.fields.colour", "x", "lookup.fields: colour: no such argument"),
    # contract
    (f"{WRITE}.key_header", None, "contract.dedups_by_key: the key is never sent"),
    (CONTRACT, {"key_valid_for_s": 60}, "contract.key_valid_for_s: it says how long keys count"),
    (f"{CONTRACT}.longest_call_s", 1, "contract.longest_call_s: half of it is for sending"),
    (f"{CONTRACT}.lookups", 0, "contract.lookups: should be greater than or equal to 1"),
    ("tools.0.lookup", None, "contract.lookup_is_authoritative: there is no lookup"),
    ("tools.0.lookup.url", "/tickets?newest=1", "lookup.url: it does not say what is looked for"),
    ("tools.0.read_back.url", "/newest", "read_back.url: it does not say which object is read"),
    ("tools.0.read_back.url", "/tickets/{call.object_id}/{source}", "read_back.url: source cannot be used here"),
    # compensation
    ("tools.1.compensates.arguments.ticket", "{nobody}", "compensates.arguments.ticket: nobody cannot be used here"),
    ("tools.1.compensates.arguments", {"ticket": "{call.object_id}"}, "(unknown: ; missing: reason)"),
    ("tools.1.compensates.arguments.colour", "red", "(unknown: colour; missing: )"),
]


@pytest.mark.parametrize(("place", "value", "said"), REFUSED, ids=[f"{place}={value}" for place, value, _ in REFUSED])
def test_a_wrong_configuration_is_refused_with_its_place(tmp_path: Path, place: str, value: Any, said: str) -> None:
    path = changed(tmp_path, place, value)

    with pytest.raises(InputInvalid) as raised:
        read(path)

    assert str(raised.value).startswith(f"{path}: ")
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.toml", "tools = [", "is no TOML"),
        ("a.json", "{", "is no JSON"),
        ("a.json", "[" * 100_000, "is no JSON"),
        ("a.toml", "x = '" + "x" * 1_100_000 + "'", "is longer than"),
        ("a.json", "[]", "the file: as a whole: should be a valid dictionary"),
        ("a.json", '{"targets": {}, "tools": [7]}', "the file: targets"),
    ],
)
def test_what_is_no_configuration_at_all_is_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(content)

    with pytest.raises(InputInvalid, match=name) as raised:
        read(path)

    assert said in str(raised.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match="cannot be read"):
        read(tmp_path / "none.toml")


def test_any_change_of_the_configuration_is_another_version(tmp_path: Path) -> None:
    same = read(changed(tmp_path, "tools.0.needs_approval", True))[0].version
    others = [
        read(changed(tmp_path, "targets.tickets.base_url", "http://127.0.0.1:1"))[0].version,
        read(changed(tmp_path, f"{WRITE}.body.values.found", "{recorded}"))[0].version,
        read(changed(tmp_path, "tools.0.version", "2"))[0].version,
    ]

    assert same == read(CONFIGURATION)[0].version
    assert len({same, *others}) == 4
    assert same.startswith("http-1+")


def test_a_configured_key_is_that_of_the_built_in_tool_and_names_that_look_like_hashes_stay_apart() -> None:
    from tools.business_objects import CreateTicket

    built_in, configured = CreateTicket(None, None), read(CONFIGURATION)[0]  # type: ignore[arg-type]
    base = {"record": "r1", "field": "effective", "observed": "a", "recorded": "b"}
    for source, digest in (("gazette", ""), ("gazette", "a" * 64), ("a" * 64, ""), ("a:b|%", "")):
        arguments = {**base, "source": source, "source_sha256": digest}
        assert configured.operation_key(arguments) == built_in.operation_key(arguments)
        assert configured.resource(arguments) == built_in.resource(arguments)


def test_integers_and_booleans_are_strict(tmp_path: Path) -> None:
    made = read(changed(tmp_path, "tools.0.arguments.n", {"type": "integer", "min": 1, "max": 3, "default": 2}))[0]
    given = {"source": "s", "field": "f", "observed": "o", "recorded": "r"}

    assert made.arguments.model_validate(given).model_dump()["n"] == 2
    for wrong in (0, 4, "2", 2.0, True, None):
        with pytest.raises(ValueError, match="n"):
            made.arguments.model_validate({**given, "n": wrong})
