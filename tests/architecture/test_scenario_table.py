"""The page of scenarios and the tests are held together: each row names tests, and each of them is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/proof/scenarios.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| ([A-Z]\d+) \| .+ \| (.+) \|$", PAGE, re.MULTILINE))

IDS = [
    *[f"C{number}" for number in (*range(1, 16), 17)],
    *[f"X{number}" for number in range(1, 17)],
    *[f"A{number}" for number in (1, 3, 4, 6, 8, *range(10, 14), *range(15, 19))],
    *[f"K{number}" for number in range(1, 13)],
    *[f"S{number}" for number in range(1, 5)],
]


@pytest.fixture(scope="module")
def tests_there() -> set[str]:
    """The names of all test functions."""
    trees = (ast.parse(path.read_text("utf-8")) for path in (ROOT / "tests").rglob("test_*.py"))
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_scenario_has_its_row() -> None:
    assert list(ROWS) == IDS


@pytest.mark.parametrize("id_", IDS)
def test_every_row_names_tests_that_are_there(id_: str, tests_there: set[str]) -> None:
    named = re.findall(r"`(\w+)`", ROWS[id_])

    assert named
    assert [name for name in named if name not in tests_there] == []


@pytest.mark.parametrize("id_", [each for each in IDS if each.startswith("K")])
def test_every_rule_is_shown_with_and_without(id_: str) -> None:
    assert len(re.findall(r"`(\w+)`", ROWS[id_])) >= 2
