"""Running a tool's work in a process that can be killed, for tools with `cancellable = "kill"`.

    permit ── start ──> it works ──> it has ended, and nothing of it is left

On a tripped token, after the timeout or past the bound of its output, everything that it has started gets SIGTERM, and
SIGKILL after the grace. Between this process and the tool's stands a guard (`process_guard.py`), which kills it all at
once when this process dies, whatever it dies of. On Linux that is also what left the tool's process group; on other
systems only what stayed in it. Nobody is left to do it where somebody kills the guard and this process at one moment.

A tool that uses this has not ended with its call when its process dies, only a moment later: it does not declare
`ends_with_its_call`.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from state.clock import Clock, Permit, SystemClock
from state.errors import ErrorClass, ToolError
from tools.contract import Call

GUARD = str(Path(__file__).with_name("process_guard.py"))
MAX_OUTPUT = 4 * 1024 * 1024
BARE = {"PATH": os.defpath, "LANG": "C.UTF-8"}  # nothing of this process's environment: it may hold secrets
FOR_EVER_S = 10 * 365 * 24 * 3600.0
_POLL_S = 0.05
_PIECE = 64 * 1024
_MAX_ERRORS = 4000
_LAST_WAIT_S = 5.0


def run_process(
    argv: Sequence[str],
    *,
    call: Call,
    timeout_s: float,
    grace_s: float = 5.0,
    stdin: bytes = b"",
    max_output: int = MAX_OUTPUT,
    env: Mapping[str, str] = BARE,
    cwd: str | None = None,
    outcomes: Mapping[int, ErrorClass] | None = None,
    clock: Clock | None = None,
) -> bytes:
    """Standard output of a program that ended with 0. `outcomes` says what other exit codes mean; one that it does not
    name is `unknown_outcome`. `grace_s` has to be shorter than what the gateway waits for a call that it cancelled.

    Raises ToolError: `transient` or `internal` if nothing was started; `unknown_outcome` if the program was stopped or
    died, and for output beyond `max_output` bytes.
    """
    until = time.monotonic() + _permitted_s(call.permit, clock or SystemClock())
    if call.token.tripped:
        raise ToolError("transient", f"Not started: {call.token.tripped}.")
    running = _Running(call, time.monotonic() + timeout_s, grace_s, max_output)
    return running.outcome(list(argv), until, stdin, env, cwd, outcomes or {})


def _permitted_s(permit: Permit | None, clock: Clock) -> float:
    if permit is None:
        return FOR_EVER_S
    return min(permit.until - clock.now(), permit.until_monotonic - clock.monotonic()) / 1000


@dataclass(slots=True)
class _Running:
    """One program and its guard."""

    call: Call
    ends_at: float
    grace_s: float
    max_output: int
    output: bytearray = field(default_factory=bytearray)
    errors: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)
    stopped: str | None = None

    def outcome(
        self,
        argv: list[str],
        until: float,
        stdin: bytes,
        env: Mapping[str, str],
        cwd: str | None,
        outcomes: Mapping[int, ErrorClass],
    ) -> bytes:
        life, ours = os.pipe()
        told, tells = os.pipe()
        options = [str(life), str(tells), str(self.grace_s), str(until)]
        try:
            guard = subprocess.Popen(
                [sys.executable, "-I", "-S", GUARD, *options, *argv],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                pass_fds=(life, tells), start_new_session=True, env=dict(env), cwd=cwd,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            for each in (life, ours, told, tells):
                os.close(each)
            raise ToolError("internal", f"Not started: {error}.") from error
        os.close(life)
        os.close(tells)
        with guard:
            try:
                self._attend(guard, ours, told, stdin)
            finally:
                os.close(ours)  # if we leave early, this is what ends everything
                os.close(told)
        return self._became(outcomes)

    # --- while it works ---------------------------------------------------------------------------------------

    def _attend(self, guard: subprocess.Popen[bytes], ours: int, told: int, stdin: bytes) -> None:
        """Until the end of the report, which is when nothing is left."""
        assert guard.stdin is not None
        assert guard.stdout is not None
        assert guard.stderr is not None
        reads = {guard.stdout.fileno(): self.output, guard.stderr.fileno(): self.errors, told: self.report}
        with selectors.DefaultSelector() as selector:
            for each, into in reads.items():
                os.set_blocking(each, False)
                selector.register(each, selectors.EVENT_READ, into)
            os.set_blocking(guard.stdin.fileno(), False)
            selector.register(guard.stdin, selectors.EVENT_WRITE, memoryview(stdin))
            while told in selector.get_map():
                self._serve(selector)
                self._look(guard, ours)
        if not self._reported().keys() & {"late", "failed", "exit"}:  # somebody killed the guard
            self._kill(guard)
        for each, into in reads.items():
            while self._read(each, into):
                pass

    def _serve(self, selector: selectors.BaseSelector) -> None:
        for key, _ in selector.select(_POLL_S):
            if isinstance(key.data, bytearray):
                if not self._read(key.fd, key.data):
                    selector.unregister(key.fileobj)
                continue
            left = _written(key.fd, key.data)
            if left:
                selector.modify(key.fileobj, selectors.EVENT_WRITE, left)
            else:
                selector.unregister(key.fileobj)
                cast(IO[bytes], key.fileobj).close()

    def _read(self, descriptor: int, into: bytearray) -> bool:
        """Take what has come; False if there is no more."""
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return False
        if into is not self.output or len(into) <= self.max_output:
            into += piece
        if into is self.errors:
            del into[:-_MAX_ERRORS]
        return piece != b""

    def _look(self, guard: subprocess.Popen[bytes], ours: int) -> None:
        """Stop it if it has to stop; if that does not help, do the guard's work."""
        now = time.monotonic()
        if self.stopped is None:
            if self.call.token.tripped:
                self.stopped = self.call.token.tripped
            elif now > self.ends_at:
                self.stopped = "timeout"
            elif len(self.output) > self.max_output:
                self.stopped = f"more than {self.max_output} bytes of output"
            if self.stopped is not None:
                self.ends_at = now + self.grace_s + _LAST_WAIT_S
                with suppress(OSError):  # it has ended meanwhile
                    os.write(ours, b"T")
        elif now > self.ends_at or guard.poll() is not None:
            self._kill(guard)

    def _kill(self, guard: subprocess.Popen[bytes]) -> None:
        started = self._reported().get("started")
        if started is not None:
            with suppress(OSError):
                os.killpg(int(started), signal.SIGKILL)
        guard.kill()

    # --- what became of it ------------------------------------------------------------------------------------

    def _reported(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in self.report.decode().splitlines():
            word, _, value = line.partition(" ")
            found[word] = value
        return found

    def _became(self, outcomes: Mapping[int, ErrorClass]) -> bytes:
        reported = self._reported()
        if "failed" in reported:
            raise ToolError("internal", f"Not started: {os.strerror(int(reported['failed']))}.")
        if "starting" not in reported:
            why = self.stopped or "the permit had run out, or there was no guard for it"
            raise ToolError("transient", f"Not started: {why}.")
        if self.stopped is not None:
            raise ToolError("unknown_outcome", f"Stopped ({self.stopped}).")
        status = int(reported.get("exit", -signal.SIGKILL))
        if len(self.output) > self.max_output:
            raise ToolError("unknown_outcome", f"Ended with {status}, and more than {self.max_output} bytes of output.")
        if status == 0:
            return bytes(self.output)
        said = self.errors.decode("utf-8", "replace").strip()
        if status < 0:
            raise ToolError("unknown_outcome", f"Ended by signal {-status}. {said}")
        raise ToolError(outcomes.get(status, "unknown_outcome"), f"Ended with {status}. {said}")


def _written(descriptor: int, data: memoryview) -> memoryview:
    """What is still to be written; nothing, if nobody reads it."""
    try:
        return data[os.write(descriptor, data[:_PIECE]) :] if data else data
    except BlockingIOError:
        return data
    except OSError:
        return data[:0]
