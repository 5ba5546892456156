"""Changes that are in force when a module is loaded, like a condition that is built at import.

The process has imported all that does not depend on the changed module. The child loads the changed one, all that
depends on it, and the tests.
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.covering import ROOT, sources
from tests.mutation.in_place import QUIET
from tests.mutation.mutants import UNCHANGED, mutated
from tests.mutation.trials import Trial, Trials, time_for


def import_foreign() -> None:
    """What no mutant touches, imported once."""
    for name in ("pytest", "hypothesis", "sqlalchemy", "langgraph.graph", "langgraph.checkpoint.sqlite.aio", "typer",
                 "rich.table", "pydantic", "dateparser", "bs4", "greenlet", "httpx", "rfc8785"):  # fmt: skip
        importlib.import_module(name)


def try_reloaded(trials: dict[str, list[Trial]], seconds: dict[str, float], jobs: int) -> None:
    """Sets the outcomes of what is built at import, and of what was left `elsewhere`; for one file."""
    for path, listed in trials.items():
        left = [each for each in listed if each.at_import or each.outcome == "elsewhere"]
        if left:
            _import_independent(path)
            gc.freeze()
            source = (ROOT / path).read_text()
            Trials(seconds, jobs, partial(_asked, path, source, seconds)).run(left)


def _asked(path: str, source: str, seconds: dict[str, float], number: int, tests: Sequence[str], folder: Path) -> int:
    sys.dont_write_bytecode = number != UNCHANGED
    sys.meta_path.insert(0, _Mutated(path, source, number))

    class Plugin:
        def pytest_runtest_logstart(self, nodeid: str) -> None:
            time_for(seconds[nodeid])

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                (folder / "killer").write_text(report.nodeid)

    return int(pytest.main([*QUIET, f"--basetemp={folder / 'base'}", *tests], [Plugin()]))


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from its changed tree."""

    def __init__(self, path: str, source: str, number: int) -> None:
        self._name = _module(path)
        self._path = str(ROOT / path)
        self._code = mutated(source, self._path, number)

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
