"""Which tests run which lines, and how long they take; learnt from one run of the tests."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("state", "store", "tools", "nodes", "graphs", "service")
# Slow, far off, or held by processes and services of their own; and what holds for one engine holds for the other.
LEFT_OUT = ("units/test_notice*", "architecture/*", "chaos/*", "service/*", "scenarios/*cancel_reaches*", "*outside*",
            "contracts/test_notifier*", "contracts/test_process*")  # fmt: skip
ENGINE = "not langgraph"
TOO_LONG_S = 4.0
CACHE = ROOT / ".mutation" / "covering.json"


def folder() -> Path:
    """For what tests leave behind: in memory where that can be, as a test writes some databases."""
    memory = Path("/dev/shm")
    return (memory if memory.is_dir() else Path(tempfile.gettempdir())) / "mutants"


def sources() -> dict[str, str]:
    """Every module of the product, by its path."""
    return {str(path.relative_to(ROOT)): path.read_text() for each in PACKAGES for path in (ROOT / each).rglob("*.py")}


class Covering:
    """`seconds` by test; `lines` are tests by file and line, as a number with a bit per test."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.seconds: dict[str, float] = known["seconds"]
        self.tests: list[str] = known["tests"]
        self.lines: dict[str, dict[str, str]] = known["lines"]
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
        todo, seen, found = list(names), set[str](), 0
        if not todo:
            found = reduce(or_, (self._tests(path, line) for line in lines), 0)
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            todo += self._at_import[name]
            for file, line, within in self._in_functions[name]:
                tests = self._tests(file, line)
                found |= tests
                if not tests:  # a function that only runs at import: what is made by it is run
                    todo.append(within)
        named = [test for test in self.named(found) if self.seconds[test] < TOO_LONG_S]
        return sorted(named, key=self.seconds.__getitem__)

    def _tests(self, path: str, line: int) -> int:
        return int(self.lines.get(path, {}).get(str(line), "0"), 16)

    def named(self, bits: int) -> list[str]:
        return [test for place, test in enumerate(self.tests) if bits >> place & 1]


def function_of(test: str) -> str:
    """The test of a case."""
    return test.split("[", maxsplit=1)[0]


def covering() -> Covering:
    """From the last run of the tests; what has changed since is run again: files of tests, or all."""
    known: dict[str, Any] = json.loads(CACHE.read_text()) if CACHE.exists() else {}
    files, shared = _digests()
    if known.get("shared") != shared:
        known = {"seconds": {}, "lines": {}, "tests": [], "files": {}, "shared": shared}
    stale = [each for each in {**known["files"], **files} if known["files"].get(each) != files.get(each)]
    if stale:
        learnt = _learnt(sorted(set(stale) & set(files)))
        CACHE.parent.mkdir(exist_ok=True)
        CACHE.write_text(json.dumps({**_together(known, learnt, set(stale)), "files": files, "shared": shared}))
        return covering()
    return Covering(known)


def _digests() -> tuple[dict[str, str], str]:
    """By file of tests, with what it imports of the others; and of what all tests share."""
    texts = {str(each.relative_to(ROOT)): each.read_text() for each in sorted((ROOT / "tests").rglob("*.py"))}
    tests = [path for path in texts if "/test_" in path and not path.startswith("tests/mutation/")]
    shared = [text for path, text in [*texts.items(), *sorted(sources().items())] if path.endswith("conftest.py")
              or not path.startswith("tests/")]  # fmt: skip
    return {each: _digest(_needed(each, texts)) for each in tests}, _digest(shared)


def _needed(path: str, texts: dict[str, str]) -> list[str]:
    found, todo = dict[str, str](), [path]
    while todo:
        name = todo.pop()
        if name in texts and name not in found:
            found[name] = texts[name]
            todo += [each.replace(".", "/") + ".py" for each in re.findall(r"\btests(?:\.\w+)+", texts[name])]
    return [found[each] for each in sorted(found)]


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def _together(known: dict[str, Any], learnt: dict[str, Any], stale: set[str]) -> dict[str, Any]:
    """What was known before about files that are not stale, and what was learnt."""
    kept = {test: each for test, each in known["seconds"].items() if test.split("::")[0] not in stale}
    seconds = {**kept, **learnt["seconds"]}
    tests = list(seconds)
    place = {test: 1 << number for number, test in enumerate(tests)}
    bits: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    before = Covering(known)
    for path, found in known["lines"].items():
        for line, mask in found.items():
            bits[path][line] |= sum(place[each] for each in before.named(int(mask, 16)) if each in place)
    for path, found in learnt["lines"].items():
        for line, ran in found.items():
            bits[path][line] |= sum(place[each] for each in ran)
    lines = {path: {line: f"{mask:x}" for line, mask in found.items() if mask} for path, found in bits.items()}
    return {"seconds": seconds, "tests": tests, "lines": lines}


def _learnt(files: Sequence[str]) -> dict[str, Any]:
    import coverage
    import pytest

    watched = coverage.Coverage(
        data_file=None, source=list(PACKAGES), config_file=False, concurrency=["thread", "greenlet"]
    )
    seconds: dict[str, float] = defaultdict(float)

    failed: set[str] = set()

    class Plugin:
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            """A service that a test started would outlive a process that is forked and ends without its teardown."""
            items[:] = [each for each in items if "ticket_process" not in getattr(each, "fixturenames", ())]

        def pytest_runtest_logstart(self, nodeid: str) -> None:
            watched.switch_context(nodeid)

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            seconds[report.nodeid] += report.duration
            if report.failed:
                failed.add(report.nodeid)

    watched.start()
    ignored = ["-k", ENGINE, *[f"--ignore-glob=*/tests/{each}" for each in LEFT_OUT]]
    folder().mkdir(exist_ok=True)
    quiet = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov"]
    pytest.main([*quiet, f"--basetemp={folder() / 'learning'}", *ignored, *files], [Plugin()])
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
