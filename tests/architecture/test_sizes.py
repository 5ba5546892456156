"""Each file says what it promises, and is short enough to be read in one go."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("graphs", "nodes", "tools", "state", "store", "service")

MOST_LINES_IN_A_FILE = 300
MOST_LINES_IN_A_FUNCTION = 40
MORE_LINES = {Path("service/evidence_check.py"): 320}  # it is given away, and has to stand alone

MODULES = sorted(path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
PACKAGE_FILES = [path for path in MODULES if path.name == "__init__.py"]

# A migration is a record of one day: it is never edited again, so it may be as long as the tables it makes.
MIGRATIONS = Path("store/migrations/versions")
WRITTEN_TO_BE_READ = [path for path in MODULES if MIGRATIONS not in path.parents]


def parse(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def too_long(tree: ast.Module) -> list[str]:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    lengths = ((node.name, (node.end_lineno or node.lineno) - node.lineno + 1) for node in functions)
    return [f"{name}: {length} lines" for name, length in lengths if length > MOST_LINES_IN_A_FUNCTION]


def test_every_package_is_there():
    assert {path.parts[0] for path in PACKAGE_FILES} == set(PACKAGES)


@pytest.mark.parametrize("path", WRITTEN_TO_BE_READ, ids=str)
def test_a_file_is_short(path: Path):
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()

    assert len(lines) <= MORE_LINES.get(path, MOST_LINES_IN_A_FILE)


@pytest.mark.parametrize("path", WRITTEN_TO_BE_READ, ids=str)
def test_a_function_is_short(path: Path):
    assert too_long(parse(path)) == []


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_opens_with_what_it_promises(path: Path):
    assert ast.get_docstring(parse(path)), f"{path} has no docstring"


@pytest.mark.parametrize("path", PACKAGE_FILES, ids=str)
def test_a_package_file_holds_one_sentence_and_no_code(path: Path):
    tree = parse(path)
    sentence = ast.get_docstring(tree) or ""

    assert len(tree.body) == 1
    assert sentence.endswith(".")
    assert "\n\n" not in sentence
    assert ". " not in sentence
