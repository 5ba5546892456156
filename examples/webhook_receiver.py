"""A receiver of Remit's messages: checks who sent them, handles each once, and prints what it is told.

    REMIT_SECRET_HOOK_KEY=whsec_... python -m examples.webhook_receiver --port 8712 --db received.sqlite

It needs nothing of Remit's but `service/webhook_signature.py`, which may be copied.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from service.webhook_signature import BadSignature, verify

MAX_BODY = 64 * 1024


class Receiver:
    """Keeps the ids of what it has handled, so that a message that comes again is answered, and not handled again."""

    def __init__(self, path: Path, keys: Sequence[str]) -> None:
        self._keys = keys
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS handled (message_id TEXT PRIMARY KEY, run_id TEXT, seq INTEGER)")

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """The status to answer with: 204 once it is handled, whenever that was; 401 if it is not from Remit."""
        try:
            message_id = verify(headers, body, self._keys)
        except BadSignature:
            return 401
        message = json.loads(body)
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            data = message["data"]
            row = (message_id, data["run_id"], data["seq"])
            if self._db.execute("INSERT OR IGNORE INTO handled VALUES (?, ?, ?)", row).rowcount:
                self.handle(message)  # in the same transaction: what was not handled is not noted either
            self._db.execute("COMMIT")
        return 204

    def handle(self, message: dict[str, Any]) -> None:
        """`seq` orders the messages of a run: they may come in any order."""
        data = message["data"]
        print(f"{data['run_id']} {data['seq']:>3} {message['type']}", flush=True)

    @property
    def handled(self) -> list[str]:
        """The ids of all that was handled."""
        with self._lock:
            return [row[0] for row in self._db.execute("SELECT message_id FROM handled ORDER BY rowid")]


class Handler(BaseHTTPRequestHandler):
    """POST, with a body of known and bounded length."""

    receiver: Receiver

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        status = (
            413 if length > MAX_BODY else self.receiver.receive(dict(self.headers.items()), self.rfile.read(length))
        )
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what is handled is printed."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="webhook_receiver", description=__doc__)
    parser.add_argument("--port", type=int, default=8712)
    parser.add_argument("--db", type=Path, required=True, help="the SQLite file that ids are kept in")
    given = parser.parse_args()
    Handler.receiver = Receiver(given.db, os.environ["REMIT_SECRET_HOOK_KEY"].split())
    ThreadingHTTPServer(("127.0.0.1", given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
