"""P5: Notices against a catalogue that is partly wrong: a ticket where they differ, and no date is ever guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.world import World

NOTICES = Path(__file__).parents[1] / "fixtures" / "notices"
SETS = {name: json.loads((NOTICES / name / "index.json").read_text("utf-8")) for name in ("real", "own")}
CASES = [pytest.param(name, each, id=f"{name}-{each['id']}") for name, listed in SETS.items() for each in listed]


@pytest.mark.parametrize(("folder", "truth"), CASES)
def test_each_notice_comes_out_as_a_careful_reader_would_have_it(
    loop_world: World, folder: str, truth: dict[str, Any]
) -> None:
    catalogue = "catalogue.json" if (NOTICES / folder / "catalogue.json").exists() else "catalogue.csv"
    files = {"notice": str(NOTICES / folder / truth["file"]), "catalog": str(NOTICES / folder / catalogue)}

    run = loop_world.start("catalog-check", {**files, "record": truth["id"]})
    if run.questions:
        run.approve()

    written = [(each["field"], each["observed"], each["recorded"]) for each in loop_world.tickets]
    assert (run.status, written) == _right(truth)


def _right(truth: dict[str, Any]) -> tuple[str, list[tuple[str, str, str]]]:
    if truth["effective"] is None:
        return "insufficient_evidence/evidence_missing", []
    if truth["effective"] == truth["catalogue_effective"]:
        return "succeeded/nothing_to_do", []
    return "succeeded/completed", [("effective", truth["effective"], truth["catalogue_effective"] or "")]
