"""One process per mutant, forked from one that has imported all that the mutant does not touch.

What is changed is in force when its module is loaded, so a condition that is built at import is a mutant like any
other. The tests that killed most come first, then the fastest; a mutant that these do not kill meets all that run it.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutation.covering import ROOT, sources
from tests.mutation.mutants import mutated

FIRST = 12
ALWAYS_S = 20.0
UNCHANGED = -1


@dataclass
class Trial:
    """One mutant and its tests; `outcome` is killed, timeout, survived or uncovered."""

    number: int
    line: int
    change: str
    tests: Sequence[str]
    outcome: str = "uncovered"
    killer: str = ""


@dataclass
class _Running:
    trial: Trial
    rest: Sequence[str]
    until: float
    said: Path


def import_foreign() -> None:
    """What no mutant touches, imported once."""
    for name in ("pytest", "hypothesis", "sqlalchemy", "langgraph.graph", "langgraph.checkpoint.sqlite.aio", "typer",
                 "rich.table", "pydantic", "dateparser", "bs4", "greenlet", "httpx", "rfc8785"):  # fmt: skip
        importlib.import_module(name)


def try_all(path: str, trials: Sequence[Trial], seconds: dict[str, float], jobs: int) -> None:
    """Sets each trial's outcome. Called in a process of its own, per file.

    The unchanged module is tried first, with every test that will be asked: if these fail by themselves, the failure of
    one tells nothing, and nothing is tried.
    """
    _import_independent(path)
    source = (ROOT / path).read_text()
    asked = sorted({test for trial in trials for test in trial.tests})
    control = Trial(UNCHANGED, 0, "nothing", asked)
    _try(path, source, [control], seconds, 1)
    if asked and control.outcome != "survived":
        raise RuntimeError(f"{path}: unchanged it was {control.outcome} by {control.killer}: nothing is proven.")
    _try(path, source, trials, seconds, jobs)


def _try(path: str, source: str, trials: Sequence[Trial], seconds: dict[str, float], jobs: int) -> None:
    killers = Counter[str]()
    waiting: list[tuple[Trial, Sequence[str]]] = [(trial, ()) for trial in reversed(trials) if trial.tests]
    running: dict[int, _Running] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            trial, now = waiting.pop()
            rest: list[str] = []
            if not now:
                now = _first(trial, killers)
                rest = [each for each in trial.tests if each not in now]
            pid, said = _forked(path, source, trial.number, now)
            until = time.monotonic() + ALWAYS_S + 10 * sum(seconds[each] for each in now)
            running[pid] = _Running(trial, rest, until, said)
        for pid, code, killer in _ended(running):
            each = running.pop(pid)
            killers.update([killer] if killer else [])
            if code == 0 and each.rest:
                waiting.append((each.trial, each.rest))
            else:
                each.trial.outcome = {0: "survived", None: "timeout"}.get(code, "killed")
                each.trial.killer = killer or f"exit status {code}"


def _first(trial: Trial, killers: Counter[str]) -> list[str]:
    best = [each for each, _ in killers.most_common(FIRST) if each in trial.tests][: FIRST // 2]
    return list(dict.fromkeys([*best, *trial.tests[: FIRST - len(best)]]))


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
        said = running[pid].said
        killer = said.read_text() if said.exists() else ""
        shutil.rmtree(_folder(pid), ignore_errors=True)
        yield pid, code, killer


def _folder(pid: int) -> Path:
    return Path(tempfile.gettempdir()) / f"mutant-{pid}"


def _forked(path: str, source: str, number: int, tests: Sequence[str]) -> tuple[int, Path]:
    pid = os.fork()
    if pid:
        return pid, _folder(pid) / "killer"
    code = 3
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for each in (0, 1, 2):
            os.dup2(nowhere, each)
        code = _tried(path, source, number, tests)
    finally:
        os._exit(code)


def _tried(path: str, source: str, number: int, tests: Sequence[str]) -> int:
    import pytest

    folder = _folder(os.getpid())
    folder.mkdir()
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, _Mutated(path, ast.parse(source) if number == UNCHANGED else mutated(source, number)))

    class Plugin:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                (folder / "killer").write_text(report.nodeid)

    quiet = ["-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov"]
    quiet += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # what was imported before the fork is not rewritten
    return int(pytest.main([*quiet, f"--basetemp={folder / 'base'}", *tests], [Plugin()]))


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from its changed tree."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self._name = _module(path)
        self._path = str(ROOT / path)
        self._code = compile(tree, self._path, "exec")

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(name, self, origin=self._path) if name == self._name else None

    def exec_module(self, module: Any) -> None:
        module.__file__ = self._path
        exec(self._code, module.__dict__)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _import_independent(path: str) -> None:
    """Every module of ours that does not import the changed one, itself or through others."""
    needs = {_module(each): _imported(text) for each, text in sources().items()}
    touched = {_module(path)}
    while more := {name for name, needed in needs.items() if needed & touched} - touched:
        touched |= more
    for name in sorted(set(needs) - touched):
        if "migrations" not in name and not name.endswith(("__main__", "served")):
            importlib.import_module(name)


def _imported(source: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *[f"{node.module}.{each.name}" for each in node.names]}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return found
