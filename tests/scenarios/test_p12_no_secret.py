"""P12: The timeline is complete, ordered and gap-free per run, holds no secret, and is enough to explain every effect.

A canary is put where secrets are, targets repeat it wherever they can, and it turns up nowhere.
"""

from __future__ import annotations

import http.server
import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphs.wiring import shipped_tools
from state.errors import ToolError
from tests.support.canary import CANARY, PART, LeakyBox, leaky, places_with_the_canary
from tests.support.run_in_world import RunInWorld
from tests.support.target import letters
from tests.support.world import NOTE_AGENT, World, final
from tools.secrets import Secrets, redacted, redacted_end

LEAKS = ("error", "exception", "cut", "receipt", "preview", "read-back")


def with_a_leaky_box(world: World, leaks: str) -> RunInWorld:
    tool = leaky(leaks)
    world.outside = replace(world.outside, tools=lambda *stores: [*shipped_tools(*stores), tool])
    world.agent_has(tools=(*NOTE_AGENT.tools, tool.id))
    world.decider_says(letters("bob"), final())
    return world.noter().approve()


@pytest.mark.parametrize("leaks", LEAKS)
def test_a_secret_that_a_target_repeats_is_nowhere(
    world: World, leaks: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)

    run = with_a_leaky_box(world, leaks).waits_it_out()

    assert places_with_the_canary(world, run) == []
    assert PART not in caplog.text + "".join(capfd.readouterr())
    assert run.status != "running"


def test_a_receipt_that_repeats_a_secret_is_none_and_the_effect_is_looked_up(loop_world: World) -> None:
    run = with_a_leaky_box(loop_world, "receipt")

    assert run.tried[0] == ("call", "unknown")
    assert LeakyBox.name in {each.tool for each in run.operations}


def test_what_a_failing_tool_is_asked_for_is_told_without_its_secret(loop_world: World) -> None:
    run = with_a_leaky_box(loop_world, "error")

    (operation,) = run.operations
    assert operation.detail == '401 for {"key": "***"}'


# --- where secrets come from --------------------------------------------------------------------------------------


def test_a_secret_comes_from_the_environment_or_from_a_file_at_the_moment_of_the_call(tmp_path: Path) -> None:
    secrets = Secrets({"REMIT_SECRETS_DIR": str(tmp_path), "REMIT_SECRET_A": "from the environment"})
    (tmp_path / "B").write_text("from a file\n")

    assert secrets.reveal("secret://A secret://B", []) == "from the environment from a file"
    (tmp_path / "B").write_text("changed\n")
    assert secrets.reveal("secret://B", []) == "changed"


def test_a_secret_that_is_missing_or_others_may_write_or_is_too_short_is_refused_with_what_to_do(
    tmp_path: Path,
) -> None:
    secrets = Secrets({"REMIT_SECRETS_DIR": str(tmp_path), "REMIT_SECRET_C": "abc"})
    (tmp_path / "B").write_text("from a file")
    (tmp_path / "B").chmod(0o666)

    for name, said in (("A", "put a file A into"), ("B", "chmod go-w"), ("C", "take a longer one")):
        with pytest.raises(ToolError, match=said):
            secrets.reveal(f"secret://{name}", [])


def test_a_text_that_was_cut_in_the_middle_of_a_secret_is_cut_before_it() -> None:
    Secrets({"REMIT_SECRET_BOX_KEY": CANARY}).reveal("secret://BOX_KEY", [])

    assert redacted_end(f"said {CANARY[:9]}") == "said ***"
    assert redacted({"a": [CANARY, 1, None]}) == {"a": ["***", 1, None]}


# --- traces -----------------------------------------------------------------------------------------------------------


class Receiver(http.server.ThreadingHTTPServer):
    """Takes whatever is posted to it, as an OTLP collector or LangSmith does."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        super().__init__(("127.0.0.1", 0), _Taking)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


class _Taking(http.server.BaseHTTPRequestHandler):
    server: Any

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.shutdown()
    made.server_close()


def test_remit_sends_no_traces_of_its_own(world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)

    with_a_leaky_box(world, "error")

    assert receiver.bodies == []


def test_what_langchain_traces_of_a_graph_holds_no_secret(tmp_path: Path, receiver: Receiver) -> None:
    from langsmith import Client
    from langsmith.run_helpers import tracing_context

    client = Client(api_url=receiver.url, api_key="none", auto_batch_tracing=False)
    world = World(tmp_path, "langgraph")
    with tracing_context(enabled=True, client=client):
        run = with_a_leaky_box(world, "error")
    client.flush()
    world.close()

    sent = b"".join(receiver.bodies)
    assert run.run_id.encode() in sent
    assert PART.encode() not in sent
    assert json.dumps(CANARY).encode() not in sent
