"""What a service answers is foreign data: what it does not say plainly is not known, and no secret comes back in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from state.errors import ToolError
from tests.support.ticket_service import TOKEN, VERSIONED, configuration
from tests.support.wire import Wire, call, tool
from tests.support.world import World

ONE_OBJECT = ('items = "items"\n', "")
ONLY_LOOKUP = ("dedups_by_key = true\nlookup", "lookup")


@contextmanager
def answering(says: Callable[[bytes], bytes], status: int = 200) -> Iterator[str]:
    """A service that gives the same answer to whatever comes in."""

    def does(kept: Any) -> None:
        said = says(kept.request())
        kept.sendall(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(said)) + said)

    wire = Wire(does)
    yield f"http://{wire.address}"
    wire.close()


def token_of(request: bytes) -> bytes:
    """What came in as Authorization."""
    (line,) = [each for each in request.split(b"\r\n") if each.lower().startswith(b"authorization:")]
    return line.partition(b": ")[2]


def failure(act: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as raised:
        act()
    return raised.value


@pytest.mark.parametrize("body", ["null", "[]", '""', "0", "false", '"no"', "NaN", ""])
def test_a_found_without_an_object_is_not_a_not_found(tmp_path: Path, body: str) -> None:
    with answering(lambda _: body.encode()) as url:
        create = tool(tmp_path, url, ONE_OBJECT)

        assert failure(lambda: create.lookup(call(create))).error_class == "transient"
        assert failure(lambda: create.read_back("T-1")).error_class == "transient"


@pytest.mark.parametrize("items", [None, [None], [[]], [""], [0], [False], ["x"], {}, [{}], [{"id": None}]])
def test_only_an_empty_list_says_that_there_is_nothing(tmp_path: Path, items: Any) -> None:
    with answering(lambda _: json.dumps({"items": items}).encode()) as url:
        create = tool(tmp_path, url)

        assert failure(lambda: create.lookup(call(create))).error_class == "transient"

    with answering(lambda _: b'{"items": []}') as url:
        create = tool(tmp_path, url)

        assert create.lookup(call(create)) is None


@pytest.mark.parametrize("version", [None, True, 1.0, "3", -1, 2**63, 2**70])
def test_a_version_that_is_no_whole_number_of_63_bits_is_unreadable(tmp_path: Path, version: Any) -> None:
    with answering(lambda _: json.dumps({"version": version}).encode()) as url:
        create = tool(tmp_path, url, *VERSIONED)

        assert failure(lambda: create.resource_version("record:r1")).error_class == "transient"

    with answering(lambda _: b"null") as url:
        create = tool(tmp_path, url, *VERSIONED)

        assert failure(lambda: create.resource_version("record:r1")).error_class == "transient"


# --- secrets ----------------------------------------------------------------------------------------------------


def test_an_object_id_that_repeats_the_secret_is_none(tmp_path: Path) -> None:
    with answering(lambda request: json.dumps({"id": token_of(request).decode()}).encode(), 201) as url:
        create = tool(tmp_path, url, ONE_OBJECT)

        acted = failure(lambda: create.act(call(create)))

    with answering(lambda request: json.dumps({"id": token_of(request).decode()}).encode()) as url:
        looked_up = failure(lambda: tool(tmp_path, url, ONE_OBJECT).lookup(call(create)))

    assert (acted.error_class, looked_up.error_class) == ("unknown_outcome", "transient")
    assert TOKEN not in f"{acted} {looked_up}"


@pytest.mark.parametrize("before", [0, 285, 290, 4078, 4090])
def test_a_secret_is_hidden_before_a_text_is_cut(tmp_path: Path, before: int) -> None:
    for filler in (b" ", b"x"):
        with answering(lambda request, filler=filler: filler * before + token_of(request), 500) as url:
            create = tool(tmp_path, url)

            said = str(failure(lambda create=create: create.act(call(create))))

        assert "canary" not in said


@pytest.mark.parametrize("before", [0, 400, 440, 450])
def test_a_line_that_is_no_http_and_repeats_the_secret_is_not_quoted(tmp_path: Path, before: int) -> None:
    def does(kept: Any) -> None:
        kept.sendall(b"HTTP/1.1 200 OK\r\n" + b"x" * before + token_of(kept.request()) + b"\r\n\r\n")

    wire = Wire(does)
    create = tool(tmp_path, f"http://{wire.address}")
    error = failure(lambda: create.act(call(create)))
    wire.close()

    assert (error.error_class, "canary" in str(error)) == ("unknown_outcome", False)


@pytest.mark.parametrize("status", [201, 200, 500, 422])
def test_a_secret_that_a_service_repeats_everywhere_is_in_no_file_of_ours(loop_world: World, status: int) -> None:
    def says(request: bytes) -> bytes:
        token = token_of(request).decode()
        return json.dumps({"id": token, "items": [{"id": token}], "error": token, "version": token}).encode()

    with answering(says, status) as url:
        loop_world.tools_file = configuration(loop_world.folder, url)
        run = loop_world.check()
        run.approve()
        run.waits_it_out()
        status_of_run = run.status

    kept = [path.read_bytes() for path in (loop_world.folder / "data").rglob("*") if path.is_file()]
    assert (status_of_run == "succeeded/completed", len(kept) > 1) == (False, True)
    assert not any(TOKEN.encode() in each for each in kept)


# --- under our key ----------------------------------------------------------------------------------------------


def test_an_object_that_was_changed_before_it_was_found_is_made_once_and_a_person_settles(loop_world: World) -> None:
    made: list[bytes] = []

    def does(connection: Any) -> None:
        request = connection.request()
        if request.startswith(b"POST"):
            made.append(request)
            return connection.reset()
        found = [{"id": "T-1", "about": {"field": "changed"}}] if made else []
        said = json.dumps({"items": found}).encode()
        return connection.sendall(b"HTTP/1.1 200 X\r\nContent-Length: %d\r\n\r\n" % len(said) + said)

    wire = Wire(does)
    loop_world.tools_file = configuration(loop_world.folder, f"http://{wire.address}", ONLY_LOOKUP)
    first = loop_world.check().approve().waits_it_out()
    second = loop_world.check().approve()
    wire.close()

    assert (first.status, first.effect, second.effect, len(made)) == ("waiting/reconciliation", "unknown", "none", 1)
    assert "T-1 stands under the key" in (first.operations[-1].detail or "")
