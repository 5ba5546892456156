"""A server tells whom it is told to tell, by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dev_server import DevServer, until
from tests.support.hook_receiver import SECRETS, HookReceiver

pytestmark = pytest.mark.long


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[HookReceiver]:
    receiver = HookReceiver(tmp_path)
    yield receiver
    receiver.stop()


def test_a_server_tells_a_receiver_that_fails_at_first_of_every_question_and_every_end(
    tmp_path: Path, hooks: HookReceiver
):
    told = tmp_path / "notify.json"
    told.write_text(json.dumps({"targets": {"ops": {"url": hooks.url, "keys": ["secret://HOOK_KEY"]}}}))
    hooks.will({"status": 503})
    server = DevServer(tmp_path / "server", REMIT_NOTIFY=str(told), **SECRETS)
    server.start()
    try:
        run = server.ticket()
        run.approve()

        until("the end is told", lambda: "run.completed" in hooks.types)
        until("the question too, once the receiver works", lambda: hooks.types.count("approval.requested") >= 1)
    finally:
        server.stop()
    assert "gazette" not in json.dumps(hooks.calls)
