"""`remit prune`: what it says, and what is said of a run that it removed."""

from __future__ import annotations

import pytest

from tests.support.cli import Cli


@pytest.fixture
def gone(remit: Cli) -> str:
    """The id of a run that has ended."""
    run_id = remit.check("r2").json["run_id"]
    assert remit.json("show", run_id).json["status"] == "succeeded"
    return run_id


def test_what_is_young_stays(remit: Cli, gone: str):
    said = remit.json("prune")

    assert (said.code, said.json["counts"]["runs"]) == (0, 0)
    assert remit("prune").out.startswith("No run that ended before ")
    assert remit.json("show", gone).code == 0


def test_a_dry_run_says_what_would_go(remit: Cli, gone: str):
    said, shown = (
        remit.json("prune", "--older-than", "0s", "--dry-run"),
        remit("prune", "--older-than", "0s", "--dry-run"),
    )

    assert (said.json["dry_run"], said.json["counts"]["runs"]) == (True, 1)
    assert "would go" in shown.out
    assert remit.json("show", gone).code == 0


def test_of_a_pruned_run_is_said_that_it_was_pruned(remit: Cli, gone: str):
    lines = len(remit.json("events", gone).json["events"])

    assert remit.json("prune", "--older-than", "0s").json["counts"]["runs"] == 1

    for command in ("show", "events", "resume", "cancel"):
        said = remit.json(command, gone)
        assert (said.code, said.error) == (2, "RUN_NOT_FOUND")
        assert f"by ada; its timeline had {lines} lines" in said.json["error"]["message"]
    assert "pruned" not in remit.json("show", "nobody").json["error"]["message"]
    assert remit.json("show").json["runs"] == []


def test_whoever_may_not_is_told_what_is_missing(remit: Cli, gone: str):
    said = remit.json("prune", "--older-than", "0s", user="bob")

    assert (said.code, said.error) == (2, "POLICY_DENIED")
    assert "remit grants give bob prune" in said.json["error"]["message"]
    assert remit.json("show", gone).code == 0


@pytest.mark.parametrize("age", ["yesterday", "-1d", "90"])
def test_an_age_that_is_none_is_refused(remit: Cli, age: str):
    said = remit.json("prune", f"--older-than={age}")

    assert (said.code, said.error) == (2, "USAGE")
