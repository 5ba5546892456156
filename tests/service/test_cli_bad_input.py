"""Bad input to the command line: a clear message, an exit code, never a traceback, and nothing half-written."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from tests.support.cli import CATALOGUE, TICKET, Cli, asked

MEGABYTE = 1024 * 1024


def refused(remit: Cli, code: str, *arguments: str, user: str = "ada") -> str:
    """The message of a refusal, which is the same as JSON and in words."""
    machine = remit.json(*arguments, user=user)
    human = remit(*arguments, user=user)

    message = machine.json["error"]["message"]
    assert (machine.code, machine.error, machine.err) == (2, code, "")
    assert (human.code, human.out) == (2, "")
    assert human.err.startswith("remit: ")
    assert "Traceback" not in human.err + message
    return message


def check(remit: Cli, **files: str) -> tuple[str, ...]:
    given = {"notice": remit.notice, "catalog": remit.catalog, "record": "r1"} | files
    options = [part for name, value in given.items() for part in (f"--{name}", value)]
    return ("run", "catalog-check", *options, "--engine", "loop")


def nothing_was_written(remit: Cli) -> bool:
    return remit.json("show").json["runs"] == [] and remit.json("tickets", "list").json["tickets"] == []


def test_a_missing_file_is_named(remit: Cli):
    message = refused(remit, "INPUT_VALIDATION_FAILED", *check(remit, notice="no-such-file.md"))

    assert "no-such-file.md" in message
    assert nothing_was_written(remit)


@pytest.mark.parametrize(
    ("material", "name", "content", "says"),
    [
        ("notice", "notice.md", b"\x89PNG\r\n\x1a\n\x00\x00\xff\xd8", "notice.md"),
        ("catalog", "catalog.csv", b"id,effective\nr1,\x81\x00\n", "not text"),
        ("catalog", "catalog.csv", b'id,effective\nr1,"2026-01-01\n', "not CSV"),
        ("catalog", "catalog.csv", b"id,effective\nr1,2026-01-01,more\n", "3 fields where the header has 2"),
        ("catalog", "catalog.csv", b"name,date\nr1,2026-01-01\n", "id"),
        ("catalog", "catalog.csv", b"", "id"),
        ("catalog", "catalog.json", b'[{"id": "r1", "effective": ', "not JSON"),
        ("catalog", "catalog.json", b'{"id": "r1"}', "list of objects"),
        ("catalog", "catalog.json", b"[" * 100_000, "not JSON"),
    ],
)
def test_a_malformed_file_is_named_with_what_is_wrong(remit: Cli, material: str, name: str, content: bytes, says: str):
    message = refused(remit, "INPUT_VALIDATION_FAILED", *check(remit, **{material: remit.file(name, content)}))

    assert says in message
    assert nothing_was_written(remit)


def test_a_record_that_is_not_in_the_catalogue_is_named_with_some_that_are(remit: Cli):
    message = refused(remit, "INPUT_VALIDATION_FAILED", *check(remit, record="r9"))

    assert "'r9'" in message
    assert "r1, r2" in message


@pytest.mark.parametrize("material", ["notice", "catalog"])
def test_a_huge_file_is_refused_without_reading_it(remit: Cli, material: str):
    path = remit.file("huge.csv", CATALOGUE)
    os.truncate(path, 200 * MEGABYTE)

    message = refused(remit, "INPUT_VALIDATION_FAILED", *check(remit, **{material: path}))

    assert "209,715,200 bytes" in message
    assert nothing_was_written(remit)


def test_a_folder_is_no_file(remit: Cli):
    assert "Is a directory" in refused(remit, "INPUT_VALIDATION_FAILED", *check(remit, notice=str(remit.folder)))


def test_a_name_that_is_no_text_is_refused(remit: Cli):
    assert "UTF-8" in refused(remit, "INPUT_VALIDATION_FAILED", *check(remit, notice="bad\udcff.md"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "catalog-check"),
        ("run", "nothing"),
        ("run", "ticket", *TICKET, "--engine", "temporal"),
        ("events", "x", "--after", "-1"),
        ("show", "--limit", "many"),
        ("edit", "x"),
        ("nonsense",),
    ],
)
def test_wrong_usage_says_where_the_help_is(remit: Cli, arguments: tuple[str, ...]):
    assert "--help" in refused(remit, "USAGE", *arguments)


@pytest.mark.parametrize("command", ["show", "events", "cancel", "pause", "resume"])
def test_an_unknown_run_is_named(remit: Cli, command: str):
    assert "'nope'" in refused(remit, "RUN_NOT_FOUND", command, "nope")


@pytest.mark.parametrize("arguments", [("approve", "nope"), ("reject", "nope"), ("edit", "nope", "--set", "a=b")])
def test_an_unknown_approval_is_named(remit: Cli, arguments: tuple[str, ...]):
    assert "'nope'" in refused(remit, "APPROVAL_NOT_FOUND", *arguments)


def test_approving_twice_is_refused_and_changes_nothing(remit: Cli):
    approval = asked(remit.check())["id"]
    remit.json("approve", approval, "--no-drive")

    message = refused(remit, "APPROVAL_ALREADY_DECIDED", "approve", approval)
    refused(remit, "APPROVAL_ALREADY_DECIDED", "reject", approval)

    assert "approve by ada" in message


def test_an_answer_about_another_digest_is_refused_and_the_question_stays(remit: Cli):
    approval = asked(remit.check())["id"]

    refused(remit, "APPROVAL_DIGEST_MISMATCH", "approve", approval, "--digest", "0" * 64)

    assert [each["id"] for each in remit.json("approvals").json["approvals"]] == [approval]


def test_somebody_without_permission_cannot_approve(remit: Cli):
    approval = asked(remit.check())["id"]

    message = refused(remit, "NOT_AN_APPROVER", "approve", approval, user="eve")

    assert "eve" in message
    assert remit.json("tickets", "list").json["tickets"] == []
    assert remit.json("audit").json["entries"][-1]["result"] == "refused"


def test_somebody_without_permission_cannot_start(remit: Cli):
    remit.json("show")

    message = refused(remit, "POLICY_DENIED", "run", "ticket", *TICKET, "--engine", "loop", user="eve")

    assert "remit grants give eve start ticket" in message
    assert nothing_was_written(remit)


@pytest.mark.parametrize(
    "change",
    [
        ("--set", "no-value"),
        ("--set", "=x"),
        ("--arguments", "{"),
        ("--arguments", "[1]"),
        ("--arguments", "[" * 10_000),
    ],
)
def test_an_edit_that_cannot_be_read_is_refused(remit: Cli, change: tuple[str, str]):
    approval = asked(remit.check())["id"]

    refused(remit, "USAGE", "edit", approval, *change)

    assert len(remit.json("approvals").json["approvals"]) == 1


@pytest.mark.parametrize("change", ["approved=true", "observed=2027-01-01", "colour=red"])
def test_an_edit_that_does_not_hold_is_refused_and_the_question_stays(remit: Cli, change: str):
    approval = asked(remit.check())["id"]

    refused(remit, "INPUT_VALIDATION_FAILED", "edit", approval, "--set", change)

    assert len(remit.json("approvals").json["approvals"]) == 1


@pytest.mark.parametrize("which", ["ledger", "business"])
def test_a_database_from_a_newer_version_is_left_alone(remit: Cli, which: str):
    remit.json("show")
    path = remit.data / f"{which}.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    before = path.read_bytes()  # complete: whoever closes a database last writes its log into it

    assert "newer Remit" in refused(remit, "MIGRATION_REQUIRED", "show")
    assert "newer Remit" in refused(remit, "MIGRATION_REQUIRED", "db", "upgrade")
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_left_alone(remit: Cli):
    remit.data.mkdir()
    path = remit.data / "ledger.sqlite"
    path.write_bytes(b"this is a letter, not a database" * 100)

    refused(remit, "DEPENDENCY_UNAVAILABLE", "show")

    assert path.read_bytes().startswith(b"this is a letter")


def unwritable_folders(tmp_path: Path) -> list[Path]:
    """Folders nobody can make or write, not even root: below a file, and in a file system that takes no files."""
    (tmp_path / "file").write_text("a file")
    return [tmp_path / "file" / "data", Path("/proc/remit")]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("arguments", [("show",), ("run", "ticket", *TICKET), ("db", "upgrade")])
def test_a_data_directory_that_cannot_be_written_is_named(
    remit: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, which: int, arguments: tuple[str, ...]
):
    folder = unwritable_folders(tmp_path)[which]
    monkeypatch.setenv("REMIT_DATA_DIR", str(folder))

    assert str(folder) in refused(remit, "DEPENDENCY_UNAVAILABLE", *arguments)
    assert not folder.exists()


def test_a_data_directory_that_takes_no_more_files_is_named(remit: Cli):
    remit.json("show")
    owners = remit.data / "owners"
    for file in owners.iterdir():
        file.unlink()
    owners.rmdir()
    owners.write_text("a file where a folder should be")

    assert str(remit.data) in refused(remit, "DEPENDENCY_UNAVAILABLE", "show")


def test_an_unknown_mode_is_refused(remit: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REMIT_MODE", "service")

    assert "REMIT_MODE" in refused(remit, "INPUT_VALIDATION_FAILED", "show")
