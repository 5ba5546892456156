"""For whoever is on call: doubt, settle, compensate, take-over, budget; one JSON object each, and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Cli, asked
from tests.support.target import Box, breaks, letters
from tests.support.world import World


@pytest.fixture
def in_doubt(remit: Cli, tmp_path: Path) -> str:
    """The command line's data hold one letter of which nobody knows whether it arrived; its operation."""
    world = World(remit.folder, "loop")
    world.sends_letters(Box(answers=[breaks]), letters("bob"), lookups=0)
    operation_id = world.noter().approve().operations[-1].operation_id
    world.close()
    return operation_id


def test_no_doubt_is_said_to_be_none(remit: Cli) -> None:
    assert remit.json("doubt", "--fail-if-any").code == 0
    assert remit("doubt").out == "No effect is in doubt.\n"


def test_an_effect_in_doubt_is_listed_with_the_commands_that_settle_it(remit: Cli, in_doubt: str) -> None:
    listed = remit.json("doubt")

    (only,) = listed.json["doubt"]
    assert (only["operation_id"], only["tool"], only["calls"], only["lookups"]) == (in_doubt, "send_letter", 1, 0)
    assert only["commands"]["not_done"] == f"remit settle {in_doubt} --not-done"
    assert (listed.code, remit.json("doubt", "--fail-if-any").code) == (0, 4)


def test_settling_says_which_and_an_ended_run_keeps_its_status(remit: Cli, in_doubt: str) -> None:
    run_id = remit.json("doubt").json["doubt"][0]["run_id"]
    remit.json("cancel", run_id)

    neither = remit.json("settle", in_doubt)
    both = remit.json("settle", in_doubt, "--done", "letter-1", "--not-done")
    done = remit.json("settle", in_doubt, "--done", "letter-1", "--comment", "seen in the box")

    assert (neither.error, both.error) == ("USAGE", "USAGE")
    assert (done.json["status"], done.json["effect"]) == ("cancelled", "committed")
    assert remit.json("doubt").json["doubt"] == []
    assert remit.json("settle", in_doubt, "--not-done").error == "CONFLICT"


def test_only_who_may_settle_settles(remit: Cli, in_doubt: str) -> None:
    refused = remit.json("settle", in_doubt, "--not-done", user="eve")

    assert (refused.code, refused.error) == (2, "POLICY_DENIED")
    assert len(remit.json("doubt").json["doubt"]) == 1


def test_an_unknown_operation_is_said_to_be_so(remit: Cli) -> None:
    assert remit.json("settle", "op_nobody", "--not-done").error == "OPERATION_NOT_FOUND"
    assert remit.json("compensate", "op_nobody").error == "OPERATION_NOT_FOUND"


def test_a_run_is_taken_over_and_says_what_is_left(remit: Cli) -> None:
    run_id = remit.ticket().json["run_id"]

    taken = remit.json("take-over", run_id)

    assert (taken.code, taken.json["status"], taken.json["status_reason"]) == (3, "waiting", "takeover")
    assert {each["action"] for each in taken.json["actions"]} == {"cancel"}


def test_a_ticket_is_taken_back_and_listed_as_withdrawn(remit: Cli) -> None:
    approval = asked(remit.ticket())["id"]
    made = remit.json("approve", approval).json["operations"][0]

    question = asked(remit.json("compensate", made["operation_id"], "--engine", "loop"))
    done = remit.json("approve", question["id"])

    assert (done.code, question["arguments"]["ticket"]) == (0, made["object_id"])
    (ticket,) = remit.json("tickets", "list").json["tickets"]
    assert ticket["withdrawn"] == done.json["operations"][0]["object_id"]


@pytest.mark.parametrize(
    "more", [("--turns", "0"), ("--cost", "nan"), ("--cost", "a lot"), ("--active-time", "soon"), (), ("--cost", "-1")]
)
def test_a_grant_that_is_none_is_refused(remit: Cli, more: tuple[str, ...]) -> None:
    run_id = remit.ticket().json["run_id"]

    assert remit.json("budget", "grant", run_id, *more).code == 2


def test_a_grant_raises_the_limit_and_is_in_the_audit(remit: Cli) -> None:
    run_id = remit.ticket().json["run_id"]

    given = remit.json("budget", "grant", run_id, "--turns", "2", "--active-time", "1m", "--no-drive")

    limit = given.json["budget"]["limit"]
    assert (limit["turns"], limit["active_ms"]) == (22, 16 * 60_000)
    assert remit.json("audit").json["entries"][-1]["action"] == "budget.grant"
    assert remit.json("budget", "refuse", run_id).error == "CONFLICT"


def test_who_may_only_watch_is_told_of_a_doubt_and_not_what_it_is_about(remit: Cli, in_doubt: str) -> None:
    remit.json("roles", "give", "olga", "operator")

    (told,) = remit.json("doubt", user="olga").json["doubt"]

    assert told["operation_id"] == in_doubt
    assert [told[name] for name in ("arguments", "key", "detail")] == [None] * 3
    assert remit("doubt", user="olga").code == 0
    assert remit.json("doubt", user="eve").json["doubt"] == []
