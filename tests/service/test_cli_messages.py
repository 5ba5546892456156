"""`remit notify` and `remit messages`, and that telling somebody never stands in the way of what a command does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Cli, asked
from tests.support.hook_receiver import SECRETS, HookReceiver
from tests.support.wire import Down

ROOT = Path(__file__).parents[2]


@pytest.fixture
def told(remit: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Configures who is told."""

    def configured(**targets: dict[str, Any]) -> Path:
        path = remit.folder / "notify.json"
        path.write_text(json.dumps({"targets": targets}), "utf-8")
        monkeypatch.setenv("REMIT_NOTIFY", str(path))
        for name, value in SECRETS.items():
            monkeypatch.setenv(name, value)
        return path

    return configured


@pytest.fixture
def down() -> Iterator[Down]:
    """A receiver that cannot be reached."""
    made = Down()
    yield made
    made.close()


def hook(url: str, **more: Any) -> dict[str, Any]:
    return {"url": url, "keys": ["secret://HOOK_KEY"], "tries": 1, **more}


def statuses(remit: Cli, *more: str) -> list[tuple[str, str]]:
    found = remit.json("messages", *more).json["messages"]
    return sorted((each["type"], each["status"]) for each in found)


def test_a_command_tells_what_it_did_before_it_ends(remit: Cli, told: Callable[..., Path]) -> None:
    told(desk={"command": ["/bin/sh", "-c", f"cat >> {remit.folder}/log; echo >> {remit.folder}/log"]})

    run = remit.ticket()
    remit.json("approve", asked(run)["id"], "--no-drive")
    remit.json("resume", run.json["run_id"], "--engine", "loop")

    heard = [json.loads(line) for line in (remit.folder / "log").read_text().splitlines()]
    assert [each["type"] for each in heard] == ["approval.requested", "run.waiting_approval", "run.completed"]
    assert {each["data"]["run_id"] for each in heard} == {run.json["run_id"]}


def test_a_receiver_that_is_down_changes_nothing_of_what_a_command_says(
    remit: Cli, told: Callable[..., Path], down: Down
) -> None:
    before = remit.ticket()

    told(ops=hook(down.url))
    after = remit.ticket()

    assert (after.code, after.err) == (before.code, before.err) == (3, "")
    assert after.json.keys() == before.json.keys()
    assert statuses(remit) == [("approval.requested", "dead"), ("run.waiting_approval", "pending")]


def test_dead_messages_are_listed_and_given_all_their_tries_anew(
    remit: Cli, told: Callable[..., Path], down: Down
) -> None:
    told(ops=hook(down.url, events=["approval.requested"]))
    remit.ticket()
    (dead,) = remit.json("messages", "--dead").json["messages"]
    assert dead["last_error"].startswith("No answer: ConnectError")

    told(ops={"command": ["true"]})
    (again,) = remit.json("messages", "retry", dead["message_id"]).json["messages"]
    done = remit.json("notify")

    assert (again["status"], again["tries"], done.code, done.json) == ("pending", 0, 0, {"tried": 1, "next_at": None})
    assert statuses(remit) == [("approval.requested", "sent")]
    assert remit.json("audit").json["entries"][-1]["action"] == "message.retry"


def test_a_message_that_nobody_should_get_any_more_is_dropped(
    remit: Cli, told: Callable[..., Path], down: Down
) -> None:
    told(ops=hook(down.url, tries=5, events=["approval.requested"]))
    remit.ticket()
    (waits,) = remit.json("messages").json["messages"]

    (dropped,) = remit.json("messages", "drop", waits["message_id"]).json["messages"]

    assert (waits["status"], dropped["status"], dropped["last_error"]) == ("pending", "dead", "Dropped by ada.")
    assert remit.json("messages", "drop", waits["message_id"]).error == "CONFLICT"


def test_only_a_dead_message_is_given_more_tries(remit: Cli, told: Callable[..., Path]) -> None:
    told(desk={"command": ["true"], "events": ["approval.requested"]})
    remit.ticket()
    (sent,) = remit.json("messages").json["messages"]

    refused = remit.json("messages", "retry", sent["message_id"])

    assert (refused.code, refused.error) == (2, "CONFLICT")
    assert "is sent: only a dead one is given more tries" in refused.json["error"]["message"]
    assert remit.json("messages", "retry", "nobody").error == "NOT_FOUND"


def test_without_a_configuration_the_commands_say_what_to_set(remit: Cli) -> None:
    refused = remit.json("notify")

    assert (refused.code, refused.error) == (2, "INPUT_VALIDATION_FAILED")
    assert "set REMIT_NOTIFY to a file" in refused.json["error"]["message"]
    assert remit("messages").out.strip() == "There are no such messages."


def test_a_wrong_configuration_stops_a_command_before_it_does_anything(remit: Cli, told: Callable[..., Path]) -> None:
    path = told(ops=hook("ftp://ops.example"))

    refused = remit.ticket()

    assert refused.error == "INPUT_VALIDATION_FAILED"
    assert f"{path}: target ops: url: write https://" in refused.json["error"]["message"]
    assert not remit.data.exists()


def test_a_person_sees_messages_as_a_table(remit: Cli, told: Callable[..., Path]) -> None:
    told(desk={"command": ["true"], "events": ["approval.requested"]})
    remit.ticket()

    said = remit("messages")

    assert "approval.requested" in said.out
    assert "sent" in said.out
    assert "Tried 0. Next one: none." in remit("notify").out


# --- a sender that stays ------------------------------------------------------------------------------------


def following(remit: Cli) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-m", "service.cli", "notify", "--follow"]
    environment = os.environ | {"REMIT_USER": "ada", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)


def until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.02)


@pytest.mark.long
def test_one_that_follows_sends_what_others_write_and_ends_at_sigterm(
    remit: Cli, told: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hooks = HookReceiver(tmp_path)
    hooks.will({"how": "status", "status": 500})
    told(ops=hook(hooks.url, tries=3, events=["approval.requested"]))
    remit.json("approvals")
    with following(remit) as sender:
        monkeypatch.setattr("service.notify.END_OF_COMMAND_S", 0)  # only the other one sends
        remit.ticket()

        until(lambda: statuses(remit) == [("approval.requested", "sent")])

        sender.send_signal(signal.SIGTERM)
        _, said = sender.communicate(timeout=30)
    assert (sender.returncode, said, len(hooks.calls)) == (0, "", 2)
    hooks.stop()


@pytest.mark.long
def test_one_that_waits_for_an_answer_ends_at_sigterm_and_leaves_the_message(
    remit: Cli, told: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hooks = HookReceiver(tmp_path)
    hooks.will({"how": "hang"})
    told(ops=hook(hooks.url, tries=3, timeout_s=100, events=["approval.requested"]))
    monkeypatch.setattr("service.notify.END_OF_COMMAND_S", 0)
    remit.ticket()

    with following(remit) as sender:
        until(lambda: len(hooks.calls) == 1)
        sender.send_signal(signal.SIGTERM)
        _, said = sender.communicate(timeout=30)

    assert (sender.returncode, said, statuses(remit)) == (0, "", [("approval.requested", "pending")])
    hooks.stop()
