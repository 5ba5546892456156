"""Which tests run which lines, and how long they take; learnt from one run of the tests."""

from __future__ import annotations

import ast
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("state", "store", "tools", "nodes", "graphs", "service")
# Slow, far off, or held by processes and services of their own; and what holds for one engine holds for the other.
LEFT_OUT = ("units/test_notice*", "architecture/*", "chaos/*", "service/*", "scenarios/*cancel_reaches*", "*outside*")
ENGINE = "not langgraph"
TOO_LONG_S = 4.0
CACHE = ROOT / ".mutation" / "covering.json"


def sources() -> dict[str, str]:
    """Every module of the product, by its path."""
    return {str(path.relative_to(ROOT)): path.read_text() for each in PACKAGES for path in (ROOT / each).rglob("*.py")}


class Covering:
    """`seconds` by test; `lines` are tests by file and line."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.seconds: dict[str, float] = known["seconds"]
        self.lines: dict[str, dict[str, list[str]]] = known["lines"]
        self._in_functions: dict[str, set[tuple[str, int, str]]] = defaultdict(set)
        self._at_import: dict[str, set[str]] = defaultdict(set)
        for path, source in sources().items():
            for statement in ast.parse(source).body:
                self._read(path, statement)

    def _read(self, path: str, statement: ast.stmt) -> None:
        """Where names are used: inside functions, or for what another name stands for."""
        inside = {id(each) for f in ast.walk(statement) if isinstance(f, ast.FunctionDef) for each in ast.walk(f)}
        stored = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and id(each) not in inside
                  and isinstance(each.ctx, ast.Store)}  # fmt: skip
        defined = stored | ({statement.name} if isinstance(statement, ast.ClassDef | ast.FunctionDef) else set())
        for each in ast.walk(statement):
            if not isinstance(each, ast.Name | ast.Attribute):
                continue
            name = each.id if isinstance(each, ast.Name) else each.attr
            if id(each) in inside:
                self._in_functions[name].add((path, each.lineno, getattr(statement, "name", "")))
            else:
                self._at_import[name] |= defined

    def tests_of(self, path: str, lines: Iterable[int], names: Iterable[str]) -> list[str]:
        """Tests that run these lines of a file, or what is made of these names; fastest first."""
        todo, seen, found = list(names), set[str](), set[str]()
        if not todo:
            found = {test for line in lines for test in self._tests(path, line)}
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            todo += self._at_import[name]
            for file, line, within in self._in_functions[name]:
                tests = self._tests(file, line)
                found.update(tests)
                if not tests:  # a function that only runs at import: what is made by it is run
                    todo.append(within)
        return sorted((test for test in found if self.seconds[test] < TOO_LONG_S), key=self.seconds.__getitem__)

    def _tests(self, path: str, line: int) -> list[str]:
        return self.lines.get(path, {}).get(str(line), [])


def covering() -> Covering:
    """From the last run of the tests, or from a new one if a file has changed since."""
    tests = sorted(path for path in (ROOT / "tests").rglob("*.py") if path.parent != Path(__file__).parent)
    texts = [path.read_text() for path in tests]
    digest = hashlib.sha256("".join([*texts, *sources().values()]).encode()).hexdigest()
    if CACHE.exists() and (known := json.loads(CACHE.read_text()))["digest"] == digest:
        return Covering(known)
    known = {"digest": digest, **_learnt()}
    CACHE.parent.mkdir(exist_ok=True)
    CACHE.write_text(json.dumps(known))
    return Covering(known)


def _learnt() -> dict[str, Any]:
    import coverage
    import pytest

    watched = coverage.Coverage(
        data_file=None, source=list(PACKAGES), config_file=False, concurrency=["thread", "greenlet"]
    )
    seconds: dict[str, float] = defaultdict(float)

    failed: set[str] = set()

    class Plugin:
        def pytest_runtest_logstart(self, nodeid: str) -> None:
            watched.switch_context(nodeid)

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            seconds[report.nodeid] += report.duration
            if report.failed:
                failed.add(report.nodeid)

    watched.start()
    ignored = ["-k", ENGINE, *[f"--ignore-glob=*/tests/{each}" for each in LEFT_OUT]]
    pytest.main(["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov", *ignored], [Plugin()])
    watched.stop()
    print("Not asked, because they fail by themselves:", sorted(failed) or "none")
    data = watched.get_data()
    lines = {
        str(Path(file).relative_to(ROOT)): {
            str(line): [each for each in contexts if each and each not in failed]
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    return {"seconds": seconds, "lines": lines}
