"""The command line as real processes: what it imports, pipes that close, Ctrl-C, and the demo with its real SIGKILL."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import TICKET

ROOT = Path(__file__).parents[2]


def environment(data: Path) -> dict[str, str]:
    return os.environ | {"REMIT_DATA_DIR": str(data), "REMIT_USER": "ada", "PYTHONPATH": str(ROOT)}


def remit(data: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "service.cli", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment(data), stdin=subprocess.DEVNULL, text=True, check=False,
        capture_output=True, timeout=60, **options,
    )  # fmt: skip


def imported(data: Path, *arguments: str) -> set[str]:
    """The packages that a command imports."""
    report = "import sys; from service.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", report, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment(data), capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stderr.split()}


def test_the_loop_engine_imports_nothing_of_langgraph(tmp_path: Path):
    names = imported(tmp_path, "run", "ticket", *TICKET, "--engine", "loop", "--json")

    assert "sqlalchemy" in names
    assert not {"langgraph", "langchain_core", "langsmith", "alembic"} & names


def test_the_help_imports_nothing_that_is_slow(tmp_path: Path):
    assert not {"sqlalchemy", "pydantic", "langgraph", "dateparser"} & imported(tmp_path, "--help")


@pytest.mark.long
def test_a_reader_that_has_gone_causes_no_traceback(tmp_path: Path):
    remit(tmp_path, "run", "ticket", *TICKET, "--engine", "loop")
    reader, writer = os.pipe()
    os.close(reader)

    command = [sys.executable, "-m", "service.cli", "show"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(tmp_path), stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.long
def test_following_a_waiting_run_stops_at_ctrl_c(tmp_path: Path):
    run = json.loads(remit(tmp_path, "run", "ticket", *TICKET, "--engine", "loop", "--json").stdout)
    command = [sys.executable, "-m", "service.cli", "events", run["run_id"], "--follow"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    with subprocess.Popen(command, cwd=ROOT, env=environment(tmp_path), **pipes) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        seen = next(line for line in following.stdout if "waits for an approval" in line)
        following.send_signal(signal.SIGINT)
        following.wait(timeout=30)
        errors = following.stderr.read()

    assert seen
    assert (following.returncode, errors) == (0, "")


@pytest.mark.long
def test_words_survive_a_terminal_that_cannot_show_them(tmp_path: Path):
    fields = ("--source", "公告", "--field", "f", "--observed", "2026", "--recorded", "2025", "--engine", "loop")
    ascii_only = environment(tmp_path) | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "service.cli", "run", "ticket", *fields]

    human = subprocess.run(command, cwd=ROOT, env=ascii_only, capture_output=True, text=True, check=False)
    machine = subprocess.run([*command, "--json"], cwd=ROOT, env=ascii_only, capture_output=True, check=False)

    assert (human.returncode, human.stderr) == (3, "")
    assert json.loads(machine.stdout)["input"]["source"] == "公告"


@pytest.mark.long
def test_the_demo_keeps_its_word(tmp_path: Path):
    command = [sys.executable, "examples/demo.py"]

    done = subprocess.run(
        command, cwd=ROOT, env=environment(tmp_path), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=180, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "The process ended with -9" in done.stdout
    assert "outcome found out: create_ticket" in done.stdout
    assert "One approved ticket each" in done.stdout
