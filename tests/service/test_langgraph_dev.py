"""`langgraph dev` as a real process: runs pause, are answered over the API, and outlive the server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from nodes.owner import Owner
from store import events
from store.ledger import Driver
from tests.support.dev_server import FIELDS, ROOT, USER, DevServer, RunOnServer, until
from tests.support.malformed import malformed_answers

pytestmark = pytest.mark.long

CONFLICT, NOT_FOUND, FORBIDDEN, UNPROCESSABLE = 409, 404, 403, 422


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """One server for all tests; a test that ends it starts it again."""
    started = DevServer(tmp_path_factory.mktemp("dev"))
    started.start()
    yield started
    started.stop()


# --- it can be used ---------------------------------------------------------------------------------------------


def test_the_server_shows_the_form_of_an_agent_and_its_nodes(server: DevServer):
    with server.client() as client:
        (assistant,) = client.assistants.search(graph_id="catalog-check")
        form = client.assistants.get_schemas(assistant["assistant_id"])["input_schema"]
        nodes = client.assistants.get_graph(assistant["assistant_id"])["nodes"]

    assert form is not None
    assert {name: field["type"] for name, field in form["properties"].items()} == {
        "notice": "string",
        "catalog": "string",
        "record": "string",
    }
    assert {"admit", "decide", "approve", "execute_tool", "verify", "finish"} <= {str(each["id"]) for each in nodes}


def test_a_catalogue_check_pauses_for_approval_and_resumes_to_one_ticket(server: DevServer):
    run = server.thread("catalog-check")
    notice, catalog = ROOT / "examples/notices/01-ferry-fares.md", ROOT / "examples/catalogue.csv"

    paused = run.sends(input={"notice": str(notice), "catalog": str(catalog), "record": "01"})
    assert server.tickets(record="01") == []
    done = run.answers({"decisions": [{"type": "approve"}]})

    assert paused["__interrupt__"][0]["value"]["action_requests"][0]["args"]["observed"] == "2026-06-15"
    assert (done["status"], done["effect"]) == ("succeeded", "committed")
    assert [each["observed"] for each in server.tickets(record="01")] == ["2026-06-15"]


@pytest.mark.parametrize("shape", ["remit", "langchain", "inbox", "by interrupt id"])
def test_every_shape_of_answer_is_understood_and_recorded_once_for_the_caller(server: DevServer, shape: str):
    run = server.ticket(source=shape)
    answers: dict[str, Any] = {
        "remit": run.own_answer("approve"),
        "langchain": {"decisions": [{"type": "approve"}]},
        "inbox": [{"type": "accept", "args": None}],
        "by interrupt id": {pending_interrupt(run): {"decisions": [{"type": "approve"}]}},
    }

    run.answers(answers[shape])

    assert run.status == "succeeded/completed"
    assert [(each.approver, each.answer) for each in run.decisions] == [(USER, "approve")]
    assert len(server.tickets(source=shape)) == 1


def pending_interrupt(run: RunOnServer) -> str:
    with run.server.client() as client:
        (interrupt,) = client.threads.get_state(run.run_id)["interrupts"]
    return str(interrupt["id"])


def test_a_rejected_run_ends_without_a_ticket(server: DevServer):
    run = server.ticket(source="rejected")

    run.answers({"decisions": [{"type": "reject", "message": "not ours"}]})

    assert run.status == "denied/approval_rejected"
    assert server.tickets(source="rejected") == []


def test_an_answer_over_the_event_streaming_protocol_goes_through_the_same_door(server: DevServer):
    run = server.ticket(source="protocol")
    response = {"decisions": [{"type": "approve"}]}
    command = {"interrupt_id": pending_interrupt(run), "namespace": [], "response": response}

    told = httpx.post(
        f"{server.url}/threads/{run.run_id}/commands", json={"id": 1, "method": "input.respond", "params": command}
    )

    assert told.json()["type"] == "success", told.text
    until("the run ends", lambda: run.row.ended)
    assert [each.approver for each in run.decisions] == [USER]
    assert len(server.tickets(source="protocol")) == 1


def test_a_run_that_the_command_line_parked_is_answered_on_the_server(server: DevServer):
    given = [word for name, value in FIELDS.items() for word in (f"--{name}", value)]
    parked = server.command_line("run", "ticket", *given, "--source", "from the terminal")
    run = RunOnServer(server, parked["run_id"], "ticket")
    assert run.status == "waiting/approval"

    run.thread_is_made_again()
    run.answers({"decisions": [{"type": "approve"}]})

    assert run.status == "succeeded/completed"
    assert len(server.tickets(source="from the terminal")) == 1


def test_a_run_that_the_server_parked_is_approved_at_the_command_line(server: DevServer):
    run = server.ticket(source="from the server")

    done = server.command_line("approve", run.question.approval_id)
    seen = run.sends(input={})

    assert (done["status"], seen["status"]) == ("succeeded", "succeeded")
    assert len(server.tickets(source="from the server")) == 1


# --- answers that are none ----------------------------------------------------------------------------------------


def test_twenty_malformed_answers_are_recorded_as_refused_and_a_good_one_completes(server: DevServer):
    run, other = server.ticket(source="malformed"), server.ticket(source="other")
    malformed = malformed_answers(run.question, other.question)

    asked_again = [run.answers(each) for each in malformed]

    assert len(malformed) == 20
    assert all("__interrupt__" in each for each in asked_again)
    assert (run.happened("approval.refused"), run.decisions, other.decisions) == (20, [], [])
    run.answers({"decisions": [{"type": "approve"}]})
    assert run.status == "succeeded/completed"
    assert len(server.tickets(source="malformed")) == 1


@pytest.mark.parametrize("name", ["approver", "actor"])
def test_an_answer_that_names_an_approver_is_refused(server: DevServer, name: str):
    run = server.ticket(source=f"names {name}")
    (decision,) = run.own_answer("approve")["decisions"]

    run.answers({"decisions": [{**decision, name: "grace"}]})

    assert (run.status, run.happened("approval.refused"), run.decisions) == ("waiting/approval", 1, [])


def test_whoever_a_request_names_the_answer_is_the_callers(server: DevServer):
    run = server.ticket(source="spoofed")
    spoofed = {"user_id": "grace", "langgraph_auth_user_id": "grace", "langgraph_auth_user": {"identity": "grace"}}

    run.approve(config={"configurable": spoofed}, metadata={"owner": "grace", "actor": "grace"})

    assert run.row.requester == USER
    assert [each.approver for each in run.decisions] == [USER]


def test_an_answer_to_no_run_or_to_an_ended_one_is_a_clear_error_and_starts_nothing(server: DevServer):
    nowhere = RunOnServer(server, str(uuid.uuid4()), "ticket")
    empty, ended = server.thread(), server.ticket(source="ended")
    ended.approve()
    before = ended.timeline

    answer = {"command": {"resume": {"decisions": [{"type": "approve"}]}}}
    told = [each.posts(**answer) for each in (nowhere, empty, ended)]

    assert [each.status_code for each in told] == [NOT_FOUND, NOT_FOUND, CONFLICT]
    assert [nowhere.run_id in told[0].text, empty.run_id in told[1].text, "has ended" in told[2].text] == [True] * 3
    assert ended.timeline == before
    assert len(server.tickets(source="ended")) == 1
    with server.client() as client:
        assert client.runs.list(empty.run_id) == []


def test_an_answer_to_what_is_decided_is_told_what_stands(server: DevServer):
    run = server.ticket(source="twice")
    answer = {"command": {"resume": run.own_answer("reject")}}
    decided = run.own_answer("approve")
    with server.client() as client:
        client.runs.create(run.run_id, "ticket", command={"resume": decided})

    told = run.posts(**answer)

    assert told.status_code == CONFLICT
    assert [each.answer for each in run.decisions] == ["approve"]
    until("the run ends", lambda: run.row.ended)
    assert len(server.tickets(source="twice")) == 1


def test_an_edit_that_does_not_hold_is_told_why(server: DevServer):
    run = server.ticket(source="edited")
    edit = {"type": "edit", "edited_action": {"name": "create_note", "args": {"subject": "s", "text": "t"}}}

    told = run.posts(command={"resume": {"decisions": [edit]}})

    assert told.status_code == UNPROCESSABLE
    assert "reject it instead" in told.text
    assert (run.status, run.happened("approval.refused")) == ("waiting/approval", 1)


# --- the server's verbs ---------------------------------------------------------------------------------------------


def new_input(run: RunOnServer) -> None:
    run.sends(input=FIELDS | {"source": "another", "observed": "2031-01-01"})


def no_input(run: RunOnServer) -> None:
    run.sends(input=None)


def goto_end(run: RunOnServer) -> None:
    run.sends(command={"goto": "__end__"})


def goto_the_effect(run: RunOnServer) -> None:
    run.posts(
        command={"goto": "execute_tool", "update": {"status": "running"}}
    )  # two nodes at once: one may be told RunBusy


def update_state(run: RunOnServer) -> None:
    forged = {"step": "approve", "outcome": "go_on", "status": "succeeded", "session_id": "elsewhere"}
    with run.server.client() as client:
        client.threads.update_state(run.run_id, forged, as_node="approve")


def old_checkpoint(run: RunOnServer) -> None:
    with run.server.client() as client:
        oldest = client.threads.get_history(run.run_id, limit=50)[-1]["checkpoint"]
    run.sends(input=None, checkpoint_id=oldest["checkpoint_id"])


def rollback(run: RunOnServer) -> None:
    with run.server.client() as client:
        going = client.runs.create(run.run_id, run.agent_id, input={})
        client.runs.cancel(run.run_id, going["run_id"], wait=True, action="rollback")


def rollback_by_a_second_run(run: RunOnServer) -> None:
    with run.server.client() as client:
        client.runs.create(run.run_id, run.agent_id, input={})
    run.sends(input={}, multitask_strategy="rollback")


def delete_the_thread(run: RunOnServer) -> None:
    with run.server.client() as client:
        client.threads.delete(run.run_id)
    run.thread_is_made_again()


VERBS = [new_input, no_input, goto_end, goto_the_effect, update_state, old_checkpoint]
VERBS += [rollback, rollback_by_a_second_run, delete_the_thread]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__.replace("_", " "))
def test_what_the_server_does_to_a_thread_leaves_its_question_open(server: DevServer, verb: Any):
    run = server.ticket(source=verb.__name__)
    asked = run.question.approval_id

    verb(run)

    assert (run.question.approval_id, run.decisions, server.tickets(source=verb.__name__)) == (asked, [], [])
    run.approve()
    assert run.status == "succeeded/completed"
    assert [each["observed"] for each in server.tickets(source=verb.__name__)] == [FIELDS["observed"]]


def test_a_copied_thread_never_acts(server: DevServer):
    run = server.ticket(source="copied")
    with server.client() as client:
        client.threads.copy(run.run_id)
        copies = client.threads.search(
            metadata={"graph_id": "ticket"}, limit=1, sort_by="created_at", sort_order="desc"
        )
    copy = RunOnServer(server, copies[0]["thread_id"], "ticket")
    assert copy.run_id != run.run_id

    answered = copy.posts(command={"resume": {"decisions": [{"type": "approve"}]}})
    driven = [copy.posts(input={}), copy.posts(command={"goto": "execute_tool"})]

    assert answered.status_code == NOT_FOUND
    assert all("a copy never acts" in each.text for each in driven)
    assert (run.status, server.tickets(source="copied")) == ("waiting/approval", [])


def test_a_run_without_a_thread_is_refused_with_how_to_mend_it(server: DevServer):
    told = httpx.post(
        f"{server.url}/runs/wait", json={"assistant_id": "ticket", "input": FIELDS | {"source": "stateless"}}
    )

    assert told.status_code == UNPROCESSABLE
    assert "POST /threads" in told.text


# --- what the server lets go of, the dispatcher takes up --------------------------------------------------------------


def cancelled(run: RunOnServer, server_run: str) -> None:
    with run.server.client() as client:
        client.runs.cancel(run.run_id, server_run, wait=False)


def rolled_back(run: RunOnServer, server_run: str) -> None:
    with run.server.client() as client:
        client.runs.cancel(run.run_id, server_run, wait=False, action="rollback")


def deleted_with_its_thread(run: RunOnServer, server_run: str) -> None:
    with run.server.client() as client:
        client.threads.delete(run.run_id)


LET_GO = [cancelled, rolled_back, deleted_with_its_thread]


@pytest.mark.parametrize("let_go", LET_GO, ids=lambda each: each.__name__.replace("_", " "))
def test_an_answered_run_whose_server_run_is(server: DevServer, let_go: Any):
    run = server.ticket(source=let_go.__name__)
    with server.client() as client:
        going = client.runs.create(run.run_id, "ticket", command={"resume": run.own_answer("approve")})

    let_go(run, going["run_id"])

    until("the run ends", lambda: run.row.ended)
    assert (run.status, len(run.tickets), len(run.decisions)) == ("succeeded/completed", 1, 1)


def test_a_run_that_is_approved_and_left_alone_is_driven(server: DevServer):
    run = server.ticket(source="left alone")

    server.command_line("approve", run.question.approval_id, "--no-drive")

    until("the run ends", lambda: run.row.ended)
    assert (run.status, len(run.tickets)) == ("succeeded/completed", 1)


def test_a_run_that_a_client_puts_off_is_driven_all_the_same(server: DevServer):
    run = server.ticket(source="put off")
    with server.client() as client:
        client.runs.create(run.run_id, "ticket", command={"resume": run.own_answer("approve")}, after_seconds=86_400)

    until("the run ends", lambda: run.row.ended)
    assert (run.status, len(run.tickets)) == ("succeeded/completed", 1)


def test_a_run_that_a_client_stops_before_its_effect_is_driven_all_the_same(server: DevServer):
    run = server.ticket(source="stopped before")

    run.posts(command={"resume": run.own_answer("approve")}, interrupt_before=["execute_tool"])
    run.posts(input={}, config={"recursion_limit": 1})

    until("the run ends", lambda: run.row.ended)
    assert (run.status, len(run.tickets)) == ("succeeded/completed", 1)


def test_a_run_whose_time_has_come_ends_though_nobody_looks_at_it(server: DevServer):
    given = [word for name, value in FIELDS.items() for word in (f"--{name}", value)]

    parked = server.command_line("run", "ticket", *given, "--source", "too late", "--deadline", "3s")

    run = RunOnServer(server, parked["run_id"], "ticket")
    until("the run ends", lambda: run.row.ended)
    assert (run.status, run.decisions) == ("timed_out/deadline", [])


def test_a_run_that_the_server_could_not_drive_is_driven_once_it_can_be(server: DevServer):
    run = server.ticket(source="held elsewhere")
    held = Owner(server.data / "owners")
    with server.ledger() as ledger:
        lease = ledger.claim(run.run_id, Driver(held.name, "langgraph", held.is_dead))
        told = run.posts(command={"resume": run.own_answer("approve")})
        ledger.release(lease)
    held.close()

    assert "is being driven by" in told.text
    until("the run ends", lambda: run.row.ended)
    assert (run.status, len(run.tickets)) == ("succeeded/completed", 1)


@pytest.mark.parametrize("moment", ["run.resumed", "tool.call.started"])
def test_a_run_whose_server_was_killed_in_the_middle_is_driven_by_the_next_one(server: DevServer, moment: str):
    run = killed_in_the_middle(server, moment)

    server.loses_its_list()
    server.start()

    until("the run ends", lambda: run.row.ended)
    assert (run.status, len(run.decisions), len(run.tickets)) == ("succeeded/completed", 1, 1)


def test_a_server_that_is_stopped_holds_no_run(server: DevServer):
    run = server.ticket(source="drained")
    server.command_line("approve", run.question.approval_id, "--no-drive")
    sees(run, "approval.decided")
    until("somebody drives it", lambda: run.happened("run.resumed"), every_s=0.001)

    server.stop()

    assert run.row.nonce is None
    server.start()
    until("the run ends", lambda: run.row.ended)
    assert (run.status, len(run.tickets)) == ("succeeded/completed", 1)


# --- the server comes and goes --------------------------------------------------------------------------------------


def test_a_waiting_run_survives_a_restart_of_the_server(server: DevServer):
    run = server.ticket(source="restarted")

    server.stop()
    server.start()
    with server.client() as client:
        shown = client.threads.get_state(run.run_id)["interrupts"]
    run.answers({"decisions": [{"type": "approve"}]})

    assert len(shown) == 1
    assert run.status == "succeeded/completed"
    assert len(server.tickets(source="restarted")) == 1


def test_a_waiting_run_survives_kill_9_and_the_loss_of_the_servers_own_list(server: DevServer):
    run = server.ticket(source="killed waiting")

    server.kill()
    server.loses_its_list()
    server.start()
    lost = run.posts(command={"resume": {"decisions": [{"type": "approve"}]}})
    assert (lost.status_code, "if_exists=do_nothing" in lost.text, run.decisions) == (NOT_FOUND, True, [])
    run.thread_is_made_again()
    run.answers({"decisions": [{"type": "approve"}]})

    assert run.status == "succeeded/completed"
    assert len(server.tickets(source="killed waiting")) == 1


@pytest.mark.parametrize("moment", ["run.resumed", "tool.call.started", "tool.call.completed"])
def test_a_server_killed_in_the_middle_of_a_run_loses_and_repeats_nothing(server: DevServer, moment: str):
    run = killed_in_the_middle(server, moment)

    server.start()
    run.thread_is_made_again()
    run.sends(input={})

    assert run.status == "succeeded/completed"
    assert len(run.decisions) == 1
    assert len(run.tickets) == 1


def killed_in_the_middle(server: DevServer, moment: str) -> RunOnServer:
    """A run whose server died right after this event of it, and before the driver was done."""
    for _ in range(3):
        run = server.ticket(source=str(uuid.uuid4()))
        held = run.happened("attempt.ended")
        with server.client() as client:
            client.runs.create(run.run_id, "ticket", command={"resume": run.own_answer("approve")})
        sees(run, moment)
        server.kill()
        if run.happened("attempt.ended") == held:
            return run
        server.start()  # the run was quicker than the kill, which shows nothing
    raise AssertionError("three runs were quicker than the kill")


def test_an_answered_run_that_the_stopped_server_had_not_begun_is_driven_after_its_start(server: DevServer):
    run = server.ticket(source="stopped")
    with server.client() as client:
        client.runs.create(run.run_id, "ticket", command={"resume": run.own_answer("approve")})

    server.stop()
    assert run.status == "queued"
    server.start()

    until("the run ends", lambda: run.row.ended)
    assert run.status == "succeeded/completed"
    assert len(run.tickets) == 1


def sees(run: RunOnServer, event: str) -> None:
    """Wait until this event of the run is true, and say so at once."""
    with run.server.ledger() as ledger:

        def holds() -> bool:
            with ledger.database.read() as connection:
                return any(
                    each["type"] == event for each in events.page(connection, ledger.tenant, run.run_id, 0, 1000)
                )

        until(event, holds, every_s=0.0002)


# --- who is answered --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "https://smith.langchain.com", "x-auth-scheme": "langsmith"}, 200),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://evil.example"}, FORBIDDEN),
        ({"origin": "null"}, FORBIDDEN),
        ({"origin": "https://evil.example", "x-auth-scheme": "langsmith"}, FORBIDDEN),
        ({"origin": "https://smith.langchain.com.evil.example"}, FORBIDDEN),
        ({"host": "evil.example"}, FORBIDDEN),
        ({"x-forwarded-for": "203.0.113.7"}, FORBIDDEN),
    ],
)
def test_only_callers_on_this_computer_are_answered(server: DevServer, headers: dict[str, str], status: int):
    answer = httpx.post(f"{server.url}/threads/search", json={}, headers=headers)

    assert answer.status_code == status


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/assistants", {"graph_id": "ticket"}),
        ("/runs/crons", {"assistant_id": "ticket", "schedule": "* * * * *", "input": FIELDS}),
        ("/store/items/search", {}),
    ],
)
def test_what_runs_do_not_need_is_not_offered(server: DevServer, path: str, body: dict[str, Any]):
    assert httpx.post(f"{server.url}{path}", json=body).status_code in {FORBIDDEN, NOT_FOUND}


def test_nothing_blocked_the_servers_event_loop(server: DevServer):
    run = server.ticket(source="log")

    run.approve()

    log = server.log.read_text()
    assert run.status == "succeeded/completed"
    assert [word for word in ("BlockingError", "without a handler", "missing adelete_for_runs") if word in log] == []
