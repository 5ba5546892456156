"""A secret that must turn up nowhere, a target that repeats it wherever it can, and a look at all places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from state.errors import ToolError
from tests.support.auditor import evidence
from tests.support.run_in_world import RunInWorld
from tests.support.target import Box, SendLetter
from tests.support.world import World
from tools.contract import Call, Receipt
from tools.secrets import Secrets

CANARY = 'canary/41"c0ffee\\7'  # it looks otherwise in JSON, in a URL and in a repr
PART = "c0ffee"
REFERENCE = "secret://BOX_KEY"


class LeakyBox(SendLetter):
    """A tool that repeats its secret in the place that `leaks` names."""

    leaks: ClassVar[str]
    environment: ClassVar[dict[str, str]] = {"REMIT_SECRET_BOX_KEY": CANARY}

    def _key(self) -> str:
        return Secrets(self.environment).reveal(REFERENCE, [])

    def preview(self, arguments: dict[str, Any]) -> dict[str, Any]:
        said = self._key() if self.leaks == "preview" else "a letter"
        return {
            "summary": said,
            "difference": [{"field": said, "recorded": "", "observed": f"?key={quote(said, safe='')}"}],
        }

    def act(self, call: Call) -> Receipt:
        key = self._key()
        if self.leaks == "exception":
            raise ConnectionError(f"no answer to {{'Authorization': {key!r}}}")
        if self.leaks == "cut":
            raise ToolError("refused_by_target", "x" * (4_000 - len(key) // 2) + key)
        if self.leaks == "error":
            raise ToolError("refused_by_target", f"401 for {json.dumps({'key': key})}")
        receipt = super().act(call)
        return Receipt(f"{receipt.object_id} {key}", call.digest) if self.leaks == "receipt" else receipt

    def lookup(self, call: Call) -> Receipt | None:
        if self.leaks == "exception":
            raise ToolError("transient", f"cannot be asked with {self._key()}")
        return super().lookup(call)

    def read_back(self, object_id: str) -> dict[str, Any] | None:
        found = super().read_back(object_id)
        return {**(found or {}), "text": self._key()} if self.leaks == "read-back" else found


def leaky(leaks: str, **more: Any) -> LeakyBox:
    return type("LeakyBox", (LeakyBox,), {"box": Box(), "leaks": leaks, **more})()


def places_with_the_canary(world: World, run: RunInWorld) -> list[str]:
    """Files of the data directory (ledger, business store, checkpoints, their logs), audit, timeline and evidence."""
    said = {
        "evidence": evidence(world, run.run_id),
        "audit": world.audit,
        "events": run.events,
        "result": run.row.result,
    }
    texts = {name: json.dumps(value, ensure_ascii=False) for name, value in said.items()}
    found = [name for name, text in texts.items() if PART in text]
    files = [path for path in Path(world.folder / "data").rglob("*") if path.is_file()]
    return found + [path.name for path in files if PART.encode() in path.read_bytes()]
