"""A letter box that outlives every process: what reached it is in a file, on disk before anybody is answered.

A new process finds it as it is; what was to befall the first calls does not befall later ones again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from state.clock import Clock
from tests.support.target import Box
from tools.contract import Call, Receipt


class FileBox(Box):
    """`slow_s` is for how long a letter that arrived stays invisible to whoever looks it up."""

    def __init__(self, path: Path, clock: Clock, *, slow_s: int = 0, **told: Any) -> None:
        super().__init__(**told)
        self.digests: dict[str, str] = {}  # of each letter, by its id
        self.keys: list[str] = []  # of each letter
        self._path = path
        self._clock = clock
        self._slow_ms = slow_s * 1000
        self._came: dict[str, int] = {}
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            self._hold(json.loads(line))
        del self.before[: len(self.calls)]
        del self.answers[: len(self.letters)]

    def called(self, call: Call) -> None:
        self._write({"call": call.key})

    def keep(self, call: Call, receipt: Receipt) -> None:
        at = self._clock.now()
        self._write(
            {"letter": call.key, "to": call.arguments["to"], "id": receipt.object_id, "digest": call.digest, "at": at}
        )

    def find(self, key: str) -> Receipt | None:
        if key in self._came and self._clock.now() < self._came[key] + self._slow_ms:
            return None
        return super().find(key)

    def _write(self, line: dict[str, Any]) -> None:
        with open(self._path, "ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._hold(line)

    def _hold(self, line: dict[str, Any]) -> None:
        if "call" in line:
            self.calls.append(line["call"])
            return
        key, digest = line["letter"], line["digest"]
        self.letters.append(line["to"])
        self.keys.append(key)
        self.digests[line["id"]] = digest
        self.receipts[key] = Receipt(line["id"], digest)
        self._came[key] = line["at"]
