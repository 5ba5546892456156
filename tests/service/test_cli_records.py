"""Grants, audit, tickets and databases from the command line; and the help."""

from __future__ import annotations

from state.actor import PERMITTED
from tests.support.cli import Cli, asked


def rows(remit: Cli, subject: str) -> set[tuple[str, str]]:
    listed = remit.json("grants", "list").json["grants"]
    return {(each["action"], each["resource"]) for each in listed if each["subject"] == subject}


def test_the_first_opening_gives_its_user_everything_on_the_record(remit: Cli):
    writes = ("write:ticket", "write:note", "write:withdrawal")
    everything = {(right, "*") for right in (*PERMITTED, *writes)}

    assert rows(remit, "ada") == everything
    entries = remit.json("audit").json["entries"]
    assert {(each["detail"]["action"], each["detail"]["resource"]) for each in entries} == everything
    assert {each["rule"] for each in entries} == {"first opening of an empty data directory"}


def test_another_user_can_be_let_approve_and_no_longer(remit: Cli):
    approval = asked(remit.check())["id"]

    given = remit.json("grants", "give", "bob", "approve", "create_ticket")
    revoked = remit.json("grants", "revoke", "bob", "approve", "create_ticket")
    refused = remit.json("approve", approval, user="bob")
    remit.json("grants", "give", "bob", "approve")
    done = remit.json("approve", approval, user="bob")

    assert (given.code, given.json["grants"][0]["changed"]) == (0, True)
    assert revoked.json["grants"][0]["changed"] is True
    assert refused.error == "NOT_AN_APPROVER"
    assert done.code == 0


def test_a_grant_to_write_is_both_tickets_and_notes(remit: Cli):
    remit.json("grants", "give", "bob", "write", "record:r1")

    assert rows(remit, "bob") == {("write:ticket", "record:r1"), ("write:note", "record:r1")}
    assert remit.json("grants", "give", "bob", "write", "record:r1").json["grants"][0]["changed"] is False
    assert remit.json("grants", "revoke", "bob", "write:note", "record:r1").code == 0
    assert rows(remit, "bob") == {("write:ticket", "record:r1")}


def test_only_the_user_of_the_data_directory_changes_grants(remit: Cli):
    remit.json("show")

    denied = remit.json("grants", "give", "eve", "approve", user="eve")

    assert (denied.code, denied.error) == (2, "POLICY_DENIED")
    assert rows(remit, "eve") == set()


def test_every_change_of_grants_is_audited_with_its_actor(remit: Cli):
    remit.json("grants", "give", "bob", "start", "ticket")
    remit.json("grants", "revoke", "bob", "start", "ticket")
    remit.json("grants", "revoke", "ada", "start", user="eve")

    said = [
        (each["actor"], each["via"], each["action"], each["object"], each["result"])
        for each in remit.json("audit", "--after", str(len(PERMITTED) + 3)).json["entries"]
    ]
    assert said == [
        ("ada", "cli", "grant.give", "subject:bob", "given"),
        ("ada", "cli", "grant.revoke", "subject:bob", "revoked"),
        ("eve", "cli", "grant.revoke", "subject:ada", "denied"),
    ]


def test_what_cannot_be_granted_is_refused(remit: Cli):
    assert remit.json("grants", "give", "bob", "fly").error == "INPUT_VALIDATION_FAILED"
    assert remit.json("grants", "give", " ", "start").error == "INPUT_VALIDATION_FAILED"
    assert remit.json("grants", "give", "bob", "start", "no-such-agent").error == "AGENT_NOT_FOUND"
    assert rows(remit, "bob") == set()


def test_a_revoked_grant_stops_an_approved_run(remit: Cli):
    waiting = remit.check()
    remit.json("approve", asked(waiting)["id"], "--no-drive")
    remit.json("grants", "revoke", "ada", "write")

    ended = remit.json("resume", waiting.json["run_id"])

    assert (ended.code, ended.json["status"], ended.json["status_reason"]) == (4, "denied", "permission_revoked")
    assert remit.json("tickets", "list").json["tickets"] == []


def test_the_audit_is_read_page_by_page(remit: Cli):
    remit.check("r2")

    first = remit.json("audit", "--limit", "3").json["entries"]
    rest = remit.json("audit", "--after", "3").json["entries"]

    assert [each["entry"] for each in first + rest] == list(range(1, len(first) + len(rest) + 1))
    assert (rest[-1]["action"], rest[-1]["actor"]) == ("run.start", "ada")


def test_lists_are_readable_also_when_they_are_empty(remit: Cli):
    assert "no runs yet" in remit("show").out
    assert "no tickets" in remit("tickets", "list").out
    assert "No approval" in remit("approvals").out
    assert "first opening" in remit("audit").out
    assert "write:ticket" in remit("grants", "list").out
    assert "given: bob start *" in remit("grants", "give", "bob", "start").out


def test_databases_are_made_and_upgraded_by_name(remit: Cli):
    made = remit.json("db", "upgrade")
    again = remit.json("db", "upgrade")

    assert made.code == 0
    assert [each["database"] for each in made.json["databases"]] == ["ledger", "business"]
    assert all(each["before"] is None and each["after"] for each in made.json["databases"])
    assert all(each["before"] == each["after"] for each in again.json["databases"])
    assert rows(remit, "ada")
    assert "ledger" in remit("db", "upgrade").out


def test_the_help_names_every_command_and_the_exit_codes(remit: Cli):
    said = remit("--help")

    commands = "run show events cancel pause resume approvals approve edit reject tickets audit grants db"
    assert said.code == 0
    assert all(f"│ {command} " in said.out for command in commands.split())
    assert all(f"{code} " in said.out for code in (0, 2, 3, 4, 130))
    assert remit().code == 2
