"""A tool's process: what it gives, when it is not started, and that nothing of it is left, whoever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from state.clock import Permit, SystemClock
from state.errors import ToolError
from tools.contract import Call, CancelToken
from tools.process import run_process

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30

# A shell, a child in its group and one in a session of its own, all deaf to SIGTERM. Each writes its pid, and stays.
STUBBORN = """
trap '' TERM
sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &
setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &
echo $$
while :; do sleep 1; done
"""


def call(token: CancelToken | None = None, permit: Permit | None = None) -> Call:
    return Call("run", "operation", "key", "digest", {}, "ada", permit=permit, token=token or CancelToken())


def shell(script: str, *, timeout_s: float = PATIENCE_S, grace_s: float = 0.1, **more: Any) -> bytes:
    made = more.pop("call", None) or call()
    return run_process(["sh", "-c", script], call=made, timeout_s=timeout_s, grace_s=grace_s, **more)


def fails(script: str, **more: Any) -> tuple[str, str]:
    """Class and words of the error that it must end with."""
    with pytest.raises(ToolError) as refused:
        shell(script, **more)
    return refused.value.error_class, str(refused.value)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < give_up
        threading.Event().wait(0.01)


class Pids:
    """A pipe that a script writes its processes' ids to."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "pids"
        os.mkfifo(self.path)

    def of(self, script: str) -> str:
        return f"exec > {self.path}\n{script}"

    def read(self, count: int) -> list[int]:
        with self.path.open() as lines:
            return [int(lines.readline()) for _ in range(count)]


@pytest.fixture
def pids(tmp_path: Path) -> Pids:
    return Pids(tmp_path)


def test_what_it_is_given_it_gets_and_what_it_says_comes_back():
    given = b"x" * 300_000

    assert shell("cat; echo aside >&2", stdin=given) == given


def test_input_that_it_does_not_read_does_not_matter():
    assert shell("echo done", stdin=b"x" * 300_000) == b"done\n"


def test_nothing_of_our_environment_reaches_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CANARY", "a secret")

    assert b"secret" not in shell("env")
    assert b"NAME=value" in shell("env", env={"PATH": os.defpath, "NAME": "value"})


def test_an_exit_code_means_what_the_tool_says_and_else_that_nobody_knows():
    outcomes = {3: "refused_by_target"}

    assert fails("echo no >&2; exit 3", outcomes=outcomes) == ("refused_by_target", "Ended with 3. no")
    assert fails("exit 4", outcomes=outcomes)[0] == "unknown_outcome"
    assert fails("kill -9 $$", outcomes=outcomes) == ("unknown_outcome", "Ended by signal 9. ")


def test_a_program_that_is_not_there_has_done_nothing():
    with pytest.raises(ToolError, match=r"Not started: No such file") as refused:
        run_process(["/no/such/program"], call=call(), timeout_s=1)

    assert refused.value.error_class == "internal"


@pytest.mark.parametrize("why", ["permit", "token", "folder"])
def test_what_must_not_begin_does_not_begin(tmp_path: Path, why: str):
    token, clock, trace = CancelToken(), SystemClock(), tmp_path / "trace"
    if why == "token":
        token.trip("cancel")
    permit = Permit(clock.now() - 1, clock.monotonic() - 1) if why == "permit" else Permit.of(clock, 60)

    made, more = call(token, permit), {"cwd": "/no/such/folder"} if why == "folder" else {}
    error_class, said = fails(f"touch {trace}", call=made, **more)

    assert error_class == ("internal" if why == "folder" else "transient")
    assert said.startswith("Not started")
    assert not trace.exists()


def test_a_cancel_is_asked_for_first_and_heeding_it_is_enough(pids: Pids):
    token = CancelToken()
    seen = threading.Thread(target=lambda: (pids.read(1), token.trip("cancel")))
    seen.start()
    begun = time.monotonic()

    said = fails(pids.of("echo $$; exec sleep 60"), call=call(token), grace_s=PATIENCE_S)

    seen.join()
    assert said == ("unknown_outcome", "Stopped (cancel).")
    assert time.monotonic() - begun < PATIENCE_S


def test_nothing_is_left_of_what_does_not_heed_a_cancel(pids: Pids):  # X14
    token = CancelToken()
    found: list[int] = []
    seen = threading.Thread(target=lambda: (found.extend(pids.read(3)), token.trip("cancel")))
    seen.start()

    said = fails(pids.of(STUBBORN), call=call(token))

    seen.join()
    assert said == ("unknown_outcome", "Stopped (cancel).")
    assert [is_there(each) for each in found] == [False, False, False]


def test_a_timeout_leaves_nothing_and_nobody_knows_what_was_done():
    assert fails("trap '' TERM; while :; do sleep 1; done", timeout_s=0.2) == ("unknown_outcome", "Stopped (timeout).")


def test_what_a_program_leaves_behind_is_ended_with_it(tmp_path: Path, pids: Pids):
    os.mkfifo(tmp_path / "go")
    found: list[int] = []
    seen = threading.Thread(target=lambda: found.extend(pids.read(1)))
    seen.start()

    said = shell("setsid sh -c 'echo $$ > pids; echo go > go; exec sleep 600' & cat go", cwd=str(tmp_path))

    seen.join()
    assert (said, is_there(found[0])) == (b"go\n", False)


def test_endless_output_is_bounded():
    error_class, said = fails("yes", max_output=1000)

    assert (error_class, "more than 1000 bytes" in said) == ("unknown_outcome", True)


def test_no_descriptor_is_left_open():
    shell("true")
    before = len(os.listdir("/proc/self/fd"))

    shell("true")
    fails("exit 3")
    fails("yes", max_output=1000)

    assert len(os.listdir("/proc/self/fd")) == before


def test_when_the_driver_is_killed_nothing_is_left(pids: Pids):
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom tests.contracts.test_process import *\nshell(sys.argv[1])"
    )

    with subprocess.Popen([sys.executable, "-c", script, pids.of(STUBBORN)], cwd=ROOT) as driver:
        found = pids.read(3)
        assert all(is_there(each) for each in found)
        driver.send_signal(signal.SIGKILL)

    until(lambda: not any(is_there(each) for each in found))


def test_when_the_guard_is_killed_the_program_dies_too_and_nobody_knows_what_it_did(pids: Pids):
    seen = threading.Thread(target=lambda: os.kill(pids.read(1)[0], signal.SIGKILL))
    seen.start()

    said = fails(pids.of("echo $PPID; while :; do sleep 1; done"))

    seen.join()
    assert said[0] == "unknown_outcome"
