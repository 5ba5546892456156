"""Commands that are told: they get the message as input, have their time, and nothing of what they say is kept."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.support.notified import Told, log
from tests.support.world import World


@pytest.fixture
def told(loop_world: World) -> Told:
    return Told(loop_world)


def ended(told: Told, script: str, **more: object) -> Told:
    """A run has ended, and the command is told."""
    told.by_command(script, events=["run.completed"], **more)
    told.world.noter().approve()
    told.sends()
    return told


def test_a_command_gets_the_message_on_its_input(told: Told) -> None:
    ended(told, f"cat > {told.world.folder}/log")

    assert json.loads(log(told.world.folder)[0]) == told.bodies[0]
    assert told.one["status"] == "sent"


def test_a_command_that_fails_is_run_again_and_what_it_said_is_not_kept(told: Told) -> None:
    folder = told.world.folder
    ended(told, f"echo x >> {folder}/log; echo canary. canary >&2; test $(wc -l < {folder}/log) -gt 1 || exit 3")
    assert (told.one["status"], told.one["last_error"]) == ("pending", "Ended with 3.")

    told.waits_and_sends()

    assert (told.one["status"], log(folder)) == ("sent", ["x", "x"])


def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(told: Told) -> None:
    folder = told.world.folder
    ended(told, f"sleep 60 & echo $! > {folder}/log; wait", timeout_s=0.2)

    assert (told.one["status"], told.one["last_error"]) == ("pending", "Stopped (timeout).")
    (child,) = log(folder)
    until = time.monotonic() + 10
    while os.path.exists(f"/proc/{child}") and time.monotonic() < until:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{child}")


def test_a_command_gets_of_the_environment_what_is_named_and_nothing_else(told: Told) -> None:
    told.world.secrets |= {"DISPLAY": ":7"}

    ended(told, f"env > {told.world.folder}/log", environment=["DISPLAY", "NOT_SET"])

    names = {line.partition("=")[0] for line in log(told.world.folder)}
    assert names - {"PWD", "_", "SHLVL", "OLDPWD"} == {"PATH", "LANG", "DISPLAY"}


def test_a_command_that_is_gone_is_tried_again(told: Told) -> None:
    program = told.world.folder / "hook"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    told.by(desk={"command": ["./hook"], "events": ["run.completed"]})
    told.world.noter().approve()
    sender = told.sender()
    program.unlink()

    sender.send_due(1)

    assert told.one["status"] == "pending"
    assert told.one["last_error"].startswith("Not started: No such file")
