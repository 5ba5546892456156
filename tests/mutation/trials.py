"""Mutants tried one after the other, each in a process of its own, by the tests most likely to notice it first.

A failure tells something only if the same tests pass on unchanged code in the same kind of process: whatever a test
notices first is asked once more about nothing at all, and a test that fails then is never asked again.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutation.covering import folder, function_of
from tests.mutation.mutants import UNCHANGED

NEAR, BEST, FIRST = 4, 12, 24
EXACT = frozenset({"tests/contracts/test_whole_records.py", "tests/contracts/test_what_is_shown.py"})
PATIENCE_S = 12.0  # of tests that a mutant meets; one that these do not notice counts as a survivor
A_TEST_S = 5.0
STARTING_S = 20.0
BROKEN = 70  # exit status: of the machinery, not of the tests
ELSEWHERE = 77  # exit status: this change cannot be tried in this kind of process

KILLS = Counter[str]()  # how many mutants each test noticed first, in all files so far

Ask = Callable[[int, Sequence[str], Path], int]  # number of the mutant, tests, folder for what is left; an exit status


@dataclass
class Trial:
    """One mutant and its tests; `outcome` is killed, timeout, survived, uncovered, or elsewhere: not tried yet."""

    number: int
    line: int
    change: str
    tests: Sequence[str]
    at_import: bool
    outcome: str = "uncovered"
    killer: str = ""


@dataclass
class _Running:
    trial: Trial
    now: Sequence[str]
    rest: Sequence[str]
    until: float
    suspect: str = ""  # the test whose failure is tried without any change


@dataclass
class Trials:
    """Tries mutants of one file. `ask` is called in the child."""

    seconds: dict[str, float]
    jobs: int
    ask: Ask
    _killers: list[tuple[int, str]] = field(default_factory=list)
    _sound: set[str] = field(default_factory=set)
    _unsound: set[str] = field(default_factory=set)
    _waiting: list[_Running] = field(default_factory=list)

    def run(self, trials: Sequence[Trial]) -> None:
        """Sets each outcome."""
        left = [each for each in reversed(trials) if each.tests]
        running: dict[int, _Running] = {}
        while left or self._waiting or running:
            while (left or self._waiting) and len(running) < self.jobs:
                each = self._waiting.pop() if self._waiting else self._first(left.pop())
                running[self._forked(each)] = each
            for pid, status, killer in _ended(running):
                self._judge(running.pop(pid), status, killer)

    def _first(self, trial: Trial) -> _Running:
        """The killers of the mutants nearby, those of most mutants, what compares whole records, then the fastest."""
        tests = [each for each in trial.tests if each not in self._unsound]
        asked = set(tests)
        near = [each for _, each in sorted(self._killers, key=lambda it: abs(it[0] - trial.line)) if each in asked]
        best = [each for each, _ in KILLS.most_common() if each in asked]
        tests = list(dict.fromkeys([*list(dict.fromkeys(near))[:NEAR], *best[:BEST], *_exact(tests), *tests]))
        return _Running(trial, tests[:FIRST], self._bounded(tests[FIRST:]), 0.0)

    def _bounded(self, tests: Sequence[str]) -> list[str]:
        """One case of each test first; as many as fit."""
        seen, first, later = set[str](), list[str](), list[str]()
        for each in tests:
            (later if function_of(each) in seen else first).append(each)
            seen.add(function_of(each))
        left, fitting = PATIENCE_S, list[str]()
        for each in [*first, *later]:
            left -= self.seconds[each]
            if left > 0:
                fitting.append(each)
        return fitting

    def _judge(self, ended: _Running, status: int | None, killer: str) -> None:
        trial = ended.trial
        if status == BROKEN:
            raise RuntimeError(f"mutant {trial.number}, {trial.change}: could not be tried, see {folder() / 'broken'}")
        if ended.suspect:
            (self._unsound if status else self._sound).add(ended.suspect)
            if status:
                trial.outcome, trial.killer = "uncovered", ""
                self._waiting.append(self._first(trial))
        elif status == 0 and ended.rest:
            self._waiting.append(_Running(trial, ended.rest, (), 0.0))
        else:
            outcomes = {0: "survived", None: "timeout", -signal.SIGALRM: "timeout", ELSEWHERE: "elsewhere"}
            trial.outcome, trial.killer = outcomes.get(status, "killed"), killer or f"exit status {status}"
            print(f"{trial.outcome} {trial.line} {trial.change} {trial.killer}", file=sys.stderr)
            if killer:
                self._killers.append((trial.line, killer))
                KILLS[killer] += 1
            if killer and killer not in self._sound:
                asked = [*ended.now[: ended.now.index(killer)], killer] if killer in ended.now else ended.now
                self._waiting.append(_Running(trial, asked, (), 0.0, killer))

    def _forked(self, each: _Running) -> int:
        each.until = time.monotonic() + STARTING_S + 10 * sum(self.seconds[test] for test in each.now)
        pid = os.fork()
        if pid:
            return pid
        status = BROKEN
        try:
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            own = _folder(os.getpid())
            own.mkdir(parents=True)
            status = self.ask(UNCHANGED if each.suspect else each.trial.number, each.now, own)
        except Exception:
            (folder() / "broken").write_text(traceback.format_exc())
        finally:
            os._exit(status)


def _exact(tests: Sequence[str]) -> list[str]:
    """Tests that compare all that is there, and a few cases of those with many."""
    found = [each for each in tests if each.split("::")[0] in EXACT]
    return [each for each in found if "[" not in each] + [each for each in found if "[" in each][:4]


def _ended(running: dict[int, _Running]) -> Iterator[tuple[int, int | None, str]]:
    """Process, exit status (None after its time) and the test that failed."""
    time.sleep(0.003)
    for pid in list(running):
        done, status = os.waitpid(pid, os.WNOHANG)
        if not done and time.monotonic() <= running[pid].until:
            continue
        code = os.waitstatus_to_exitcode(status) if done else None
        if not done:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # services that a test started and could not stop any more
        said = _folder(pid) / "killer"
        killer = said.read_text() if said.exists() else ""
        shutil.rmtree(_folder(pid), ignore_errors=True)
        yield pid, code, killer


def time_for(seconds: float) -> None:
    """This process ends if a test that took so long takes much longer."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, A_TEST_S + 10 * seconds)


def _folder(pid: int) -> Path:
    return folder() / str(pid)
