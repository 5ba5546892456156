"""Inside a graph that a server runs: the actor is the server's authenticated user, or nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.types import Command

from graphs.checkpointers import async_sqlite_saver, sqlite_saver
from graphs.governed import open_graph
from graphs.modes import ServiceSettings
from graphs.wiring import Parts, Settings, open_parts
from nodes.identity import Identity
from state.actor import Actor, acting_as
from state.errors import NotAllowed, RunNotFound
from store import permissions

TICKET = {"source": "gazette 7", "field": "effective", "observed": "2026-03-01", "recorded": "2026-02-01"}
STRICT = Identity(Actor("ada", "local", "local"), strict=True)


class User(SimpleNamespace):
    """As a server's: an object with attributes, which JSON never becomes."""


def user(**changes: Any) -> User:
    return User(**{"identity": "bob", "tenant": "local", "is_authenticated": True, **changes})


def config(somebody: Any, thread: str = "t1") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, "langgraph_auth_user": somebody}}


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    opened = open_parts(Settings(tmp_path, "ada", service=ServiceSettings(tokens_file=tmp_path / "tokens.toml")))
    yield opened
    opened.close()


def test_the_servers_user_is_the_actor():
    assert STRICT.on_a_server(config(user())) == Actor("bob", "local", "server")


@pytest.mark.parametrize(
    "somebody",
    [
        None,
        "bob",
        {"identity": "bob", "tenant": "local", "is_authenticated": True},
        user(identity=""),
        user(identity=None),
        user(is_authenticated=False),
        user(tenant="acme"),
        User(identity="langgraph-studio-user", is_authenticated=True),
    ],
    ids=str,
)
def test_whoever_was_not_authenticated_by_remit_is_nobody(somebody: Any):
    with pytest.raises(NotAllowed):
        STRICT.on_a_server(config(somebody))


def test_a_call_from_inside_a_server_is_nobodys_and_not_the_local_users():
    for each in (None, {}, {"configurable": {}}, {"configurable": None}):
        with acting_as("ada"), pytest.raises(NotAllowed):
            STRICT.on_a_server(each)


def test_in_local_mode_everybody_on_a_server_is_the_local_user():
    identity = Identity(Actor("ada"))

    assert identity.on_a_server(config(user())) == Actor("ada")


@pytest.mark.parametrize("call", ["stream", "astream", "ainvoke", "astream_events"])
def test_a_graph_on_a_server_opens_no_run_for_nobody(parts: Parts, call: str):
    forged = config({"identity": "ada", "tenant": "local", "is_authenticated": True})
    graph: Any = open_graph(parts, None, "ticket", door="elsewhere")

    with pytest.raises(NotAllowed):
        getattr(graph, call)(TICKET, forged)

    with pytest.raises(RunNotFound):
        parts.ledger.run("t1")


def test_a_run_on_a_server_is_for_its_user_and_stays_so_whoever_drives_it(parts: Parts):
    for action in ("bob", "grace"):
        with parts.ledger.database.write() as connection:
            permissions.give(connection, "local", parts.clock.now(), "ada", action, "start", "*")

    async def calls() -> None:
        async with async_sqlite_saver(parts.settings.checkpoints_path) as saver:
            graph = open_graph(parts, saver, "ticket", door="elsewhere")
            for name in ("bob", "grace"):
                await graph.ainvoke(TICKET, config(user(identity=name)))

    asyncio.run(calls())

    assert parts.ledger.run("t1").requester == "bob"


def test_in_service_mode_python_takes_no_answer_without_ids_either(parts: Parts):
    with sqlite_saver(parts.settings.checkpoints_path) as saver:
        graph: Any = open_graph(parts, saver, "ticket")
        thread: Any = {"configurable": {"thread_id": "t1"}}
        asked = graph.invoke(TICKET, thread)
        again = graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)

    assert again["__interrupt__"][0].value["approvals"] == asked["__interrupt__"][0].value["approvals"]
    assert parts.ledger.run("t1").status == "waiting"
