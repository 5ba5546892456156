"""Every field of every line of a real evidence document: a change is noticed, or the page says that it is not."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.evidence_check import SECTIONS, Check
from tests.support.auditor import Document, another, changed, evidence, rechained
from tests.support.world import World

PAGE = (Path(__file__).parents[2] / "docs/evidence.md").read_text("utf-8")
ROWS = re.findall(r"^\| ([a-z_, ()]+) \| ([a-z_, ]+) \| .+ \|$", PAGE.partition("## What is not")[2], re.MULTILINE)
NOT_COVERED = {
    (section, name) for sections, names in ROWS for section in sections.split(", ") for name in names.split(", ")
}
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Document]:
    """Evidence of a check that read two materials, asked, wrote one ticket and read it back."""
    world = World(tmp_path_factory.mktemp("audited"), "loop")
    yield evidence(world, world.check().approve().run_id)
    world.close()


@cache
def is_covered(section: str, name: str, effect: str | None) -> bool:
    """By the page; what a read has in common with a write has rows of its own."""
    reads = effect == "read" and (f"{section} (reads)", name) in NOT_COVERED
    return not reads and (section, name) not in NOT_COVERED


def lines_of(document: Document) -> list[tuple[str, int]]:
    return [(section, number) for section in SECTIONS.split() for number in range(len(document["sections"][section]))]


def removed(lines: list[Any], number: int) -> None:
    del lines[number]


def doubled(lines: list[Any], number: int) -> None:
    lines.insert(number, lines[number])


def swapped(lines: list[Any], number: int) -> None:
    lines.insert(number - 1 if number else 1, lines.pop(number))


@pytest.mark.parametrize("section", SECTIONS.split())
def test_who_makes_the_chain_fit_again_is_noticed_by_every_field_that_is_not_on_the_page(
    document: Document, section: str
) -> None:
    unnoticed: set[tuple[str, str, bool]] = set()
    lines = [*enumerate(document["sections"][section], 1)]
    for number, line in lines[:: max(1, len(lines) - 1)]:  # the first and the last
        for name, value in line.items():
            forged = rechained(changed(document, section, number, **{name: another(value)}))
            if not Check(forged).problems:
                unnoticed.add((section, name, is_covered(section, name, line.get("effect"))))

    assert sorted(each[:2] for each in unnoticed if each[2]) == []


@pytest.mark.parametrize("change", [removed, doubled])
def test_a_line_that_is_missing_or_there_twice_is_noticed_also_in_a_chain_that_fits(
    document: Document, change: Callable[[list[Any], int], None]
) -> None:
    for section, number in lines_of(document):
        other = copy.deepcopy(document)
        change(other["sections"][section], number)
        assert Check(rechained(other)).problems, (section, number)


@QUICK
@given(data=st.data())
def test_whatever_is_done_to_a_document_is_noticed_and_the_line_is_named(
    document: Document, data: st.DataObject
) -> None:
    section, number = data.draw(st.sampled_from(lines_of(document)))
    lines = copy.deepcopy(document["sections"])
    change = data.draw(st.sampled_from([removed, doubled, swapped, None]))
    if change is None:
        name = data.draw(st.sampled_from(sorted(lines[section][number])))
        lines[section][number][name] = another(lines[section][number][name])
    else:
        change(lines[section], number)

    found = Check({**document, "sections": lines}).problems

    assert lines == document["sections"] or any(each.startswith(section) for each in found)


@QUICK
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=3), st.lists, max_leaves=4
    ),
    data=st.data(),
)
def test_the_checker_never_breaks_on_what_it_is_given(document: Document, value: Any, data: st.DataObject) -> None:
    section, number = data.draw(st.sampled_from(lines_of(document)))
    name = data.draw(st.sampled_from(sorted(document["sections"][section][number])))

    Check(rechained(changed(document, section, number + 1, **{name: value})))
