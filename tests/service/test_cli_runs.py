"""Runs from the command line: started, shown, answered, controlled, with exit codes that scripts can use."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from graphs.wiring import Parts, Settings, open_parts
from state.errors import RemitError
from tests.support.cli import Cli, asked

EXAMPLE = Path(__file__).parents[2] / "examples" / "ticket_service" / "remit-tools.toml"
FIELDS = {
    "run_id", "status", "status_reason", "effect", "effects", "result", "pending", "operations", "agent_id",
    "agent_version_id", "session_id", "desired_action", "status_version", "engine", "created_by", "budget",
    "created_at", "deadline", "failure", "actions",
}  # fmt: skip


def test_a_run_that_asks_waits_and_prints_how_to_go_on(remit: Cli):
    said = remit("run", "catalog-check", "--notice", remit.notice, "--catalog", remit.catalog, "--record", "r1",
                 "--engine", "loop")  # fmt: skip

    (approval,) = remit.json("approvals").json["approvals"]
    assert said.code == 3
    assert "2026-02-01" in said.out
    assert "2026-03-01" in said.out
    assert f"remit approve {approval['id']} --digest {approval['digest']}\n" in said.out
    assert "\x1b" not in said.out


def test_a_run_as_json_is_one_object_with_everything_about_it(remit: Cli):
    said = remit.check()

    run = said.json
    assert said.code == 3
    assert run.keys() >= FIELDS
    assert (run["status"], run["status_reason"], run["effect"]) == ("waiting", "approval", "none")
    assert run["effects"] == {"committed": [], "unknown": [], "failed": []}
    assert asked(said).keys() >= {"id", "digest", "tool", "arguments", "preview", "expires_at"}
    assert asked(said)["preview"]["difference"] == [
        {"field": "effective", "recorded": "2026-02-01", "observed": "2026-03-01"}
    ]
    assert all(
        each.keys() >= {"operation_id", "key", "digest", "tool", "status", "verified", "object_id"}
        for each in run["operations"]
    )
    assert {each["action"] for each in run["actions"]} == {"approve", "reject", "edit", "pause", "take-over", "cancel"}


@pytest.mark.parametrize("engine", ["loop", "langgraph"])
def test_an_approved_run_succeeds_and_its_ticket_is_there_once(remit: Cli, engine: str):
    waiting = remit.check("r1", "--engine", engine)

    done = remit.json("approve", asked(waiting)["id"], "--digest", asked(waiting)["digest"], "--comment", "fine")

    (ticket,) = remit.json("tickets", "list").json["tickets"]
    assert done.code == 0
    assert (done.json["status"], done.json["effect"], done.json["engine"]) == ("succeeded", "committed", engine)
    assert done.json["operations"][-1]["object_id"] == ticket["object_id"]
    assert done.json["operations"][-1]["verified"] is True
    assert ticket["observed"] == "2026-03-01"


def test_a_rejected_run_ends_without_a_ticket(remit: Cli):
    waiting = remit.check()

    done = remit.json("reject", asked(waiting)["id"], "--comment", "not today")

    assert done.code == 4
    assert (done.json["status"], done.json["status_reason"]) == ("denied", "approval_rejected")
    assert remit.json("tickets", "list").json == {"tickets": []}


def test_a_run_with_nothing_to_do_succeeds(remit: Cli):
    said = remit.check("r2")

    assert said.code == 0
    assert said.json["status_reason"] == "nothing_to_do"


def test_a_run_whose_notice_names_no_day_ends_as_insufficient_evidence(remit: Cli):
    said = remit.check("r1", notice=remit.file("draft.md", "Comments are due by March 1, 2026.\n"))

    assert said.code == 4
    assert said.json["status"] == "insufficient_evidence"


def test_a_ticket_with_given_fields_is_asked_for_and_made(remit: Cli):
    waiting = remit.ticket("--record", "r9")

    done = remit.json("approve", asked(waiting)["id"])

    assert waiting.json["agent_id"] == "ticket"
    assert done.code == 0
    assert remit.json("tickets", "list").json["tickets"][0]["record"] == "r9"


def test_an_answer_that_is_only_recorded_leaves_the_run_to_resume(remit: Cli):
    waiting = remit.check()

    recorded = remit.json("approve", asked(waiting)["id"], "--no-drive")
    resumed = remit.json("resume", waiting.json["run_id"])

    assert (recorded.code, recorded.json["status"]) == (3, "queued")
    assert (resumed.code, resumed.json["status"]) == (0, "succeeded")


def test_an_edit_is_asked_again_under_its_new_digest(remit: Cli):
    first = asked(remit.check())

    edited = remit.json("edit", first["id"], "--set", "source=Gazette 5")
    whole = remit.json("edit", asked(edited)["id"], "--arguments", '{"source": "x"}')

    assert edited.code == 3
    assert asked(edited)["arguments"]["source"] == "Gazette 5"
    assert asked(edited)["digest"] != first["digest"]
    assert (whole.code, whole.error) == (2, "INPUT_VALIDATION_FAILED")
    assert remit.json("approve", first["id"]).error == "APPROVAL_ALREADY_DECIDED"


def test_a_paused_run_stays_paused_until_it_is_resumed(remit: Cli):
    waiting = remit.check()
    run_id = waiting.json["run_id"]

    wished = remit.json("pause", run_id)
    paused = remit.json("approve", asked(waiting)["id"])
    done = remit.json("resume", run_id)

    assert (wished.code, wished.json["status"], wished.json["desired_action"]) == (3, "waiting", "pause")
    assert (paused.code, paused.json["status"]) == (3, "paused")
    assert (done.code, done.json["status"]) == (0, "succeeded")


def test_a_cancelled_run_acts_no_more(remit: Cli):
    waiting = remit.check()

    cancelled = remit.json("cancel", waiting.json["run_id"])
    late = remit.json("approve", asked(waiting)["id"])

    assert (cancelled.code, cancelled.json["status"], cancelled.json["actions"]) == (4, "cancelled", [])
    assert late.code == 2
    assert remit.json("tickets", "list").json["tickets"] == []


@pytest.mark.parametrize("command", ["cancel", "pause", "resume"])
def test_an_ended_run_takes_no_wish(remit: Cli, command: str):
    ended = remit.check("r2").json["run_id"]

    said = remit.json(command, ended)

    assert (said.code, said.error) == (2, "RUN_ALREADY_TERMINAL")


def test_a_run_whose_driver_lives_is_busy_and_one_whose_driver_died_goes_on(remit: Cli):
    waiting = remit.check()
    run_id = waiting.json["run_id"]
    remit.json("approve", asked(waiting)["id"], "--no-drive")
    other = open_parts(Settings(remit.data, "ada"))
    other.driving("loop").claim(run_id)

    busy = remit.json("resume", run_id)
    dies(other)
    shown = remit.json("show", run_id)
    done = remit.json("resume", run_id)

    assert (busy.code, busy.error) == (3, "RUN_BUSY")
    assert (shown.json["status"], shown.json["driver_alive"]) == ("running", False)
    assert (done.code, done.json["status"]) == (0, "succeeded")


def dies(other: Parts) -> None:
    """What the death of a process leaves behind: its file, and no lock on it."""
    other.owner._file.close()
    other.ledger.database.close()
    other.business.database.close()


def test_a_deadline_can_be_given_and_must_lie_ahead(remit: Cli):
    given = remit.ticket("--deadline", "2h")

    assert given.json["deadline"] > given.json["created_at"]
    assert remit.ticket("--deadline", "2020-01-01").error == "INPUT_VALIDATION_FAILED"
    assert remit.ticket("--deadline", "soon").error == "USAGE"


def test_show_without_a_run_lists_the_newest_first(remit: Cli):
    first, second = remit.check().json, remit.ticket().json

    listed = remit.json("show")

    assert listed.code == 0
    assert [each["run_id"] for each in listed.json["runs"]] == [second["run_id"], first["run_id"]]
    assert first["run_id"] in remit("show").out


def test_show_of_a_waiting_run_shows_what_would_be_written(remit: Cli):
    waiting = remit.check()

    shown = remit("show", waiting.json["run_id"])

    assert shown.code == 0
    assert asked(waiting)["digest"] in shown.out
    assert "Effective date: March 1, 2026" in shown.out
    assert "waiting (approval)" in shown.out


def test_the_timeline_is_numbered_without_gaps_and_can_be_continued(remit: Cli):
    run_id = remit.check("r2").json["run_id"]

    events = remit.json("events", run_id, "--follow").json["events"]
    rest = remit.json("events", run_id, "--after", "3").json["events"]

    assert [each["seq"] for each in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("run.accepted", "run.completed")
    assert rest == events[3:]
    assert len(remit("events", run_id).out.splitlines()) == len(events)


def test_the_timeline_is_shown_while_a_run_is_driven(remit: Cli):
    said = remit("run", "ticket", "--source", "s", "--field", "f", "--observed", "o", "--recorded", "r",
                 "--engine", "loop", "--verbose")  # fmt: skip
    aside = remit.ticket("--source", "other", "--verbose")

    assert said.out.index("accepted (by ada)") < said.out.index("waits for an approval") < said.out.index("status")
    assert "accepted (by ada)" in aside.err
    assert aside.json["status"] == "waiting"


def test_ctrl_c_leaves_a_run_safe_and_says_how_to_go_on(remit: Cli, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("service.use_cases.UseCases.drive", interrupted)
        said = remit.ticket()
    (run,) = remit.json("show").json["runs"]

    assert (said.code, said.error) == (130, "INTERRUPTED")
    assert f"remit resume {run['run_id']}" in said.json["error"]["message"]
    assert run["status"] == "queued"


def test_trouble_while_driving_names_the_run(remit: Cli, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise RemitError("The disk is full.")

    monkeypatch.setattr("service.use_cases.UseCases.drive", broken)
    said = remit.ticket()

    assert said.code == 2
    assert "The disk is full.\nGo on with: remit resume " in said.json["error"]["message"]


def test_show_says_what_a_run_needs_that_waits_for_another_program(remit: Cli):
    run_id = remit.check().json["run_id"]
    with closing(sqlite3.connect(remit.data / "ledger.sqlite")) as ledger:
        ledger.execute("UPDATE runs SET state_version = 7")
        ledger.commit()
    remit("resume", run_id)

    said, view = remit("show", run_id), remit.json("show", run_id).json

    assert (view["status_reason"], view["pending"]["migration"]["needs"]) == ("migration", "state version 7")
    assert "needs" in said.out
    assert "state version 7; it was written in state version 7; this program writes 1 and knows no other" in said.out


def test_show_says_in_what_an_agents_definition_has_changed(remit: Cli, monkeypatch: pytest.MonkeyPatch):
    view = remit.check().json
    monkeypatch.setenv("REMIT_TOOLS", str(EXAMPLE))
    remit("resume", view["run_id"])

    said = remit("show", view["run_id"])

    assert f"{view['agent_version_id']}; here catalog-check differs in tools (without create_ticket@1)" in said.out
