"""One HTTP request on a connection of its own, and what is known of it when it fails.

    resolve ── connect ── TLS ──(gate)──> first byte ── … ── status ── body

Up to the gate nothing of the request has left: such a failure is `NotSent`, which proves that nothing happened. After
it everything is `Lost`, whatever broke. The gate is asked once, under a lock, immediately before the first byte; who
cuts the line before it has closed it for ever. Where it cannot be shown that nothing was sent, it counts as sent.

No connection is kept or reused, nothing is repeated, no redirect is followed, no proxy and no credential is taken from
the environment, TLS is verified, and an answer has a bound.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from tools.contract import in_words

POLL_S = 0.02  # how soon a tripped token is noticed
GRACE_S = 1.0  # how long a line that was cut is waited for


@dataclass(frozen=True, slots=True)
class Request:
    """`headers` may hold secrets, so they are not shown."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `body` is None where it could not be read to its end; `why` says why."""

    status: int
    headers: Mapping[str, str]
    body: bytes | None
    why: str = ""


class NotSent(Exception):
    """No byte of the request has left."""


class Lost(Exception):
    """Bytes may have left, and no status came back."""


class _Held(Exception):
    """The gate was closed."""


@dataclass(frozen=True)
class Line:
    """How a target is reached. The TLS context is made once; without https it trusts nobody."""

    secure: bool
    ca_file: str | None
    timeout_s: float
    connect_timeout_s: float
    max_response_bytes: int

    @cached_property
    def tls(self) -> ssl.SSLContext:
        import httpx

        if not self.secure:
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self.ca_file is not None:
            return ssl.create_default_context(cafile=self.ca_file)
        return httpx.create_ssl_context(verify=True, trust_env=False)

    def exchange(self, request: Request, closed: Callable[[], str | None], tripped: Callable[[], str | None]) -> Reply:
        """Raises NotSent, Lost. `closed` says at the gate why nothing may leave; `tripped`, why to stop at any time."""
        return _Exchange(self, request, closed, tripped).outcome()


class _Exchange:
    """One request in a thread of its own, so that whoever waits for it can cut the line."""

    def __init__(
        self, line: Line, request: Request, closed: Callable[[], str | None], tripped: Callable[[], str | None]
    ) -> None:
        self._line = line
        self._request = request
        self._closed = closed
        self._tripped = tripped
        self._lock = threading.Lock()  # the gate: sent and cut exclude each other
        self._sent = False
        self._cut: str | None = None
        self._handle: socket.socket | None = None
        self._reply: Reply | None = None
        self._error: BaseException | None = None
        self._done = threading.Event()

    def outcome(self) -> Reply:
        until = time.monotonic() + self._line.timeout_s
        threading.Thread(target=self._work, name="remit-http", daemon=True).start()
        while not self._done.wait(POLL_S):
            why = self._tripped() or ("time is up" if time.monotonic() > until else None)
            if why is not None:
                self._cut_off(why)
                break
        return self._judged()

    def _judged(self) -> Reply:
        """What is known now. A reply that came in at the last moment is as good as any."""
        if self._cut is not None and self._sent:
            self._done.wait(GRACE_S)
        if self._done.is_set() and self._reply is not None:
            return self._reply
        if self._cut is not None:
            raise (Lost if self._sent else NotSent)(self._cut)
        assert self._error is not None
        raise (NotSent if self._proves_nothing_sent(self._error) else Lost)(_words(self._error)) from None

    def _proves_nothing_sent(self, error: BaseException) -> bool:
        """Two witnesses have to agree: the gate was not passed, and the error is one of connecting."""
        import httpx

        return not self._sent and isinstance(error, _Held | httpx.ConnectError | httpx.ConnectTimeout)

    # --- whoever waits ----------------------------------------------------------------------------------------

    def _cut_off(self, why: str) -> None:
        with self._lock:
            self._cut = why
            if self._handle is not None:
                try:
                    self._handle.shutdown(socket.SHUT_RDWR)
                except OSError:
                    return  # it is gone already

    # --- the thread -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._reply = self._talk()
        except BaseException as error:  # it is judged where it is waited for
            self._error = error
        finally:
            with self._lock:
                if self._handle is not None:
                    self._handle.close()
                    self._handle = None
            self._done.set()

    def _talk(self) -> Reply:
        import httpx

        line, asked = self._line, self._request
        transport = httpx.HTTPTransport(verify=line.tls, trust_env=False, http1=True, http2=False, retries=0)
        timeout = httpx.Timeout(line.timeout_s, connect=line.connect_timeout_s)
        headers = {"accept": "application/json", **asked.headers, "accept-encoding": "identity", "connection": "close"}
        with httpx.Client(transport=transport, trust_env=False, follow_redirects=False, timeout=timeout) as client:
            request = client.build_request(
                asked.method, asked.url, headers=headers, content=asked.body, extensions={"trace": self._trace}
            )
            request.headers.pop("user-agent", None)
            response = client.send(request, stream=True)
            try:
                return self._read(response)
            finally:
                response.close()

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            self._hold(cast(socket.socket, info["return_value"].get_extra_info("socket")))
        elif event == "http11.send_request_headers.started":
            self._pass_the_gate()

    def _hold(self, connected: socket.socket) -> None:
        """A handle of our own on the connection: closing it from another thread cannot hit anybody else's."""
        with self._lock:
            if self._cut is not None:
                connected.close()  # nobody else would
                raise _Held(self._cut)
            self._handle = connected.dup()

    def _pass_the_gate(self) -> None:
        with self._lock:
            why = self._cut or self._tripped() or self._closed()
            if why is not None:
                raise _Held(why)
            self._sent = True

    def _read(self, response: Any) -> Reply:
        import httpx

        headers = {str(name).lower(): str(value) for name, value in response.headers.items()}
        status = int(response.status_code)
        if headers.get("content-encoding", "identity") != "identity":
            return Reply(status, headers, None, "it is encoded, though no encoding was accepted")
        body = bytearray()
        try:
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > self._line.max_response_bytes:
                    return Reply(status, headers, None, f"it is longer than {self._line.max_response_bytes} bytes")
        except (httpx.HTTPError, OSError, ValueError) as error:
            return Reply(status, headers, None, f"it broke off: {_words(error)}")
        return Reply(status, headers, bytes(body))


def _words(error: BaseException) -> str:
    """In words; but without what an error quotes of the lines that were sent or came in: these may hold secrets."""
    import httpx

    if isinstance(error, httpx.LocalProtocolError):
        return type(error).__name__
    said = in_words(error)
    if isinstance(error, httpx.RemoteProtocolError):
        said = ":".join(said.split(":")[:2])
    return said.rstrip(".")
