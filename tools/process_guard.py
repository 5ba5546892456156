"""The process between Remit and a tool's process: starts it, and sees to it that nothing of it is left.

`tools/process.py` runs this file as a program of its own; it imports nothing of ours. It holds one end of a pipe whose
other end its driver holds: a byte on it asks to stop, its end says that the driver is dead, however it died. Whatever
the tool's process leaves behind, in its group or out of it, becomes a child of this one, and is ended with it.

It reports one word a line: `late` (the permit was over), `starting`, `failed ERRNO`, `started PID`, `exit STATUS` (as
`subprocess` has it: negative for a signal). Whoever reads the end of the report knows that no process is left.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform.startswith("linux")


def main(arguments: list[str]) -> None:
    """`LIFE REPORT GRACE_S UNTIL PROGRAM ARGUMENT…`: two descriptors, seconds, seconds of the monotonic clock."""
    life, report = int(arguments[0]), int(arguments[1])
    grace_s, until = float(arguments[2]), float(arguments[3])
    for descriptor in (life, report):
        os.set_inheritable(descriptor, False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    ended = _told_when_a_child_ends()
    if _readable(life, 0) or time.monotonic() > until:
        return _tell(report, "late")
    _tell(report, "starting")
    started = _start(arguments[4:])
    if started < 0:
        return _tell(report, f"failed {-started}")
    _tell(report, f"started {started}")
    _let_go_of_its_streams()
    status = _watch(started, life, ended, grace_s)
    _tell(report, f"exit {status}")


def _start(argv: list[str]) -> int:
    """The pid of the program, the leader of a group of its own; or the negative errno of why it cannot be run."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            for each in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
                signal.signal(each, signal.SIG_DFL)
            os.execvp(argv[0], argv)
        except OSError as error:
            os.write(tell, str(error.errno or 0).encode())
        finally:
            os._exit(127)
    with suppress(OSError):  # the child does it too; whoever is first
        os.setpgid(pid, pid)
    os.close(tell)
    failed = os.read(told, 16)
    if failed:
        os.waitpid(pid, 0)
        return -int(failed)
    return pid


def _watch(pid: int, life: int, ended: int, grace_s: float) -> int:
    """Until nothing is left: the exit status of the program."""
    statuses: dict[int, int] = {}
    while pid not in statuses:
        ready, _, _ = select.select([life, ended], [], [])
        if life in ready:
            asked = os.read(life, 1) != b""
            return _end(pid, statuses, ended, grace_s if asked else 0.0)
        _reap(statuses, ended)
    return _end(pid, statuses, ended, grace_s)


def _end(pid: int, statuses: dict[int, int], ended: int, grace_s: float) -> int:
    """Ask everything to end, and after the grace kill it."""
    give_up = time.monotonic() + grace_s
    if grace_s > 0 and _reap(statuses, ended):
        _signal_all(pid, signal.SIGTERM)
    while _reap(statuses, ended) and time.monotonic() < give_up:
        _readable(ended, max(0.0, give_up - time.monotonic()))
    while _reap(statuses, ended):
        _signal_all(pid, signal.SIGKILL)
        _readable(ended, 0.1)  # a child of a child that died comes to us only then
    return statuses[pid]


def _reap(statuses: dict[int, int], ended: int) -> bool:
    """Take note of every child that has ended. Is there any left?"""
    with suppress(BlockingIOError):
        os.read(ended, 4096)
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        statuses[pid] = os.waitstatus_to_exitcode(status)


def _signal_all(pid: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(pid, number)
    for child in _children():
        with suppress(OSError):
            os.kill(child, number)


def _children() -> list[int]:
    """Every child of ours: the program, and orphans that left its group."""
    if not _LINUX:
        return []
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:
            parent = file.read().rpartition(b")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(int(name))
    return found


def _told_when_a_child_ends() -> int:
    """A descriptor that can be read after a child has ended."""
    ended, wakes = os.pipe()
    for descriptor in (ended, wakes):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _noted)
    return ended


def _noted(number: int, frame: object) -> None:
    """The descriptor says it; a handler there must be, or nothing is said."""


def _let_go_of_its_streams() -> None:
    """Their other ends see the end of them when the program's processes have ended."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _readable(descriptor: int, timeout_s: float) -> bool:
    return bool(select.select([descriptor], [], [], timeout_s)[0])


def _tell(report: int, line: str) -> None:
    with suppress(OSError):  # the driver is dead
        os.write(report, f"{line}\n".encode())


def _prctl(option: int, value: int) -> None:
    if _LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
