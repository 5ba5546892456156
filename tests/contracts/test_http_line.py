"""What is known of a failed request follows from where it broke: nothing was sent, or the outcome is unknown."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from state.clock import Permit
from state.errors import ToolError
from tests.support.clock import ManualClock
from tests.support.wire import Kept, Wire, call, tool
from tools.contract import CancelToken

OK = b'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{"id": "T-1"}'
SHORT = (("timeout_s = 5", "timeout_s = 0.3"), ("connect_timeout_s = 2", "connect_timeout_s = 0.2"))
Listens = Callable[..., Wire]


@pytest.fixture
def listens() -> Iterator[Listens]:
    """Starts servers that do this to every connection."""
    started: list[Wire] = []

    def start(does: Callable[[Kept], None], **more: Any) -> Wire:
        started.append(Wire(does, **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for each in started:
        each.close()


def failure(act: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as raised:
        act()
    return raised.value


def answers(data: bytes) -> Callable[[Kept], None]:
    """The request is read, and this is all that comes back."""

    def does(connection: Kept) -> None:
        connection.request()
        connection.sendall(data)

    return does


def hangs(connection: Kept) -> None:
    """The request is read, and the connection held until the other side leaves."""
    connection.request()
    while connection.recv():
        pass


def resets_in_the_headers(connection: Kept) -> None:
    connection.recv(10)
    connection.reset()


CUTS: dict[str, Callable[[Kept], None]] = {
    "closed when it was accepted": lambda connection: None,
    "reset in the middle of the headers": resets_in_the_headers,
    "closed after the request": answers(b""),
    "closed in the status line": answers(b"HTTP/1.1 20"),
    "closed in the headers": answers(b"HTTP/1.1 201 Created\r\ncontent-le"),
    "closed in the body": answers(OK[:-4]),
    "an interim answer and no more": answers(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "no HTTP at all": answers(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "no JSON": answers(b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok"),
    "no id": answers(b'HTTP/1.1 201 Created\r\ncontent-length: 11\r\n\r\n{"id":null}'),
    "an encoding that was not accepted": answers(OK.replace(b"content-type", b"content-encoding: gzip\r\nx")),
    "a success that is not declared": answers(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "a server error that is not declared": answers(b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n"),
    "a gateway's error": answers(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"),
    "a redirect": answers(b"HTTP/1.1 307 There\r\nlocation: /tickets\r\ncontent-length: 0\r\n\r\n"),
}


@pytest.mark.parametrize("cut", CUTS)
def test_whatever_breaks_after_the_connection_stood_leaves_the_outcome_unknown(
    listens: Listens, tmp_path: Path, cut: str
) -> None:
    wire = listens(CUTS[cut])
    create = tool(tmp_path, f"http://{wire.address}")

    error = failure(lambda: create.act(call(create)))

    assert (error.error_class, len(wire.received)) == ("unknown_outcome", 1)


def test_an_answer_that_is_too_long_leaves_the_outcome_unknown(listens: Listens, tmp_path: Path) -> None:
    wire = listens(answers(b"HTTP/1.1 201 Created\r\ncontent-length: 900000\r\n\r\n" + b" " * 900_000))
    create = tool(tmp_path, f"http://{wire.address}")

    error = failure(lambda: create.act(call(create)))

    assert (error.error_class, "longer than 262144 bytes" in str(error)) == ("unknown_outcome", True)


def test_a_status_that_refuses_counts_even_if_its_body_breaks_off(listens: Listens, tmp_path: Path) -> None:
    wire = listens(answers(b"HTTP/1.1 422 No\r\ncontent-length: 100\r\n\r\nbecause"))
    create = tool(tmp_path, f"http://{wire.address}")

    assert failure(lambda: create.act(call(create))).error_class == "refused_by_target"


def test_a_target_that_does_not_answer_in_time_leaves_the_outcome_unknown(listens: Listens, tmp_path: Path) -> None:
    wire = listens(hangs)
    create = tool(tmp_path, f"http://{wire.address}", *SHORT)

    assert failure(lambda: create.act(call(create))).error_class == "unknown_outcome"


def test_a_target_that_answers_drop_by_drop_is_given_a_time_in_all(listens: Listens, tmp_path: Path) -> None:
    left = threading.Event()

    def drips(connection: Kept) -> None:
        connection.request()
        while not left.wait(0.02):
            connection.sendall(b"H")

    create = tool(tmp_path, f"http://{listens(drips).address}", *SHORT)
    error = failure(lambda: create.act(call(create)))
    left.set()

    assert (error.error_class, "time is up" in str(error)) == ("unknown_outcome", True)


# --- nothing was sent -------------------------------------------------------------------------------------------


def nobody() -> str:
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "https://nobody.invalid", "https://127.0.0.1:{port}"])
def test_where_nobody_can_be_reached_nothing_was_done(tmp_path: Path, url: str) -> None:
    create = tool(tmp_path, url.format(port=nobody().partition(":")[2]), *SHORT)

    error = failure(lambda: create.act(call(create)))

    assert (error.error_class, "Nothing was sent" in str(error)) == ("transient", True)


def test_a_connection_that_is_never_accepted_times_out_before_anything_is_sent(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.create_connection(full.getsockname()):
        waiting = socket.socket()
        waiting.setblocking(False)
        waiting.connect_ex(full.getsockname())
        create = tool(tmp_path, f"http://127.0.0.1:{full.getsockname()[1]}", *SHORT)

        error = failure(lambda: create.act(call(create)))
        waiting.close()

    assert (error.error_class, "Nothing was sent" in str(error)) == ("transient", True)


def test_a_handshake_that_fails_sends_nothing_of_the_request(listens: Listens, tmp_path: Path) -> None:
    wire = listens(lambda connection: connection.recv() and connection.sendall(b"HTTP/1.1 400 Bad\r\n\r\n"))
    create = tool(tmp_path, f"https://{wire.address}")

    error = failure(lambda: create.act(call(create)))

    assert (error.error_class, b"POST" in wire.received[0]) == ("transient", False)


def test_a_token_that_is_tripped_while_connecting_lets_nothing_out(listens: Listens, tmp_path: Path) -> None:
    token = CancelToken()

    def trips_it(connection: Kept) -> None:
        token.trip("cancel")
        while connection.recv():
            pass

    wire = listens(trips_it)
    create = tool(tmp_path, f"https://{wire.address}")

    error = failure(lambda: create.act(call(create, token=token)))

    assert (error.error_class, str(error)) == ("transient", f"Nothing was sent to https://{wire.address}: cancel.")


@pytest.mark.parametrize(("tripped", "said"), [(True, "cancel"), (False, "the permit of this call has run out")])
def test_without_a_permit_or_with_a_tripped_token_nothing_leaves(
    listens: Listens, tmp_path: Path, tripped: bool, said: str
) -> None:
    clock, token, wire = ManualClock(), CancelToken(), listens(hangs)
    create = tool(tmp_path, f"http://{wire.address}", clock=clock)
    permit = Permit.of(clock, 10)
    if tripped:
        token.trip("cancel")
    else:
        clock.passes(seconds=6)  # what leaves now may still be at work when the permit is over

    error = failure(lambda: create.act(call(create, token=token, permit=permit)))

    assert (error.error_class, said in str(error), b"".join(wire.received)) == ("transient", True, b"")


# --- and after that ---------------------------------------------------------------------------------------------


def test_a_token_that_is_tripped_after_bytes_left_cuts_the_line_and_the_outcome_is_unknown(
    listens: Listens, tmp_path: Path
) -> None:
    token, left = CancelToken(), threading.Event()

    def waits(connection: Kept) -> None:
        connection.request()
        token.trip("cancel")
        while connection.recv():
            pass
        left.set()

    create = tool(tmp_path, f"http://{listens(waits).address}")

    error = failure(lambda: create.act(call(create, token=token)))

    assert (error.error_class, left.wait(5)) == ("unknown_outcome", True)


def test_every_call_has_a_connection_of_its_own(listens: Listens, tmp_path: Path) -> None:
    wire = listens(answers(OK))
    create = tool(tmp_path, f"http://{wire.address}")

    made = [create.act(call(create)).object_id for _ in range(2)]

    assert (made, len(wire.received)) == (["T-1", "T-1"], 2)
    assert all(b"connection: close" in each.lower() for each in wire.received)
