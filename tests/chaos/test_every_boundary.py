"""A process that dies around any commit or call: the next one finds the truth, and one ticket.

In this process and on the engine `loop`; `make sweep` does it with real kills, on every engine.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.pairs import second_deaths
from tests.chaos.story import Case
from tests.chaos.trial import again, in_this_process, tell, told
from tests.support.boundaries import Boundary

FEWEST = 20  # boundaries in any of these stories


def _breaches(case: Case, folder: Path) -> dict[str, list[str]]:
    """What is not right after a death at each boundary; empty where all is."""
    whole = told(case, folder)
    assert (whole.problems, len(whole.boundaries) >= FEWEST) == ([], True)
    found: dict[str, list[str]] = {}
    for first in whole.boundaries:
        verdict = tell(case, again(folder, first), (first,), in_this_process, first.process)
        if verdict.problems:
            found[str(first)] = verdict.problems
    return found


@pytest.mark.parametrize(
    "scenario", ["C3", *[pytest.param(each, marks=pytest.mark.long) for each in ("C9", "settled-done")]]
)
def test_dying_at_any_boundary_loses_nothing_and_repeats_nothing(folder: Path, scenario: str) -> None:
    assert _breaches(Case(scenario), folder) == {}


def test_dying_again_at_any_boundary_after_a_death_between_effect_and_record_changes_nothing(folder: Path) -> None:
    case = Case("C1")
    told(case, folder)
    first = Boundary.read("3.effect.1.after")

    found = second_deaths(case, first, again(folder, first), most=None)

    assert len(found) >= FEWEST / 2
    assert {each.boundary: each.problems for each in found if each.problems} == {}
