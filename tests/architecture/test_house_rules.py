"""Rules of the house that a reader can rely on: what is known in one place only stays there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphs import flow
from nodes.standing import Standing

ROOT = Path(__file__).parents[2]
PACKAGES = ("graphs", "nodes", "tools", "state", "store", "service")
PROMISES = [f"P{number}" for number in range(1, 15)]
NOT_YET = {"P14"}


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))


def _readers_of(*names: str) -> set[str]:
    """Modules in which `os.<name>` occurs."""
    return {
        path
        for path, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in names and getattr(node.value, "id", "") == "os"
    }


def test_only_the_wiring_reads_the_environment() -> None:
    assert _readers_of("environ", "getenv") == {"graphs/wiring.py"}


def test_only_one_file_pauses_a_run_and_only_one_names_langgraphs_interrupt() -> None:
    callers = {
        path
        for path, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "_suspend" and isinstance(node.ctx, ast.Load)
    }
    importers = {
        path
        for path, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "interrupt" for alias in node.names)
    }

    assert (callers, importers) == ({"nodes/pause.py"}, {"graphs/run_graph.py"})


def test_no_node_is_asynchronous_and_no_node_knows_langgraph() -> None:
    for path, tree in _modules():
        if path.startswith("nodes/"):
            assert not any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(tree)), path
            imported = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
            assert not any(name.startswith(("langgraph", "langchain")) for name in imported), path


def test_every_step_that_a_standing_can_name_has_a_way_from_admit() -> None:
    text = (ROOT / "nodes/standing.py").read_text("utf-8")
    named = set(re.findall(r'Standing\("(\w+)"', text)) | {Standing("finish").step}

    ways = {flow.next_node({"step": "admit", "outcome": each}) for each in named}

    assert ways <= {*flow.STEPS, flow.END} - {"admit"}


@pytest.mark.parametrize("state", [{}, {"step": None}, {"step": "x", "outcome": 3}, {"step": "decide", "outcome": "?"}])
def test_the_order_of_steps_is_total_and_what_it_does_not_know_asks_the_journal(state: dict[str, object]) -> None:
    assert flow.next_node(state) == "admit"


def test_each_promise_of_the_readme_names_the_scenarios_that_prove_it() -> None:
    rows = dict(re.findall(r"^\| (P\d+) \|.*\| (.+) \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE))
    assert list(rows) == PROMISES

    for promise, proof in rows.items():
        files = re.findall(r"test_p\d\d\w*\.py", proof)
        assert bool(files) != (promise in NOT_YET), promise
        for name in files:
            docstring = ast.get_docstring(ast.parse((ROOT / "tests/scenarios" / name).read_text("utf-8"))) or ""
            assert docstring.startswith(f"{promise}: "), name


def test_every_scenario_file_is_named_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")

    for path in (ROOT / "tests/scenarios").glob("test_p*.py"):
        assert path.name in readme


def test_every_path_that_the_readme_names_exists() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    named = re.findall(r"`((?:graphs|nodes|tools|state|store|service|docs|tests|examples)/[\w./]*)`", readme)

    assert len(named) > 15
    assert [name for name in named if not (ROOT / name).exists()] == []
