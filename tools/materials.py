"""Materials: the files that a run was given, and the only files that its tools can open.

A decider names a material ("notice", "catalog"), never a path. The paths are in the run's recorded input, resolved when
the run was accepted. What is read is bounded in size, and its SHA-256 is recorded with it.
"""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from state.digest import Json, plain_text, sha256
from state.errors import InputInvalid, ToolError
from tools.contract import Arguments, Call, ReadTool
from tools.notices import UnreadableNotice, notice_text

MAX_BYTES = {"notice": 512 * 1024, "catalog": 16 * 1024 * 1024}
MAX_CELL = 1000
CATALOG_ENCODINGS = ("utf-8-sig", "gb18030")


def resolve(given: str, material: str, root: Path | None) -> str:
    """The absolute path of a material somebody named. `root` confines it to a folder; None allows any file.

    Raises InputInvalid for a missing file, one that is no regular file, too big, unreadable, or outside the root.
    """
    if not given.strip() or "\0" in given:
        raise InputInvalid(f"No file is given for the {material}.")
    path = Path(os.path.realpath((root or Path.cwd()) / given))
    if str(path) != plain_text(str(path)):
        raise InputInvalid(f"The name of the {material} is not valid text; rename the file.")
    if root is not None and not path.is_relative_to(os.path.realpath(root)):
        raise InputInvalid(f"The {material} {given!r} is outside the folder that runs may read ({root}).")
    load(str(path), material)
    return str(path)


def load(path: str, material: str) -> bytes:
    """The bytes of a resolved material. Never follows a link put there since, never reads more than the limit."""
    limit = MAX_BYTES[material]
    try:
        if os.path.realpath(path) != path:
            raise InputInvalid(f"The {material} {path} leads elsewhere by now; start a new run.")
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if _where(file.fileno(), path) != path:
                raise InputInvalid(f"The {material} {path} leads elsewhere by now; start a new run.")
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputInvalid(f"The {material} {path} is not a regular file.")
            data = file.read(limit + 1) if status.st_size <= limit else b""
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputInvalid(f"The {material} {path} cannot be read: {reason}. Check the path and its rights.") from error
    if status.st_size > limit or len(data) > limit:
        raise InputInvalid(
            f"The {material} {path} has {status.st_size:,} bytes; at most {limit:,} are read."
            " Give the part that matters."
        )
    return data


def _where(descriptor: int, path: str) -> str:
    """Where an open file really is, as far as the system can tell: a folder on the way may have been exchanged."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return path


def text_of_notice(path: str) -> Json:
    """`{material, name, sha256, text}` of a notice. Raises InputInvalid."""
    data = load(path, "notice")
    name = Path(path).name
    try:
        text = notice_text(data, name)
    except UnreadableNotice as error:
        raise InputInvalid(str(error)) from error
    return {"material": "notice", "name": name, "sha256": sha256(data), "text": text}


def record_of_catalog(path: str, record: str) -> Json:
    """`{material, name, sha256, record}` with the one record that has this id. Raises InputInvalid."""
    data = load(path, "catalog")
    name = Path(path).name
    rows = _from_json(data, name) if name.lower().endswith(".json") else _from_csv(data, name)
    found = [row for row in rows if row["id"] == record]
    if not found:
        some = ", ".join(row["id"] for row in rows[:8])
        raise InputInvalid(f"The catalogue {name} has no record {record!r}. It begins with: {some or 'no record'}.")
    if len(found) > 1:
        raise InputInvalid(f"The catalogue {name} has {len(found)} records {record!r}; ids must be unique.")
    unusable = [column for column, cell in found[0].items() if len(cell) > MAX_CELL or cell != plain_text(cell)]
    if unusable:
        raise InputInvalid(
            f"The catalogue {name}, record {record}: {', '.join(unusable)} is longer than {MAX_CELL} characters"
            " or not valid text."
        )
    return {"material": "catalog", "name": name, "sha256": sha256(data), "record": found[0]}


def _decoded(data: bytes, name: str) -> str:
    for encoding in CATALOG_ENCODINGS:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise InputInvalid(f"The catalogue {name} is not text; save it as UTF-8.")


def _from_csv(data: bytes, name: str) -> list[dict[str, str]]:
    """Rows by the names in the first line; every row must have as many fields as it."""
    reader = csv.reader(io.StringIO(_decoded(data, name), newline=""), strict=True)
    rows: list[dict[str, str]] = []
    header: list[str] = []
    try:
        for fields in reader:
            if not fields or not any(value.strip() for value in fields):
                continue
            if not header:
                header = [column.strip().lower() for column in fields]
                _check_header(header, name)
                continue
            if len(fields) != len(header):
                raise InputInvalid(
                    f"The catalogue {name}, line {reader.line_num}:"
                    f" {len(fields)} fields where the header has {len(header)}."
                )
            rows.append(dict(zip(header, (value.strip() for value in fields), strict=True)))
    except csv.Error as error:
        raise InputInvalid(f"The catalogue {name}, line {reader.line_num}: not CSV ({error}).") from error
    _check_header(header, name)
    return rows


def _check_header(header: list[str], name: str) -> None:
    missing = [column for column in ("id", "effective") if header.count(column) != 1]
    if missing:
        raise InputInvalid(
            f"The catalogue {name} needs exactly one column {' and one '.join(missing)} in its first line."
        )


def _from_json(data: bytes, name: str) -> list[dict[str, str]]:
    """A list of objects, or an object with such a list as its only value; `id` and `effective` are needed."""
    try:
        value = json.loads(_decoded(data, name))
    except (ValueError, RecursionError) as error:
        raise InputInvalid(f"The catalogue {name} is not JSON: {error}.") from error
    if isinstance(value, dict):
        lists = [cast(list[Any], each) for each in cast(Json, value).values() if isinstance(each, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list):
        raise InputInvalid(f"The catalogue {name} must be a JSON list of objects with id and effective.")
    return [_json_row(each, position, name) for position, each in enumerate(cast(list[Any], value), start=1)]


def _json_row(value: Any, position: int, name: str) -> dict[str, str]:
    if not isinstance(value, dict) or not {"id", "effective"} <= cast(dict[str, Any], value).keys():
        raise InputInvalid(f"The catalogue {name}, entry {position}: an object with id and effective is needed.")
    row: dict[str, str] = {}
    for key, each in cast(dict[str, Any], value).items():
        if isinstance(each, dict | list):
            continue  # nested values are not part of what is compared
        row[key] = "" if each is None else str(each).strip()
    return row


class NoticeArguments(Arguments):
    """The notice is the only material of its kind; nothing is to be chosen."""


class ReadNotice(ReadTool):
    """The text of the notice that the run was given."""

    name = "read_notice"
    version = "1"
    description = "Read the text of the notice that this run was given."
    arguments = NoticeArguments
    ends_with_its_call = True

    def read(self, call: Call) -> Json:
        return _as_tool(lambda: text_of_notice(_given(call, "notice")))


class RecordArguments(Arguments):
    """Which record of the catalogue."""

    record: str = Field(min_length=1, max_length=200, description="id of the record")


class ReadRecord(ReadTool):
    """One record of the catalogue that the run was given."""

    name = "read_record"
    version = "1"
    description = "Read one record of the catalogue that this run was given, by its id."
    arguments = RecordArguments
    ends_with_its_call = True

    def read(self, call: Call) -> Json:
        return _as_tool(lambda: record_of_catalog(_given(call, "catalog"), call.arguments["record"]))


def _given(call: Call, material: str) -> str:
    path = call.task.get(material)
    if not isinstance(path, str):
        raise ToolError("invalid_arguments", f"This run was not given a {material}.")
    return path


def _as_tool(read: Any) -> Json:
    try:
        return read()
    except InputInvalid as error:
        raise ToolError("refused_by_target", str(error)) from error
