"""`langgraph dev` in service mode, as a real process: who is let in, and who may do what to whose run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from state.errors import RunNotFound
from tests.support.dev_server import FIELDS, DevServer, RunOnServer, until
from tests.support.issuer import Issuer
from tests.support.service_server import ServiceServer

pytestmark = pytest.mark.long

UNAUTHENTICATED, FORBIDDEN, NOT_FOUND, CONFLICT, UNPROCESSABLE = 401, 403, 404, 409, 422


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, issuer: Issuer) -> Iterator[ServiceServer]:
    """One server for all tests; a test that ends it starts it again."""
    started = ServiceServer(tmp_path_factory.mktemp("service"), issuer)
    started.start()
    yield started
    started.stop()


# --- who is let in ------------------------------------------------------------------------------------------------

ROUTES = [
    ("POST", "/threads/search"),
    ("POST", "/threads"),
    ("POST", "/runs/wait"),
    ("POST", "/assistants/search"),
    ("GET", "/info"),
    ("GET", "/metrics"),
    ("GET", "/docs"),
    ("GET", "/openapi.json"),
    ("GET", "/ui/ticket"),
    ("GET", "/deploy"),
    ("POST", "/deploy"),
    ("POST", "/internal/truncate?runs=true&threads=true"),
    ("GET", "/no/such/path"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=str)
def test_nothing_is_offered_to_somebody_who_does_not_say_who_they_are(server: ServiceServer, method: str, path: str):
    said = httpx.request(method, f"{server.url}{path}", json={} if method == "POST" else None)

    assert said.status_code == UNAUTHENTICATED
    assert said.headers["www-authenticate"] == "Bearer"


def test_whether_the_server_is_up_may_be_asked_by_anybody(server: ServiceServer):
    assert httpx.get(f"{server.url}/ok").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer remit_x"},
        {"authorization": "Bearer"},
        {"authorization": "Basic Z3JhY2U6eA=="},
        {"x-auth-scheme": "langsmith"},
        {"x-auth-scheme": "langsmith", "origin": "https://smith.langchain.com", "x-api-key": "x"},
        {"x-user": "grace", "x-forwarded-user": "grace", "cookie": "session=grace"},
    ],
    ids=str,
)
def test_a_bad_proof_is_none_and_the_answer_does_not_say_why(server: ServiceServer, headers: dict[str, str]):
    said = httpx.post(f"{server.url}/threads/search", json={}, headers=headers)

    assert said.status_code == UNAUTHENTICATED
    assert said.json() == {"detail": "Send `Authorization: Bearer TOKEN` with a token that this server accepts."}


def test_a_websocket_is_not_opened_to_somebody_who_does_not_say_who_they_are(server: ServiceServer):
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    }

    said = httpx.get(f"{server.url}/threads/00000000-0000-4000-8000-000000000000/stream/events", headers=upgrade)

    assert said.status_code in {UNAUTHENTICATED, FORBIDDEN}


def test_somebody_of_another_tenant_is_refused(server: ServiceServer, issuer: Issuer):
    by_issuer = {"authorization": f"Bearer {issuer.token('bob', org='acme')}"}

    for headers in (server.headers("olga"), by_issuer):
        said = httpx.post(f"{server.url}/threads/search", json={}, headers=headers)
        assert (said.status_code, "another tenant" in said.text) == (FORBIDDEN, True)


def test_a_token_of_the_issuer_is_as_good_and_a_forged_or_an_old_one_is_not(server: ServiceServer, issuer: Issuer):
    other = Issuer()
    proofs = {
        issuer.token("bob", org="local"): 200,
        other.token("bob", org="local"): UNAUTHENTICATED,
        issuer.token("bob", org="local", until=-60): UNAUTHENTICATED,
        issuer.token("bob", org="local", aud="another"): UNAUTHENTICATED,
        issuer.token("bob"): UNAUTHENTICATED,
    }
    other.close()

    for token, status in proofs.items():
        headers = {"authorization": f"Bearer {token}"}
        assert httpx.post(f"{server.url}/threads/search", json={}, headers=headers).status_code == status


def test_whom_an_issuer_vouches_for_acts_as_the_subject_that_it_names(server: ServiceServer, issuer: Issuer):
    run = server.thread("ticket", {"authorization": f"Bearer {issuer.token('bob', org='local')}"})

    run.sends(input=FIELDS | {"source": "by issuer"})

    assert (run.row.requester, run.status) == ("bob", "waiting/approval")


# --- who may start, and who may decide ----------------------------------------------------------------------------


def test_who_may_not_start_an_agent_starts_nothing_and_the_audit_says_so(server: ServiceServer):
    run = server.thread("ticket", server.headers("mallory"))

    told = run.posts(input=FIELDS | {"source": "not permitted"})

    assert (told.status_code, "may not start ticket" in told.text) == (FORBIDDEN, True)
    assert not known(run)
    assert [each["via"] for each in server.audited(actor="mallory", action="run.start", result="denied")] == ["server"]


def known(run: RunOnServer) -> bool:
    """Does the ledger know a run under the thread's id?"""
    try:
        return run.row.run_id == run.run_id
    except RunNotFound:
        return False


def test_a_separate_approver_answers_and_the_ticket_is_made_for_who_asked_for_it(server: ServiceServer):
    run = server.ticket_of("bob", source="separate")

    done = server.seen_by("grace", run).approve()

    assert (done["status"], run.row.requester) == ("succeeded", "bob")
    assert [(each.approver, each.answer) for each in run.decisions] == [("grace", "approve")]
    assert [each["created_by"] for each in run.tickets] == ["bob"]


def test_who_may_not_approve_decides_nothing(server: ServiceServer):
    run = server.ticket_of("bob", source="not an approver")
    command = {"resume": run.own_answer("approve")}

    told = [run.posts(command=command), server.seen_by("mallory", run).posts(command=command)]

    assert [each.status_code for each in told] == [FORBIDDEN, FORBIDDEN]
    assert (run.status, run.decisions, run.tickets) == ("waiting/approval", [], [])
    assert {"bob", "mallory"} <= {each["actor"] for each in server.audited(action="approval.decide", result="denied")}


@pytest.mark.parametrize(
    "answer",
    [{"decisions": [{"type": "approve"}]}, [{"type": "accept", "args": None}], None, {}, "yes", True],
    ids=str,
)
def test_an_answer_that_does_not_say_what_it_is_about_is_refused(server: ServiceServer, answer: Any):
    run = server.ticket_of("bob", source=f"without ids {answer}")

    told = server.seen_by("grace", run).posts(command={"resume": answer})

    assert (told.status_code, "`approval_id`" in told.text) == (UNPROCESSABLE, True)
    assert (run.status, run.decisions, run.happened("approval.refused")) == ("waiting/approval", [], 1)


def test_an_answer_keyed_by_the_question_is_taken_if_it_says_what_it_is_about(server: ServiceServer):
    run = server.ticket_of("bob", source="keyed")
    with server.client(server.headers("grace")) as client:
        (interrupt,) = client.threads.get_state(run.run_id)["interrupts"]

    server.seen_by("grace", run).answers({interrupt["id"]: run.own_answer("approve")})

    assert run.status == "succeeded/completed"


# --- whose thread it is -----------------------------------------------------------------------------------------------


def make_it_again(run: RunOnServer) -> httpx.Response:
    body = {"thread_id": run.run_id, "if_exists": "do_nothing", "metadata": {"graph_id": "ticket"}}
    return httpx.post(f"{run.server.url}/threads", json=body, headers=run.headers)


def drive_it(run: RunOnServer) -> httpx.Response:
    return run.posts(input={})


def drive_it_as_another_agent(run: RunOnServer) -> httpx.Response:
    return RunOnServer(run.server, run.run_id, "catalog-check", run.headers).posts(input={})


def send_it_somewhere(run: RunOnServer) -> httpx.Response:
    return run.posts(command={"goto": "__end__"})


def write_into_it(run: RunOnServer) -> httpx.Response:
    return run.posts(command={"update": {"status": "succeeded"}})


def update_its_state(run: RunOnServer) -> httpx.Response:
    return call(run, "POST", "/state", json={"values": {"status": "succeeded"}, "as_node": "approve"})


def patch_it(run: RunOnServer) -> httpx.Response:
    return call(run, "PATCH", "", json={"metadata": {"owner": "mallory"}})


def delete_it(run: RunOnServer) -> httpx.Response:
    return call(run, "DELETE", "")


def prune_it(run: RunOnServer) -> httpx.Response:
    body = {"thread_ids": [run.run_id], "strategy": "delete"}
    return httpx.post(f"{run.server.url}/threads/prune", json=body, headers=run.headers)


def cancel_everything(run: RunOnServer) -> httpx.Response:
    return httpx.post(f"{run.server.url}/runs/cancel", json={"status": "all"}, headers=run.headers)


def call(run: RunOnServer, method: str, path: str, **more: Any) -> httpx.Response:
    return httpx.request(method, f"{run.server.url}/threads/{run.run_id}{path}", headers=run.headers, **more)


MEDDLING = [make_it_again, drive_it, drive_it_as_another_agent, send_it_somewhere, write_into_it, update_its_state]
MEDDLING += [patch_it, delete_it, prune_it, cancel_everything]


@pytest.fixture(scope="module")
def bobs(server: ServiceServer) -> RunOnServer:
    return server.ticket_of("bob", source="not mallory's")


@pytest.mark.parametrize("meddle", MEDDLING, ids=lambda each: each.__name__.replace("_", " "))
def test_who_has_no_part_in_a_run_cannot(
    server: ServiceServer, bobs: RunOnServer, meddle: Callable[[RunOnServer], httpx.Response]
):
    before = bobs.timeline

    told = meddle(server.seen_by("mallory", bobs))

    assert told.status_code == FORBIDDEN, told.text
    assert bobs.timeline == before
    with server.client(server.headers("bob")) as client:
        assert len(client.threads.get_state(bobs.run_id)["interrupts"]) == 1


def test_a_thread_that_the_server_forgot_is_made_again_by_who_has_part_in_its_run_alone(server: ServiceServer):
    run = server.ticket_of("bob", source="forgotten")
    server.kill()
    server.loses_its_list()
    server.start()

    assert make_it_again(server.seen_by("mallory", run)).status_code == FORBIDDEN
    assert call(server.seen_by("mallory", run), "GET", "/state").status_code == NOT_FOUND
    assert make_it_again(server.seen_by("grace", run)).status_code == 200

    server.seen_by("grace", run).approve()
    assert (run.status, run.row.requester) == ("succeeded/completed", "bob")


def test_a_copy_of_somebodys_thread_gives_no_right_and_never_acts(server: ServiceServer):
    run = server.ticket_of("bob", source="copied")
    copies: dict[str, RunOnServer] = {}
    for name in ("mallory", "bob"):
        copied = call(server.seen_by(name, run), "POST", "/copy").json()["thread_id"]
        copies[name] = RunOnServer(server, copied, "ticket", server.headers(name))

    assert copies["mallory"].posts(input={}).status_code == FORBIDDEN
    assert "a copy never acts" in copies["bob"].posts(input={}).text  # it keeps its maker
    assert copies["bob"].posts(command={"resume": run.own_answer("approve")}).status_code == NOT_FOUND
    assert (run.status, run.decisions, run.tickets) == ("waiting/approval", [], [])


def test_before_there_is_a_run_nobody_lays_down_what_another_one_will_find_on_a_thread(server: ServiceServer):
    laid_down = server.thread("ticket", server.headers("mallory"))
    bobs = server.thread("ticket", server.headers("bob"))
    call(bobs, "PATCH", "", json={"metadata": {"graph_id": "ticket", "made_by": "mallory"}})

    told = [update_its_state(server.seen_by("mallory", bobs)), delete_it(server.seen_by("mallory", bobs))]
    elsewhere = server.seen_by("bob", laid_down).posts(input=FIELDS | {"source": "laid down"})

    assert [each.status_code for each in told] == [FORBIDDEN, NOT_FOUND]
    assert elsewhere.status_code == NOT_FOUND
    assert not known(laid_down)
    bobs.sends(input=FIELDS | {"source": "undisturbed"})
    assert bobs.row.requester == "bob"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/assistants", {"graph_id": "ticket"}),
        ("/runs/crons", {"assistant_id": "ticket", "schedule": "* * * * *", "input": FIELDS}),
        ("/runs/wait", {"assistant_id": "ticket", "input": FIELDS}),
        ("/runs/batch", [{"assistant_id": "ticket", "input": FIELDS}]),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_runs_do_not_need_is_not_offered_to_anybody(server: ServiceServer, path: str, body: Any):
    said = httpx.post(f"{server.url}{path}", json=body, headers=server.headers("ada"))

    assert said.status_code in {FORBIDDEN, NOT_FOUND, UNPROCESSABLE}


# --- tokens stay secret -----------------------------------------------------------------------------------------------


def test_no_token_is_in_any_file_or_answer_of_the_server(server: ServiceServer, issuer: Issuer):
    signed = issuer.token("bob", org="local")
    run = server.thread("ticket", {"authorization": f"Bearer {signed}"})
    run.sends(input=FIELDS | {"source": "secret"})
    httpx.get(f"{server.url}/threads", headers={"authorization": "Bearer remit_wrong-but-a-secret-somewhere"})
    with server.client(server.headers("bob")) as client:
        shown = repr(
            [client.threads.get(run.run_id), client.threads.get_state(run.run_id), client.runs.list(run.run_id)]
        )
    server.stop()
    server.start()

    secrets = [*server.tokens.values(), signed, signed.rsplit(".", 1)[1], "remit_wrong-but-a-secret-somewhere"]
    held = [path for path in server.folder.rglob("*") if path.is_file()]
    assert len(held) > 5
    assert [each for each in secrets if each in shown] == []
    assert [(path, each) for path in held for each in secrets if each.encode() in path.read_bytes()] == []


# --- a server that cannot know anybody does not start -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "tokens", "says"),
    [
        ({"REMIT_USER": ""}, "[tokens]\n", "set REMIT_USER to the subject who administers"),
        ({}, '[tokens]\n"a-token-in-the-clear" = { subject = "a", tenant = "local" }', "entry 1: name it sha256:"),
        ({}, "[tokens\n", "is not TOML"),
        ({"REMIT_OIDC_ISSUER": "https://id.example"}, "[tokens]\n", "REMIT_OIDC_AUDIENCE, REMIT_OIDC_JWKS: not set"),
    ],
)
def test_a_server_whose_settings_cannot_be_used_does_not_start(
    tmp_path: Any, environment: dict[str, str], tokens: str, says: str
):
    file = tmp_path / "tokens.toml"
    file.write_text(tokens)
    server = DevServer(tmp_path / "dev", **{"REMIT_MODE": "service", "REMIT_TOKENS": str(file), **environment})

    said = server.refuses_to_start()

    assert says in said
    assert "a-token-in-the-clear" not in said


def test_answers_without_ids_can_be_allowed(tmp_path: Any, issuer: Issuer):
    server = ServiceServer(tmp_path / "dev", issuer, REMIT_ANSWERS_WITHOUT_IDS="allow")
    server.start()
    try:
        run = server.ticket_of("bob", source="allowed")
        server.seen_by("grace", run).answers({"decisions": [{"type": "approve"}]})
        until("the run ends", lambda: run.row.ended)
        assert [each.approver for each in run.decisions] == ["grace"]
    finally:
        server.stop()
