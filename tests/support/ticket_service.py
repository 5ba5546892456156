"""The ticket service of `examples/`, as a process of its own: told how to misbehave, and asked what came in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from state.digest import sha256

if TYPE_CHECKING:
    import httpx

ROOT = Path(__file__).parents[2]
CONFIGURATION = ROOT / "examples" / "ticket_service" / "remit-tools.toml"
TOKEN = "canary-7f3e9a"
ENVIRONMENT = {"REMIT_SECRET_TICKETS_TOKEN": TOKEN}

# Changes of the example's configuration: where create_ticket's answers end, and a write for a version of its record.
END_OF_CREATE = "key_conflict = [409]\nretryable = [429, 503]\n\n[tools.write.body]"
VERSIONED = (
    ('id = "{record}"\n', 'id = "{record}"\nversion = { url = "/records/{call.resource_id}" }\n'),
    (
        END_OF_CREATE,
        'resource_changed = [412]\nheaders = { If-Match = "{call.resource_version}" }\n' + END_OF_CREATE,
    ),
)


def configuration(folder: Path, url: str, *changes: tuple[str, str]) -> Path:
    """The example's configuration for a service at another address, with some of its text changed."""
    text = CONFIGURATION.read_text("utf-8")
    for old, new in (("http://127.0.0.1:8711", url), *changes):
        assert old in text, old
        text = text.replace(old, new)
    path = folder / f"tools-{sha256(text.encode())[:12]}.toml"
    path.write_text(text, "utf-8")
    return path


class TicketService:
    """One process on loopback; `fresh` makes it as good as new."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        program = [sys.executable, "-m", "examples.ticket_service"]
        command = [*program, "--port", "0", "--db", str(folder / "tickets.sqlite")]
        environment = os.environ | {"TICKET_SERVICE_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self._client = _client(self.url)

    def stop(self) -> None:
        self._client.close()
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    # --- given ----------------------------------------------------------------------------------------------

    def fresh(self) -> TicketService:
        self._client.delete("/control").raise_for_status()
        return self

    def is_told(self, **behaviour: Any) -> None:
        self._client.put("/control", json=behaviour).raise_for_status()

    def will(self, how: str, on: str = "create", when: str = "before", **more: Any) -> None:
        """One fault, once: `status` (with `status=`), `lose`, `half` or `hang`."""
        self.is_told(faults=[{"on": on, "when": when, "how": how, **more}])

    def configuration(self, *changes: tuple[str, str], url: str | None = None) -> Path:
        """The example's configuration for this process, with some of its text changed."""
        return configuration(self._folder, url or self.url, *changes)

    # --- then -----------------------------------------------------------------------------------------------

    @property
    def tickets(self) -> list[dict[str, Any]]:
        return self._client.get("/control/tickets").json()["tickets"]

    def calls(self, on: str | None = None) -> list[dict[str, Any]]:
        """Every call that came in; only those of one kind, where it is named."""
        return [each for each in self._client.get("/control/calls").json()["calls"] if on in (None, each["what"])]

    def waits_for_calls(self, number: int) -> None:
        """Until so many calls have come in."""
        self._client.get("/control/calls", params={"at_least": number}).raise_for_status()

    @property
    def keys(self) -> set[str]:
        """The keys that creations came with."""
        return {each["key"] for each in self.calls("create")}


def _client(url: str) -> httpx.Client:
    import httpx  # most tests need neither it nor the service

    return httpx.Client(base_url=url, timeout=15, trust_env=False)
