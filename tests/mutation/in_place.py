"""Changes inside functions: all is imported and the tests are collected once, then each child changes one function.

A function that ran while that was done may have left something behind which the change would have made different;
these, and what is built at import, are tried by `reloading` instead.
"""

from __future__ import annotations

import gc
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.mutation.covering import ROOT
from tests.mutation.mutants import UNCHANGED, mutated
from tests.mutation.trials import ELSEWHERE, Trial, Trials, time_for

QUIET = ("-x", "-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov",
         # what was imported before pytest began is not rewritten
         "-W", "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip
Where = tuple[str, str, int]  # file, qualified name, first line
OPTIMIZED = 0x1  # a flag of code that is a function's, not a class body's


def try_in_place(trials: dict[str, list[Trial]], seconds: dict[str, float], jobs: int) -> None:
    """Sets the outcomes of what is inside functions, by file; `elsewhere` is what cannot be tried like this."""
    inside = {str(ROOT / path): [each for each in listed if not each.at_import] for path, listed in trials.items()}
    files = sorted({test.split("::")[0] for listed in inside.values() for each in listed for test in each.tests})
    if not files:
        return
    plugin = _Session(inside, seconds, jobs)
    sys.settrace(plugin.seen)
    try:
        status = pytest.main([*QUIET, *files], [plugin])
    finally:
        sys.settrace(None)
    if not plugin.done:
        raise RuntimeError(f"The tests could not be collected (exit status {status}).")


class _Session:
    """A plugin of pytest: instead of running the tests that were collected, it forks per mutant."""

    def __init__(self, trials: dict[str, list[Trial]], seconds: dict[str, float], jobs: int) -> None:
        self._trials, self._seconds, self._jobs = trials, seconds, jobs
        self._ran = set[Where]()
        self._items: dict[str, pytest.Item] = {}
        self._functions: dict[Where, list[FunctionType]] = defaultdict(list)
        self._failed = ""
        self.done = False

    def seen(self, frame: Any, event: str, argument: Any) -> None:
        if frame.f_code.co_filename in self._trials:
            self._ran.add(_where(frame.f_code))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        sys.settrace(None)
        self._items = {each.nodeid: each for each in session.items}
        for each in gc.get_objects():
            if type(each) is FunctionType and each.__code__.co_filename in self._trials:
                self._functions[_where(each.__code__)].append(each)
        gc.freeze()
        for path, trials in self._trials.items():
            for each in trials:
                each.tests = [test for test in each.tests if test in self._items]
            Trials(self._seconds, self._jobs, partial(self._asked, path)).run(trials)
        self.done = True
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed = report.nodeid

    def _asked(self, path: str, number: int, tests: Sequence[str], folder: Path) -> int:
        if number != UNCHANGED and not self._changed(path, number):
            return ELSEWHERE
        items = [self._items[each] for each in tests]
        items[0].config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
        for each, following in zip(items, [*items[1:], None], strict=True):
            time_for(self._seconds[each.nodeid])
            each.config.hook.pytest_runtest_protocol(item=each, nextitem=following)
            if self._failed:
                (folder / "killer").write_text(self._failed)
                return 1
        return 0

    def _changed(self, path: str, number: int) -> bool:
        source = Path(path).read_text()
        old, new = (mutated(source, path, each) for each in (UNCHANGED, number))
        try:
            changed = [pair for pair in _functions(old, new) if pair[0] != pair[1]]
        except ValueError:  # not the same functions
            return False
        for before, after in changed:
            found = self._functions.get(_where(before), [])
            if not found or _where(before) in self._ran or before.co_freevars != after.co_freevars:
                return False
            for each in found:
                each.__code__ = after
        return bool(changed)


def _where(code: CodeType) -> Where:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _functions(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Outermost functions, as they were and as they are."""
    pairs = zip(_inner(old), _inner(new), strict=True)
    for before, after in pairs:
        if before.co_flags & OPTIMIZED:
            yield before, after
        else:
            yield from _functions(before, after)


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]
