"""A real `langgraph dev` in a folder of its own: started, talked to over HTTP, stopped, killed, and started again.

What the server says is read through its API; what is true is read from the ledger and the business store beside it.
Whatever is waited for has a deadline; nothing sleeps for a fixed time.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from state.approval import Approval, Decision
from state.clock import SystemClock
from state.run import Run
from store import approvals, events
from store.business import BusinessStore
from store.ledger import Ledger

ROOT = Path(__file__).parents[2]
USER = "ada"
DEADLINE_S = 60.0
FIELDS = {"source": "gazette 7", "field": "effective", "observed": "2026-03-01", "recorded": "2026-02-01"}


def until(what: str, holds: Callable[[], Any], every_s: float = 0.05, deadline_s: float = DEADLINE_S) -> Any:
    """The first truthy answer; AssertionError when there was none in time."""
    give_up = time.monotonic() + deadline_s
    while time.monotonic() < give_up:
        answer = holds()
        if answer:
            return answer
        time.sleep(every_s)
    raise AssertionError(f"{what}: not within {deadline_s} s")


class DevServer:
    """One data directory and one port; `start`, `stop` (SIGTERM) and `kill` (SIGKILL) as often as wanted."""

    def __init__(self, folder: Path, **environment: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "langgraph.json", folder)
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "server.log"
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

        more = {"REMIT_DATA_DIR": str(self.data), "REMIT_USER": USER, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
        self._environment = os.environ | more | environment

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "langgraph_cli",
            "dev",
            "--no-reload",
            "--no-browser",
            "--port",
            str(self.port),
        ]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )
        until("the server answers", self._answers)

    def refuses_to_start(self) -> str:
        """What a server says that ends instead of starting."""
        with pytest.raises(AssertionError, match="the server ended"):
            self.start()
        self._process = None
        return self.log.read_text()

    def loses_its_list(self) -> None:
        """What the server knows of threads and runs is gone; what Remit knows is not."""
        shutil.rmtree(self.folder / ".langgraph_api")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the server ended:\n{self.log.read_text()[-4000:]}"
        try:
            return httpx.get(f"{self.url}/ok").status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        """As when somebody presses Ctrl-C or the machine shuts down."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """As when the power fails, for this process."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(DEADLINE_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._process = None

    @contextmanager
    def client(self, headers: dict[str, str] | None = None) -> Iterator[SyncLangGraphClient]:
        with get_sync_client(url=self.url, headers=headers) as client:
            yield client

    # --- runs ---------------------------------------------------------------------------------------------------

    def thread(self, agent_id: str = "ticket", headers: dict[str, str] | None = None) -> RunOnServer:
        """A thread on which nothing has been asked for."""
        with self.client(headers) as client:
            return RunOnServer(self, client.threads.create()["thread_id"], agent_id, headers)

    def ticket(self, **fields: str) -> RunOnServer:
        """Somebody gives a ticket's fields; the run waits for its approval."""
        run = self.thread("ticket")
        run.sends(input=FIELDS | fields)
        assert run.status == "waiting/approval"
        return run

    def command_line(self, *words: str) -> dict[str, Any]:
        """What `remit … --json` says about the same data directory, in a process of its own."""
        command = [sys.executable, "-m", "service.cli", *words, "--json"]
        done = subprocess.run(
            command, cwd=ROOT, env=self._environment, capture_output=True, check=False, timeout=DEADLINE_S
        )
        return json.loads(done.stdout)

    # --- what is true -------------------------------------------------------------------------------------------

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        opened = Ledger(Ledger.database_at(self.data / "ledger.sqlite"), SystemClock())
        try:
            yield opened
        finally:
            opened.database.close()

    def tickets(self, **fields: str) -> list[dict[str, Any]]:
        """The tickets that have these fields."""
        store = BusinessStore(BusinessStore.database_at(self.data / "business.sqlite"), SystemClock())
        try:
            return [each for each in store.objects("ticket") if fields.items() <= each.items()]
        finally:
            store.database.close()


@dataclass
class RunOnServer:
    """One run, on the thread whose id it has, as whoever sends these headers deals with it."""

    server: DevServer
    run_id: str
    agent_id: str
    headers: dict[str, str] | None = None

    def sends(self, **body: Any) -> Any:
        """One run of the server's, waited for: `input=`, `command=`, `config=`, … Raises what the server answers."""
        with self.server.client(self.headers) as client:
            return client.runs.wait(self.run_id, self.agent_id, **body)

    def answers(self, value: Any, **body: Any) -> Any:
        return self.sends(command={"resume": value}, **body)

    def posts(self, **body: Any) -> httpx.Response:
        """As `sends`, but gives the server's response, whatever it is."""
        request = {"assistant_id": self.agent_id, **body}
        url = f"{self.server.url}/threads/{self.run_id}/runs/wait"
        return httpx.post(url, json=request, headers=self.headers, timeout=DEADLINE_S)

    def approve(self, **body: Any) -> Any:
        return self.answers(self.own_answer("approve"), **body)

    def own_answer(self, kind: str) -> dict[str, Any]:
        question = self.question
        return {"decisions": [{"approval_id": question.approval_id, "digest": question.digest, "type": kind}]}

    def thread_is_made_again(self) -> None:
        """What a client does after the server lost its list of threads."""
        with self.server.client(self.headers) as client:
            client.threads.create(thread_id=self.run_id, if_exists="do_nothing", graph_id=self.agent_id)

    # --- then -----------------------------------------------------------------------------------------------------

    @property
    def row(self) -> Run:
        with self.server.ledger() as ledger:
            return ledger.run(self.run_id)

    @property
    def status(self) -> str:
        row = self.row
        return f"{row.status}/{row.reason}" if row.reason else row.status

    @property
    def question(self) -> Approval:
        """The one open question."""
        with self.server.ledger() as ledger:
            (only,) = ledger.facts(self.run_id).questions
            return only

    @property
    def decisions(self) -> list[Decision]:
        """Every decision that was recorded about this run."""
        with self.server.ledger() as ledger, ledger.database.read() as connection:
            asked = approvals.of_run(connection, ledger.tenant, self.run_id)
            return [
                each for one in asked for each in approvals.decisions_of(connection, ledger.tenant, one.approval_id)
            ]

    @property
    def timeline(self) -> list[str]:
        with self.server.ledger() as ledger, ledger.database.read() as connection:
            assert events.first_broken(connection, ledger.tenant, self.run_id) is None
            return [each["type"] for each in events.page(connection, ledger.tenant, self.run_id, 0, 10_000)]

    @property
    def tickets(self) -> list[dict[str, Any]]:
        """The tickets that were asked for under this run's `source`."""
        with self.server.ledger() as ledger:
            task = ledger.task_input(ledger.run(self.run_id))
        return self.server.tickets(source=task["source"])

    def happened(self, event: str) -> int:
        return self.timeline.count(event)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
