"""The receiver of `examples/` as a process of its own, told how to fail, and asked what came in.

`python -m tests.support.hook_receiver FILE` prints its address. Keys come from the environment.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from examples.webhook_receiver import Handler, Receiver
from service.webhook_signature import BadSignature, verify

ROOT = Path(__file__).parents[2]


def a_key(letter: str) -> str:
    """A signing key that can be searched for."""
    return "whsec_" + base64.b64encode(f"canary-key-{letter}-".encode() + b"x" * 20).decode()


KEY, OLD_KEY = a_key("new"), a_key("old")
SECRETS = {"REMIT_SECRET_HOOK_KEY": KEY, "REMIT_SECRET_OLD_HOOK_KEY": OLD_KEY}


class Faulty(Handler):
    """Each call takes the next fault, if there is one: `status`, `hang`, `cut`, `lose` (handled, and then cut), `half`
    (handled, and cut after the status).
    """

    calls: list[dict[str, Any]]
    faults: list[dict[str, Any]]
    lock = threading.Lock()

    def do_GET(self) -> None:  # noqa: N802
        found = {"/calls": self.calls, "/handled": self.receiver.handled}.get(self.path)
        self._answer(404 if found is None else 200, json.dumps(found).encode())
        if self.path not in {"/calls", "/handled"}:
            self.calls.append({"path": self.path})

    def do_PUT(self) -> None:  # noqa: N802
        self.faults[:] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(204)

    def do_DELETE(self) -> None:  # noqa: N802
        self.faults.clear()
        self.calls.clear()
        self._answer(204)

    def do_POST(self) -> None:  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.lock:
            fault = self.faults.pop(0) if self.faults else {}
            self.calls.append(self._noted(body))
        how = fault.get("how")
        if how == "hang":
            while self.connection.recv(1, socket.MSG_PEEK):
                time.sleep(0.01)
        if how == "status":
            return self._answer(fault["status"], fault.get("body", "").encode(), fault.get("headers"))
        status = 0 if how in {"cut", "hang"} else self.receiver.receive(dict(self.headers.items()), body)
        if how == "half":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
        if how is None:
            return self._answer(status)
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def _noted(self, body: bytes) -> dict[str, Any]:
        named = {name: self.headers.get(f"webhook-{name}") for name in ("id", "timestamp", "signature")}
        return {"path": self.path, **named, "body": body.decode(), "valid": self._valid(body)}

    def _valid(self, body: bytes) -> list[bool]:
        """Under the new key, and under the old one."""
        found: list[bool] = []
        for key in (KEY, OLD_KEY):
            try:
                verify(dict(self.headers.items()), body, [key])
                found.append(True)
            except BadSignature:
                found.append(False)
        return found

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class HookReceiver:
    """One process on loopback; `fresh` makes it as good as new, but for the ids that it has handled."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.support.hook_receiver", str(folder / "received.sqlite")]
        environment = os.environ | SECRETS | {"PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def fresh(self) -> HookReceiver:
        self._ask("DELETE", "/")
        return self

    def will(self, *faults: dict[str, Any]) -> None:
        """To the next calls, in this order."""
        self._ask("PUT", "/", faults)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Every POST, in order: id, timestamp, signature, body, and under which of the two keys it is valid."""
        return self._ask("GET", "/calls")

    @property
    def types(self) -> list[str]:
        """Of the messages that came in."""
        return [json.loads(each["body"])["type"] for each in self.calls]

    def times_handled(self, message_id: str) -> int:
        return self._ask("GET", "/handled").count(message_id)

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.url + path, data, method=method), timeout=15) as answer:
            said = answer.read()
        return json.loads(said) if said else None


def main(path: str) -> None:
    Faulty.receiver, Faulty.calls, Faulty.faults = Receiver(Path(path), [KEY, OLD_KEY]), [], []
    Faulty.receiver.handle = lambda message: None  # type: ignore[method-assign] - standard output is for the address
    server = ThreadingHTTPServer(("127.0.0.1", 0), Faulty)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
