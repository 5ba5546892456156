"""The README's commands for writing to a service of one's own, as they stand: only the port is another one."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.ticket_service import CONFIGURATION

ROOT = Path(__file__).parents[2]


def commands() -> tuple[str, str, str]:
    """Starting the service, the settings, and the run."""
    text = (ROOT / "README.md").read_text("utf-8")
    section = text.partition("## Writing to a service of your own")[2].partition("\n## ")[0]
    start, run = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    settings, check = run.strip().split("\n")
    return start.strip(), settings, check


def words(command: str) -> tuple[dict[str, str], list[str]]:
    """A command's settings and its words."""
    said = shlex.split(command)
    first = next((n for n, word in enumerate(said) if "=" not in word), len(said))
    return dict(each.split("=", 1) for each in said[:first]), said[first:]


@pytest.mark.long
def test_a_ticket_is_made_by_the_service_although_its_answer_is_lost(tmp_path: Path) -> None:
    start, settings, check = commands()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    (tmp_path / "tools.toml").write_text(CONFIGURATION.read_text("utf-8").replace("8711", port))
    given, service = words(start.replace("8711", port).replace(".remit-tickets", str(tmp_path)))
    mine = words(settings.removeprefix("export "))[0]
    mine |= {"REMIT_DATA_DIR": str(tmp_path / "data"), "REMIT_TOOLS": str(tmp_path / "tools.toml"), "REMIT_USER": "ada"}
    with subprocess.Popen(service, cwd=ROOT, env=os.environ | given, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            asked = remit(words(check)[1], mine)
            done = remit([".venv/bin/remit", "approve", asked["pending"]["approvals"][0]["id"]], mine)
            with urllib.request.urlopen(f"{url}/control/tickets") as answer:
                tickets = json.load(answer)["tickets"]
        finally:
            process.kill()

    assert (done["status"], done["effect"], len(tickets)) == ("succeeded", "committed", 1)
    assert tickets[0]["values"]["found"] == "2026-06-15"


def remit(command: list[str], settings: dict[str, str]) -> Any:
    done = subprocess.run(
        [*command, "--json"],
        cwd=ROOT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return json.loads(done.stdout)
