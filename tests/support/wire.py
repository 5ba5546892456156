"""A server that is nothing but a socket: it does to each connection what a test says, and keeps what came in."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable
from pathlib import Path

from state.clock import Clock, SystemClock
from tests.support.ticket_service import ENVIRONMENT, configuration
from tools.contract import Call, WriteTool
from tools.http_action import http_actions
from tools.secrets import Secrets

Does = Callable[[socket.socket], None]
ARGUMENTS = {
    "source": "gazette 7",
    "source_sha256": "",
    "record": "r1",
    "field": "effective",
    "observed": "2026-03-01",
    "recorded": "2026-02-01",
}


class Wire:
    """Every connection is handed to `does` in a thread; `received` is what came in on each of them."""

    def __init__(self, does: Does, *, backlog: int = 8) -> None:
        self._does = does
        self.received: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                kept = Kept(connection, self.received)
                try:
                    self._does(kept)  # type: ignore[arg-type] - a socket, as far as tests use one
                except OSError:
                    continue  # the other side has gone

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


class Kept:
    """A connection whose bytes are kept."""

    def __init__(self, connection: socket.socket, received: list[bytes]) -> None:
        self.connection = connection
        self._received = received
        self._place = len(received)
        received.append(b"")

    def recv(self, size: int = 65536) -> bytes:
        chunk = self.connection.recv(size)
        self._received[self._place] += chunk
        return chunk

    def sendall(self, data: bytes) -> None:
        self.connection.sendall(data)

    def request(self) -> bytes:
        """One whole request."""
        while not self._whole():
            if not self.recv():
                break
        return self._received[self._place]

    def _whole(self) -> bool:
        head, end, body = self._received[self._place].partition(b"\r\n\r\n")
        if not end:
            return False
        sizes = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
        return len(body) >= (sizes[0] if sizes else 0)

    def reset(self) -> None:
        """Close it so that the other side gets a reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def secured(self, context: ssl.SSLContext) -> Kept:
        secured = Kept(context.wrap_socket(self.connection, server_side=True), self._received)
        return secured


def tool(folder: Path, url: str, *changes: tuple[str, str], clock: Clock | None = None) -> WriteTool:
    """The example's `create_ticket`, written to another address."""
    path = configuration(folder, url, *changes)
    made = http_actions(path, None, Secrets(ENVIRONMENT), clock or SystemClock())  # type: ignore[arg-type]
    return made[0]


def call(of: WriteTool, **more: object) -> Call:
    """A call of `create_ticket` as trusted code makes it."""
    key = of.operation_key(ARGUMENTS) or ""
    return Call("run-1", "op-1", key, "d" * 64, ARGUMENTS, "ada", resource="record:r1", **more)  # type: ignore[arg-type]


class Down:
    """A service that is down: its port is taken and refuses connections, until it comes up in front of another one."""

    def __init__(self) -> None:
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._up = False

    def comes_up(self, url: str) -> None:
        """From now on what is sent here goes to this address, one connection after another."""
        if not self._up:
            self._up = True
            self._listener.listen()
            host, _, port = url.removeprefix("http://").partition(":")
            threading.Thread(target=self._relay, args=((host, int(port)),), daemon=True).start()

    def _relay(self, address: tuple[str, int]) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, socket.create_connection(address) as behind:
                behind.sendall(Kept(connection, []).request())
                while chunk := behind.recv(65536):
                    connection.sendall(chunk)

    def close(self) -> None:
        if self._up:
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
