"""Whatever a client writes, and wherever: nothing happens in somebody else's name.

bob may start tickets and may not approve; grace may approve; ada may do everything. bob names them, in every place that
the server lets him write to, under every name that anything here goes by. What he does stays his, and what he may not
do stays undone.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from state.errors import RunNotFound
from tests.support.dev_server import FIELDS, RunOnServer
from tests.support.issuer import Issuer
from tests.support.service_server import ServiceServer

pytestmark = pytest.mark.long

Spoof = dict[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceServer]:
    issuer = Issuer()
    started = ServiceServer(tmp_path_factory.mktemp("spoofed"), issuer)
    started.start()
    yield started
    started.stop()
    issuer.close()


@pytest.fixture(scope="module")
def adas(server: ServiceServer) -> RunOnServer:
    """A run of somebody else that waits."""
    return server.ticket_of("ada", source="ada's own")


def names(of: RunOnServer) -> dict[str, Spoof]:
    """What anything here could be taken in by, by kind."""
    user = {"identity": "ada", "tenant": "local", "is_authenticated": True, "permissions": ["*"], "display_name": "ada"}
    return {
        "people": {
            **{"actor": "ada", "remit_actor": "ada", "acting_as": "ada", "remit.caller": "ada"},
            **{"user": "ada", "user_id": "ada", "username": "ada", "owner": "ada", "created_by": "ada"},
            **{"subject": "ada", "sub": "ada", "identity": user},
            **{"principal": "ada", "requester": "ada", "approver": "grace", "on_behalf_of": "ada"},
        },
        "rights": {
            **{"tenant": "acme", "tenant_id": "acme", "org": "acme", "project": "other"},
            **{"roles": ["operator", "approver"], "role": "approver", "permissions": ["*"], "approved": True},
        },
        "the server's user": {
            "langgraph_auth_user": user,
            "langgraph_auth_user_id": "ada",
            "langgraph_auth_permissions": ["*"],
        },
        "another run": {"run_id": of.run_id, "thread_id": of.run_id, "session_id": of.run_id, "checkpoint_ns": ""},
        "a lease": {"lease": {"fence": 1, "nonce": "x"}, "__pregel_resuming": True, "__pregel_resume_map": {}},
    }


KINDS = ["people", "rights", "the server's user", "another run", "a lease"]


@dataclass(frozen=True)
class Asked:
    """What bob asked for, and what he was told."""

    run: RunOnServer
    told: httpx.Response


# --- where a client can write, when it starts a run -------------------------------------------------------------------


def start(server: ServiceServer, source: str, **body: Any) -> Asked:
    run = server.thread("ticket", server.headers("bob"))
    return Asked(run, run.posts(**{"input": FIELDS | {"source": source}, **body}))


def in_configurable(server: ServiceServer, spoof: Spoof, source: str) -> Asked:
    return start(server, source, config={"configurable": spoof})


def in_context(server: ServiceServer, spoof: Spoof, source: str) -> Asked:
    return start(server, source, context=spoof)


def in_the_runs_metadata(server: ServiceServer, spoof: Spoof, source: str) -> Asked:
    return start(server, source, metadata=spoof, config={"metadata": spoof})


def in_the_input(server: ServiceServer, spoof: Spoof, source: str) -> Asked:
    return start(server, source, input={**spoof, **FIELDS, "source": source})


def in_the_checkpoint(server: ServiceServer, spoof: Spoof, source: str) -> Asked:
    return start(server, source, checkpoint={"checkpoint_ns": "", **spoof})


def in_the_threads_metadata(server: ServiceServer, spoof: Spoof, source: str) -> Asked:
    bob = server.headers("bob")
    made = httpx.post(f"{server.url}/threads", json={"metadata": spoof}, headers=bob).json()
    run = RunOnServer(server, made["thread_id"], "ticket", bob)
    httpx.patch(f"{server.url}/threads/{run.run_id}", json={"metadata": spoof}, headers=bob)
    return Asked(run, run.posts(input=FIELDS | {"source": source}))


def with_a_thread_made_on_the_way(server: ServiceServer, spoof: Spoof, source: str) -> Asked:
    run = RunOnServer(server, str(uuid.uuid4()), "ticket", server.headers("bob"))
    body = {"input": FIELDS | {"source": source}, "if_not_exists": "create", "metadata": spoof}
    return Asked(run, run.posts(**body, config={"metadata": spoof}))


def in_headers(server: ServiceServer, spoof: Spoof, source: str) -> Asked:
    said = {f"x-{name.replace('_', '-')}": value for name, value in spoof.items() if isinstance(value, str)}
    more = {"x-auth-scheme": "langsmith", "x-tenant-id": "acme", "x-forwarded-user": "ada", **said}
    run = server.thread("ticket", server.headers("bob"))
    as_said = RunOnServer(server, run.run_id, "ticket", server.headers("bob") | more)
    return Asked(run, as_said.posts(input=FIELDS | {"source": source}))


def in_the_state_before(server: ServiceServer, spoof: Spoof, source: str) -> Asked:
    """The thread's state is written before there is a run."""
    bob = server.headers("bob")
    run = server.thread("ticket", bob)
    patch = {"metadata": {"graph_id": "ticket"}}
    httpx.patch(f"{server.url}/threads/{run.run_id}", json=patch, headers=bob)
    url = f"{server.url}/threads/{run.run_id}/state"
    httpx.post(url, json={"values": {**spoof, "status": "running"}, "as_node": "admit"}, headers=bob)
    return Asked(run, run.posts(input=FIELDS | {"source": source}))


def over_the_event_protocol(server: ServiceServer, spoof: Spoof, source: str) -> Asked:
    run = server.thread("ticket", server.headers("bob"))
    params = {"assistant_id": "ticket", "input": FIELDS | {"source": source}, "config": {"configurable": spoof}}
    body = {"id": 1, "method": "run.start", "params": {**params, "metadata": spoof}}
    told = httpx.post(f"{server.url}/threads/{run.run_id}/commands", json=body, headers=run.headers)
    with server.client(run.headers) as client:
        for each in client.runs.list(run.run_id):
            client.runs.join(run.run_id, each["run_id"])
    return Asked(run, told)


PLACES = [in_configurable, in_context, in_the_runs_metadata, in_the_input, in_the_checkpoint, in_the_threads_metadata]
PLACES += [with_a_thread_made_on_the_way, in_headers, in_the_state_before, over_the_event_protocol]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES, ids=lambda each: each.__name__.replace("_", " "))
def test_a_run_is_for_who_asked_for_it_whoever_the_request_names(
    server: ServiceServer, adas: RunOnServer, place: Callable[[ServiceServer, Spoof, str], Asked], kind: str
):
    source, before = f"{place.__name__}, {kind}", adas.timeline

    asked = place(server, names(adas)[kind], source)

    a_copy = (place, kind) == (in_the_state_before, "another run")  # of another thread's state, which never acts
    assert requester(asked.run) == (None if a_copy else "bob"), asked.told.text
    assert server.tickets(source=source) == []
    assert (adas.timeline, adas.decisions) == (before, [])
    assert in_somebody_elses_name(server, asked.run) == []
    assert tenants(server) == {("local", "default")}


def requester(run: RunOnServer) -> str | None:
    """For whom the run is; None where the request was refused, or where nothing was opened."""
    try:
        return run.row.requester
    except RunNotFound:
        return None


def in_somebody_elses_name(server: ServiceServer, run: RunOnServer) -> list[dict[str, Any]]:
    return [each for each in server.audited(object=f"run:{run.run_id}") if each["actor"] != "bob"]


def tenants(server: ServiceServer) -> set[tuple[str | None, str | None]]:
    """What all threads are marked with, seen by the server itself."""
    with server.client(server.headers("ada")) as client:
        threads = client.threads.search(limit=1000)
    marks: list[dict[str, Any]] = [dict(each["metadata"] or {}) for each in threads]
    return {(each.get("tenant"), each.get("project")) for each in marks}


# --- and when it answers, or writes to a run that waits ---------------------------------------------------------------


def answers_with(run: RunOnServer, spoof: Spoof) -> list[httpx.Response]:
    answer = run.own_answer("approve")
    (decision,) = answer["decisions"]
    return [
        run.posts(command={"resume": answer}, config={"configurable": spoof}, metadata=spoof),
        run.posts(command={"resume": answer}, context=spoof),
        run.posts(command={"resume": {"decisions": [{**decision, **spoof}]}}),
        run.posts(command={"resume": {**answer, **spoof}}),
        run.posts(command={"resume": answer, "update": spoof}),
        run.posts(command={"update": spoof, "goto": "execute_tool"}),
        run.posts(command={"update": {**spoof, "step": "approve", "outcome": "go_on"}, "goto": "admit"}),
    ]


def writes_with(run: RunOnServer, spoof: Spoof) -> list[httpx.Response]:
    url = f"{run.server.url}/threads/{run.run_id}/state"
    values = {**spoof, "step": "approve", "outcome": "go_on", "status": "running"}
    body = {"values": values, "as_node": "approve", "checkpoint": {"checkpoint_ns": "", **spoof}}
    return [
        httpx.post(url, json=body, headers=run.headers),
        run.posts(input=spoof, config={"configurable": spoof}),
        run.posts(input=None, config={"configurable": spoof}),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_approves_in_the_name_of_somebody_who_may(server: ServiceServer, adas: RunOnServer, kind: str):
    run = server.ticket_of("bob", source=f"approved as another, {kind}")
    spoof = names(adas)[kind]

    told = answers_with(run, spoof) + answers_with(server.seen_by("mallory", run), spoof)

    assert {each.status_code for each in told} <= {403, 422}
    assert (run.status, run.decisions, run.tickets) == ("waiting/approval", [], [])
    assert {each["actor"] for each in server.audited(object=f"run:{run.run_id}")} == {"bob", "mallory"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_to_a_run_that_waits_changes_neither_whose_it_is_nor_what_it_asks(
    server: ServiceServer, adas: RunOnServer, kind: str
):
    run = server.ticket_of("bob", source=f"written to, {kind}")
    asked = run.question.approval_id

    writes_with(run, names(adas)[kind])

    assert (run.question.approval_id, run.row.requester, run.decisions) == (asked, "bob", [])
    server.seen_by("grace", run).approve()
    assert [each["created_by"] for each in run.tickets] == ["bob"]


@pytest.mark.parametrize(("method", "path"), [("POST", "/assistants"), ("PATCH", "/assistants/{0}")])
def test_an_assistant_whose_config_names_somebody_cannot_be_made(
    server: ServiceServer, adas: RunOnServer, method: str, path: str
):
    spoof = {name: value for each in names(adas).values() for name, value in each.items()}
    with server.client(server.headers("bob")) as client:
        (assistant,) = client.assistants.search(graph_id="ticket")
    body = {"graph_id": "ticket", "config": {"configurable": spoof}, "metadata": spoof}

    url = f"{server.url}{path.format(assistant['assistant_id'])}"
    told = httpx.request(method, url, json=body, headers=server.headers("bob"))

    assert told.status_code == 403
