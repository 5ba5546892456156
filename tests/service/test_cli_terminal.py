"""At a terminal: the question as it is, the four answers, and nothing in it that can draw on the terminal."""

from __future__ import annotations

import pytest

from service.terminal import Screen
from service.wording import plain
from tests.support.cli import TICKET, Cli

RUN = ("run", "ticket", *TICKET, "--engine", "loop")


def test_the_question_shows_what_would_be_written_and_approve_writes_it(remit: Cli):
    said = remit.at_a_terminal("a\n", *RUN)

    assert said.code == 0
    assert "2026-02-01  ->  2026-03-01" in said.out
    assert "digest" in said.out
    assert "open until" in said.out
    assert "approval answered: approve (by ada)" in said.out
    assert len(remit.json("tickets", "list").json["tickets"]) == 1


def test_reject_asks_why_and_ends_the_run(remit: Cli):
    said = remit.at_a_terminal("reject\nwrong day\n", *RUN)

    assert said.code == 4
    assert "denied (approval_rejected)" in said.out


@pytest.mark.parametrize("typed", ["later\n", "what?\n\nl\n", ""])
def test_later_leaves_the_question_open_and_says_how_to_go_on(remit: Cli, typed: str):
    said = remit.at_a_terminal(typed, *RUN)

    (approval,) = remit.json("approvals").json["approvals"]
    assert said.code == 3
    assert "stays open" in said.out
    assert f"remit approve {approval['id']}" in said.out


def test_resume_asks_the_open_question_again(remit: Cli):
    remit.at_a_terminal("later\n", *RUN)
    (run,) = remit.json("show").json["runs"]

    said = remit.at_a_terminal("approve\n", "resume", run["run_id"])

    assert said.code == 0


def test_an_edit_that_holds_is_asked_again(remit: Cli):
    files = ("--notice", remit.notice, "--catalog", remit.catalog, "--record", "r1", "--engine", "loop")

    said = remit.at_a_terminal("edit\nGazette 5\n\n\n\n\n\napprove\n", "run", "catalog-check", *files)

    assert said.code == 0
    assert remit.json("tickets", "list").json["tickets"][0]["source"] == "Gazette 5"


def test_an_edit_that_does_not_hold_is_explained_and_asked_again(remit: Cli):
    said = remit.at_a_terminal("edit\n\n\n\n\n2027-01-01\n\napprove\n", *RUN)

    assert "The edit is not taken" in said.err
    assert said.code == 0


def test_who_may_not_approve_is_told_and_the_question_stays(remit: Cli):
    remit.json("grants", "give", "eve", "start")
    remit.json("grants", "give", "eve", "write")

    said = remit.at_a_terminal("approve\n", *RUN, user="eve")

    assert said.code == 3
    assert "eve may not decide" in said.err
    assert len(remit.json("approvals").json["approvals"]) == 1


def test_what_a_file_says_cannot_move_the_cursor_or_look_like_markup(remit: Cli):
    drawing = "\x1b[2J\x1b]0;title\x07 [red]2026[/red] \u202e"
    fields = ("--source", drawing, "--field", "f", "--observed", "o", "--recorded", "r")

    said = remit.at_a_terminal("later\n", "run", "ticket", *fields, "--engine", "loop")

    assert "\x1b[2J" not in said.out
    assert "\x07" not in said.out
    assert "\u202e" not in said.out
    assert "[red]2026[/red]" in said.out


def test_a_name_that_looks_like_markup_is_shown_as_it_is(remit: Cli):
    for action in ("start", "write"):
        remit.json("grants", "give", "[/x] [b]eve", action)

    said = remit.at_a_terminal("later\n", *RUN, user="[/x] [b]eve")

    assert (said.code, "asked for by [/x] [b]eve" in said.out) == (3, True)


def test_the_id_that_a_target_gave_cannot_draw_on_the_terminal(capsys: pytest.CaptureFixture[str]):
    effect = {"operation_id": "op-1", "tool": "send", "object_id": "T-1\x1b[2J\u202e"}
    run = {
        **dict.fromkeys(("run_id", "agent_id", "created_by", "status", "status_reason"), "x"),
        **{"desired_action": "none", "actions": [], "operations": [], "result": None, "failure": None},
        "effects": {"committed": [effect], "unknown": [], "failed": []},
        "pending": {"migration": None},
    }

    Screen().run(run)

    assert "send -> T-1\\u001b[2J\\u202e" in capsys.readouterr().out


def test_every_character_of_a_value_is_shown():
    assert plain("a\tb\nc\x00d\u200be") == "a\\u0009b↵c\\u0000d\\u200be"
    assert plain("生效日期 2026") == "生效日期 2026"
