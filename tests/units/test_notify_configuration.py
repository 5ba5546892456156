"""A wrong file of REMIT_NOTIFY is refused when it is read, with file, target, field, and how to mend it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from state.errors import InputInvalid
from store.outbox import NOTIFIED
from tools.notify_config import Command, Notifications, Webhook, read_notifications

HOOK = {"url": "https://ops.example/hook", "keys": ["secret://HOOK_KEY"]}
DESK = {"command": ["true"]}


def read(folder: Path, content: Any, name: str = "notify.json") -> Notifications:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return read_notifications(path, {"REMIT_SECRET_HOOK_KEY": "canary"})


def test_a_file_says_who_is_told_what(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        [targets.ops]
        url = "https://ops.example/hook"
        keys = ["secret://HOOK_KEY"]
        events = ["approval.*", "run.failed"]

        [targets.desk]
        command = ["true", "Remit"]
        timeout_s = 5
        """,
        "notify.toml",
    )

    assert isinstance(found.targets["ops"], Webhook)
    assert isinstance(found.targets["desk"], Command)
    assert Path(found.targets["desk"].command[0]).is_absolute()
    assert found.routes["ops"] == {each for each in NOTIFIED if each.startswith("approval.")} | {"run.failed"}
    assert found.routes["desk"] == NOTIFIED
    assert "canary" not in repr(found)


def hook(**changed: Any) -> dict[str, Any]:
    return {"targets": {"ops": {**HOOK, **changed}}}


def desk(**changed: Any) -> dict[str, Any]:
    return {"targets": {"desk": {**DESK, **changed}}}


REFUSED: list[tuple[Any, str]] = [
    ({}, "the file: targets: it holds tables"),
    ([], "the file: targets: it holds tables"),
    ({"targets": {}}, "the file: targets: it holds tables"),
    ({"targets": {"ops": HOOK}, "colour": 1}, "the file: targets: it holds tables"),
    ({"targets": {"Ops": HOOK}}, "target Ops: as a whole: a name is lower-case"),
    ({"targets": {"ops": 3}}, "target ops: url: give either url"),
    ({"targets": {"ops": {**HOOK, **DESK}}}, "target ops: url: give either url"),
    (hook(colour="red"), "target ops: colour: there is no such field"),
    (hook(environment=["X"]), "target ops: environment: there is no such field"),
    ({"targets": {"ops": {"url": HOOK["url"]}}}, "target ops: keys: it is missing; add it"),
    (hook(keys=[]), "target ops: keys: List should have at least 1 item"),
    (hook(keys=["whsec_canary"]), "target ops: keys: a key does not stand in a file: write secret://NAME"),
    (hook(url="ops.example"), "target ops: url: write https://"),
    (hook(url="http://ops.example"), "target ops: url: http:// is read by anybody"),
    (hook(url="https://me:canary@ops.example"), "target ops: url: it holds no user"),
    (hook(url="https://ops.example/hook?token=canary"), "target ops: url: it holds no user, no query"),
    (hook(url="http://127.ops.example"), "target ops: url: http:// is read by anybody"),
    (hook(ca_file="nowhere.pem"), "target ops: ca_file: there is no file 'nowhere.pem'"),
    (hook(tries=0), "target ops: tries: should be greater than or equal to 1"),
    (hook(tries="many"), "target ops: tries: should be a valid integer"),
    (hook(timeout_s=0), "target ops: timeout_s: should be greater than 0"),
    (hook(timeout_s=1, connect_timeout_s=2), "target ops: connect_timeout_s: it is longer than timeout_s"),
    (hook(events=[]), "target ops: events: nothing would be told"),
    (hook(events=["run.exploded"]), "target ops: events: there is no 'run.exploded'; there are approval.escalated,"),
    (hook(events=["tool.*"]), "target ops: events: there is no 'tool.*'"),
    (desk(command=[]), "target desk: command: List should have at least 1 item"),
    (desk(command="true"), "target desk: command: should be a valid list"),
    (desk(command=["no-such-program"]), "target desk: command: there is no program 'no-such-program'"),
    (desk(command=["./no-such-program"]), "target desk: command: there is no program './no-such-program'"),
    ("{", "is no JSON"),
]


@pytest.mark.parametrize(("content", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_a_wrong_file_is_refused(tmp_path: Path, content: Any, says: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        read(tmp_path, content)

    assert says in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "notify.json"))
    assert "canary" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused_with_the_name_of_the_setting(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match="REMIT_NOTIFY names a TOML or JSON file"):
        read_notifications(tmp_path / "nowhere.toml", {})


def test_a_program_of_ones_own_is_named_from_where_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "tell.sh").write_text("#!/bin/sh\n")
    (tmp_path / "tell.sh").chmod(0o755)

    found = read(tmp_path, desk(command=["./tell.sh", "x"])).targets["desk"]

    assert isinstance(found, Command)
    assert found.command == [str(tmp_path / "tell.sh"), "x"]


def test_on_this_machine_a_webhook_needs_no_https(tmp_path: Path) -> None:
    assert read(tmp_path, hook(url="http://127.0.0.1:8712/hook")).targets
    assert read(tmp_path, hook(url="http://ops.example", allow_plain_http=True)).targets
