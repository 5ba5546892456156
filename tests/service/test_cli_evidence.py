"""`remit evidence` and `remit audit`: what an auditor takes away, checks and looks up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import Cli, asked


@pytest.fixture
def done(remit: Cli) -> str:
    """The id of a run that made a ticket."""
    said = remit.check()
    remit.json("approve", asked(said)["id"])
    return said.json["run_id"]


@pytest.fixture
def file(remit: Cli, done: str, tmp_path: Path) -> Path:
    """Its evidence."""
    path = tmp_path / "evidence.json"
    assert remit("evidence", done, "--out", str(path)).code == 0
    return path


def test_evidence_is_written_and_verified_with_the_installations_key(remit: Cli, file: Path):
    key = remit.json("evidence", "key").json["key"]

    said, shown = remit.json("evidence", "verify", str(file), "--key", key), remit("evidence", "verify", str(file))

    assert (said.code, said.json["problems"], len(said.json["effects"])) == (0, [], 1)
    assert (shown.code, "which nobody vouches for" in shown.out) == (0, True)
    assert remit.json("evidence", "verify", str(file), "--key", "0" * 64).code == 1


def test_a_changed_document_is_refused_with_its_line(remit: Cli, file: Path):
    file.write_text(file.read_text("utf-8").replace('"answer": "approve"', '"answer": "reject"'), "utf-8")

    said = remit("evidence", "verify", str(file))

    assert said.code == 1
    assert "decisions[1]: it was changed" in said.out


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"sections": {}}', '{"sections": {"run": 3}}', '{"a": 1, "a": 2}']
)
def test_what_is_no_evidence_is_told_so(remit: Cli, tmp_path: Path, content: str):
    (tmp_path / "x.json").write_text(content, "utf-8")

    said = remit.json("evidence", "verify", str(tmp_path / "x.json"))

    assert said.code in {1, 2}
    assert said.code == 1 or said.error == "INPUT_VALIDATION_FAILED"


def test_a_run_that_is_not_there_and_a_user_who_may_not_are_told_so(remit: Cli, done: str):
    assert remit.json("evidence", "nobody").error == "RUN_NOT_FOUND"
    assert remit.json("evidence", done, user="eve").error == "POLICY_DENIED"
    assert remit.json("evidence", done).json["format"] == "remit-evidence/1"


def test_the_audit_is_searched_by_who_what_and_when(remit: Cli, done: str):
    remit.json("cancel", done, user="eve")

    def found(*options: str) -> list[tuple[str, str, str]]:
        entries = remit.json("audit", *options).json["entries"]
        return [(each["actor"], each["action"], each["result"]) for each in entries]

    assert found("--actor", "eve") == [("eve", "run.cancel", "refused")]
    assert found("--object", f"run:{done}", "--action", "run.start") == [("ada", "run.start", "accepted")]
    assert {each[1] for each in found("--action", "grant")} == {"grant.give"}
    assert found("--action", "gran") == found("--since", "2999-01-01") == found("--until", "2000-01-01") == []
    assert found("--since", "1h") == found("--limit", "1000")


def test_who_may_not_read_the_audit_is_told_so_and_that_is_in_it(remit: Cli, done: str):
    assert remit.json("audit", user="eve").error == "POLICY_DENIED"

    (entry,) = remit.json("audit", "--actor", "eve").json["entries"]
    assert (entry["action"], entry["result"]) == ("audit.read", "denied")


@pytest.mark.parametrize("moment", ["yesterday", "7x"])
def test_a_time_that_is_none_is_refused_with_how_to_write_one(remit: Cli, moment: str):
    said = remit.json("audit", "--since", moment)

    assert (said.code, said.error) == (2, "USAGE")
    assert "7d (ago)" in json.dumps(said.json)
