"""Materials: only files that a run was given can be read, whole or not at all; bad ones are refused in words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from state.errors import InputInvalid
from tools.materials import MAX_BYTES, load, record_of_catalog, resolve, text_of_notice

GOOD = "id,title,effective\nr1,Widgets,2026-02-01\n"


def written(path: Path, content: str | bytes) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_a_file_inside_the_root_is_found_by_its_relative_name(tmp_path: Path) -> None:
    written(tmp_path / "notice.md", "x")

    assert resolve("notice.md", "notice", tmp_path) == str(tmp_path / "notice.md")


@pytest.mark.parametrize("given", ["../secret.md", "/etc/hostname", "inside/../../secret.md", "link.md"])
def test_nothing_outside_the_root_is_read(tmp_path: Path, given: str) -> None:
    root = tmp_path / "root"
    (root / "inside").mkdir(parents=True)
    written(tmp_path / "secret.md", "secret")
    (root / "link.md").symlink_to(tmp_path / "secret.md")

    with pytest.raises(InputInvalid, match="outside the folder"):
        resolve(given, "notice", root)


def test_a_file_that_became_a_link_after_the_run_was_accepted_is_not_read(tmp_path: Path) -> None:
    path = resolve(written(tmp_path / "notice.md", "x"), "notice", None)
    written(tmp_path / "secret.md", "secret")
    os.unlink(path)
    Path(path).symlink_to(tmp_path / "secret.md")

    with pytest.raises(InputInvalid, match="leads elsewhere"):
        load(path, "notice")


def test_a_file_of_two_hundred_megabytes_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.md"
    with path.open("wb") as file:
        file.truncate(200 * 1024 * 1024)

    with pytest.raises(InputInvalid, match=f"at most {MAX_BYTES['notice']:,} are read"):
        resolve(str(path), "notice", None)


@pytest.mark.parametrize("given", ["", "  ", "a\0b", "no-such-file", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(InputInvalid):
        resolve(given, "notice", tmp_path)


def test_a_pipe_is_refused_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(InputInvalid, match="not a regular file"):
        resolve("pipe", "notice", tmp_path)


def test_the_content_hash_of_what_was_read_is_recorded(tmp_path: Path) -> None:
    read = text_of_notice(written(tmp_path / "n.txt", "Effective date: March 1, 2026"))

    assert (read["name"], len(read["sha256"])) == ("n.txt", 64)


def test_a_notice_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid):
        text_of_notice(written(tmp_path / "n.md", bytes(range(256)) * 20))


@pytest.mark.parametrize("content", [GOOD, "\ufeff" + GOOD, GOOD.replace("\n", "\r\n"), "\n" + GOOD + "\n\n"])
def test_a_catalogue_is_read_whatever_wrote_it(tmp_path: Path, content: str) -> None:
    read = record_of_catalog(written(tmp_path / "c.csv", content), "r1")

    assert read["record"] == {"id": "r1", "title": "Widgets", "effective": "2026-02-01"}


def test_a_catalogue_in_gb18030_is_read(tmp_path: Path) -> None:
    content = "id,title,effective\nr1,办法,2026-01-01\n".encode("gb18030")

    assert record_of_catalog(written(tmp_path / "c.csv", content), "r1")["record"]["title"] == "办法"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "exactly one column"),
        ("id,date\nr1,2026\n", "exactly one column effective"),
        ("id,effective,id\nr1,2026,r2\n", "exactly one column id"),
        ("id,effective\nr1\n", "line 2: 1 fields where the header has 2"),
        ('id,effective\nr1,"2026\n', "line 2: not CSV"),
        ("id,effective\nr2,2026\n", "has no record 'r1'. It begins with: r2"),
        ("id,effective\nr1,a\nr1,b\n", "has 2 records 'r1'"),
        (b"\xff\xfe\x00\x00", "is not text"),
    ],
)
def test_a_malformed_csv_is_refused_with_its_place(tmp_path: Path, content: str | bytes, words: str) -> None:
    with pytest.raises(InputInvalid, match=words):
        record_of_catalog(written(tmp_path / "c.csv", content), "r1")


@pytest.mark.parametrize(
    "content",
    ['[{"id": "r1", "effective": null}]', '{"records": [{"id": "r1", "effective": ""}], "made": "today"}'],
)
def test_a_json_catalogue_is_a_list_of_objects_or_an_object_that_holds_one(tmp_path: Path, content: str) -> None:
    assert record_of_catalog(written(tmp_path / "c.json", content), "r1")["record"] == {"id": "r1", "effective": ""}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("3", "must be a JSON list"),
        ('{"a": [], "b": []}', "must be a JSON list"),
        ("[3]", "entry 1: an object"),
        ('[{"id": "r1"}]', "entry 1: an object with id and effective"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_malformed_json_is_refused_with_its_place(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(InputInvalid, match=words):
        record_of_catalog(written(tmp_path / "c.json", content), "r1")
