"""Policies, roles, standing rules and stops from the command line; and what somebody may see."""

from __future__ import annotations

import pytest

from tests.support.cli import TICKET, Cli, asked

ARGUMENTS = '{"source": "a notice", "field": "effective", "observed": "b", "recorded": "a", "record": "r1"}'
EVERY_TICKET_BY_TWO = '@id("two") @quorum("2") permit (principal, action == Action::"use", resource);'


def test_the_policy_in_force_is_listed_shown_and_checked(remit: Cli):
    listed = remit.json("policy", "check")
    shown = remit("policy", "show")
    own = remit.file("own.cedar", shown.out)

    again = remit.json("policy", "check", "--policy", own)

    assert (listed.code, again.code) == (0, 0)
    assert [each["id"] for each in listed.json["rules"]] == [each["id"] for each in again.json["rules"]]
    assert "entity User in [Role]" in remit("policy", "show", "--schema").out


def test_a_policy_file_that_does_not_hold_is_refused_before_anything_is_done(remit: Cli, monkeypatch):
    own = remit.file("own.cedar", '@id("a") permit (principal, action == Action::"fly", resource);')
    checked = remit.json("policy", "check", "--policy", f"local,{own}")
    monkeypatch.setenv("REMIT_POLICY", f"local,{own}")

    refused = remit.json("run", "ticket", *TICKET)

    assert (checked.code, checked.error) == (2, "INPUT_VALIDATION_FAILED")
    assert (refused.code, refused.error) == (2, "INPUT_VALIDATION_FAILED")
    assert "own.cedar:1" in refused.json["error"]["message"]


def test_explain_says_what_somebody_would_meet_and_by_which_rule(remit: Cli):
    question = ("policy", "explain", "--agent", "ticket", "--tool", "create_ticket", "--args", ARGUMENTS)

    ada = remit.json(*question, "--as", "ada").json["rulings"]
    bob = remit.json(*question, "--as", "bob").json["rulings"]

    assert [(each["what"], each["decision"], each["rule"]) for each in ada] == [
        ("start", "allowed", "granted: ada start *"),
        ("use", "allowed", "write-granted: ada create_ticket *"),
    ]
    assert [(each["decision"], each["rule"]) for each in bob] == [
        ("denied", "no rule permits: bob start ticket"),
        ("denied", "no rule permits: bob create_ticket record:r1"),
    ]


def test_explain_says_of_a_run_what_was_decided_and_what_would_be_now(remit: Cli):
    approval = asked(remit.json("run", "ticket", *TICKET))
    remit.json("approve", approval["id"])
    remit.json("grants", "revoke", "ada", "approve")

    found = remit.json("policy", "explain", approval["run_id"]).json["rulings"]

    assert [(each["what"], each["then"], each["decision"]) for each in found] == [
        ("ada start ticket", "allowed", "allowed"),
        ("ada use create_ticket", "allowed", "allowed"),
        ("ada approve create_ticket", "approve", "denied"),
    ]


def test_simulate_shows_where_recorded_runs_would_go_otherwise_under_another_policy(remit: Cli):
    approval = asked(remit.json("run", "ticket", *TICKET))
    remit.json("approve", approval["id"])
    own = remit.file("own.cedar", EVERY_TICKET_BY_TWO)

    separated = remit.json("policy", "simulate", "--policy", "service").json
    two = remit.json("policy", "simulate", "--policy", f"local,{own}", "--fail-if-different")
    same = remit.json("policy", "simulate", "--policy", "local", "--fail-if-different")

    assert [(each["what"], each["then"]["decision"]) for each in separated["differ"]] == [
        ("ada approve create_ticket", "denied")
    ]
    assert [(each["what"], each["then"]["asks"]["quorum"]) for each in two.json["differ"]] == [
        ("ada use create_ticket", 2)
    ]
    assert (two.code, same.code, same.json["asked"], same.json["differ"]) == (4, 0, 3, [])


def test_roles_are_given_and_taken_by_the_user_of_the_data_alone(remit: Cli):
    given = remit.json("roles", "give", "bob", "approver")
    refused = remit.json("roles", "give", "eve", "lead", user="eve")
    wrong = remit.json("roles", "give", "bob", "Two Words")
    listed = remit.json("roles", "list").json["roles"]
    taken = remit.json("roles", "take", "bob", "approver")

    assert (given.json["changed"], taken.json["changed"]) == (True, True)
    assert (refused.error, wrong.error) == ("POLICY_DENIED", "INPUT_VALIDATION_FAILED")
    assert [(each["subject"], each["role"]) for each in listed] == [("bob", "approver")]
    said = [(each["actor"], each["action"], each["result"]) for each in remit.json("audit").json["entries"]]
    assert [each for each in said if each[1].startswith("role.")] == [
        ("ada", "role.give", "changed"),
        ("eve", "role.give", "denied"),
        ("ada", "role.take", "changed"),
    ]


def test_a_standing_rule_lets_a_run_through_and_is_named_as_its_approver(remit: Cli):
    made = remit.json(
        *("rules", "make", "from-notices", "--tool", "create_ticket", "--until", "1h", "--why", "cheap to take back"),
        *("--where", "source=a notice"),
    )

    through = remit.json("run", "ticket", *TICKET)
    remit.json("rules", "end", "from-notices")
    asked_again = remit.json("run", "ticket", *TICKET, "--record", "r9")

    assert (made.code, through.json["status"]) == (0, "succeeded")
    assert (asked_again.json["status"], asked_again.json["status_reason"]) == ("waiting", "approval")
    (rule,) = remit.json("rules", "list").json["rules"]
    assert (rule["version"], rule["bounds"], rule["ended_by"]) == (1, {"arguments": {"source": "a notice"}}, "ada")


def test_a_stop_ends_what_was_approved_says_why_and_is_lifted(remit: Cli):
    stopped = remit.json("stop", "tool", "create_ticket", "--why", "wrong tickets")
    denied = remit("run", "ticket", *TICKET)
    listed = remit.json("stops").json["stops"]
    lifted = remit.json("unstop", "tool", "create_ticket")

    assert (stopped.json["changed"], lifted.json["changed"]) == (True, True)
    assert (denied.code, "remit stops" in denied.out) == (4, True)
    assert [(each["kind"], each["name"], each["why"]) for each in listed] == [
        ("tool", "create_ticket", "wrong tickets")
    ]


@pytest.mark.parametrize(
    "command",
    [
        ("stop", "tool", "--why", "x"),
        ("stop", "all", "create_ticket", "--why", "x"),
        ("stop", "tool", "create_ticket"),
        ("stop", "tool", "no_such_tool", "--why", "x"),
        ("rules", "make", "r", "--tool", "create_ticket", "--until", "soon", "--why", "x", "--agent", "ticket"),
        ("rules", "make", "r", "--tool", "create_ticket", "--until", "1h", "--why", "x"),
        ("rules", "make", "r", "--tool", "create_ticket", "--until", "1h", "--why", "x", "--where", "source"),
        ("rules", "end", "r"),
        ("policy", "explain"),
        ("policy", "explain", "--as", "ada"),
        ("policy", "explain", "--as", "ada", "--agent", "ticket", "--tool", "create_ticket", "--args", "["),
        ("policy", "explain", "--as", "ada", "--agent", "ticket", "--tool", "create_ticket", "--args", "{}"),
        ("policy", "explain", "--as", "ada", "--agent", "ticket", "--tool", "create_note"),
        ("policy", "explain", "no-such-run"),
        ("policy", "simulate", "--policy", "nowhere.cedar"),
        ("approve",),
        ("approve", "--run", "no-such-run"),
        ("withdraw", "no-such-approval"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_used_is_refused_with_words_that_help(remit: Cli, command: tuple[str, ...]):
    refused = remit.json(*command)

    assert (refused.code, bool(refused.json["error"]["message"])) == (2, True)


def test_all_that_a_run_asks_is_answered_at_once_and_an_answer_is_taken_back(remit: Cli):
    approval = asked(remit.json("run", "ticket", *TICKET))
    remit.json("approve", approval["id"], "--no-drive")

    back = remit.json("withdraw", approval["id"])
    again = remit.json("withdraw", approval["id"])
    done = remit.json("approve", "--run", approval["run_id"])

    assert (back.json["status"], len(back.json["pending"]["approvals"]), again.error) == (
        "queued",
        1,
        "NOT_AN_APPROVER",
    )
    assert (done.code, done.json["status"]) == (0, "succeeded")


# --- what somebody may see ----------------------------------------------------------------------------------------


def test_an_operator_sees_that_a_run_is_there_and_not_what_it_is_about(remit: Cli):
    approval = asked(remit.json("run", "ticket", *TICKET))
    remit.json("roles", "give", "opal", "operator")

    seen = remit.json("show", approval["run_id"], user="opal").json
    timeline = remit.json("events", approval["run_id"], user="opal")
    asked_of_opal = remit.json("approvals", user="opal").json["approvals"]
    cancelled = remit.json("cancel", approval["run_id"], user="opal")

    assert (seen["status"], seen["withheld"], seen["input"], seen["operations"]) == ("waiting", True, None, [])
    assert "a notice" not in str(seen)
    assert (timeline.error, asked_of_opal) == ("POLICY_DENIED", [])
    assert cancelled.json["status"] == "cancelled"


def test_a_stranger_sees_nothing_and_an_auditor_everything(remit: Cli):
    run_id = asked(remit.json("run", "ticket", *TICKET))["run_id"]
    remit.json("roles", "give", "fay", "auditor")

    stranger = [remit.json("show", run_id, user="eve"), remit.json("events", run_id, user="eve")]
    auditor = remit.json("show", run_id, user="fay")

    assert [each.error for each in stranger] == ["POLICY_DENIED"] * 2
    assert remit.json("show", user="eve").json["runs"] == []
    assert remit.json("approvals", user="eve").json["approvals"] == []
    assert auditor.json["input"]["source"] == "a notice"


def test_what_happened_in_the_name_of_somebody_revoked_is_settled_and_not_shown_to_them(remit: Cli):  # S4
    remit.json("roles", "give", "bob", "user")
    remit.json("grants", "give", "bob", "write:ticket")
    approval = asked(remit.json("run", "ticket", *TICKET, user="bob"))
    remit.json("approve", approval["id"])
    remit.json("roles", "take", "bob", "user")

    shown = remit.json("show", approval["run_id"], user="bob")

    assert shown.error == "POLICY_DENIED"
    assert remit.json("show", approval["run_id"]).json["effect"] == "committed"


def test_who_may_not_see_a_run_is_told_what_became_of_what_they_did(remit: Cli):
    remit.json("grants", "give", "bob", "approve", "create_ticket")
    approval = asked(remit.json("run", "ticket", *TICKET))

    approved = remit.json("approve", approval["id"], "--verbose", user="bob")

    assert (approved.code, approved.json["status"], approved.json["withheld"]) == (0, "succeeded", True)
    assert "a notice" not in approved.out + approved.err


def test_who_may_not_start_runs_any_more_cancels_their_own_and_is_told_so(remit: Cli):
    remit.json("roles", "give", "bob", "user")
    remit.json("grants", "give", "bob", "write:ticket")
    run_id = asked(remit.json("run", "ticket", *TICKET, user="bob"))["run_id"]
    remit.json("roles", "take", "bob", "user")

    cancelled = remit.json("cancel", run_id, user="bob")

    assert (cancelled.code, cancelled.json["status"]) == (4, "cancelled")


def test_nobody_is_called_as_remit_itself_or_a_standing_rule_is(remit: Cli):
    for name in ("remit", "rule:small@1", "Rule:x", " bob", "bob\n"):
        assert remit.json("show", user=name).error == "INPUT_VALIDATION_FAILED"
        assert remit.json("roles", "give", name, "approver").error == "INPUT_VALIDATION_FAILED"
        assert remit.json("grants", "give", name, "approve").error == "INPUT_VALIDATION_FAILED"


def test_a_stranger_is_shown_nobody_elses_tickets_roles_rules_grants_or_messages(remit: Cli):
    remit.json("approve", asked(remit.json("run", "ticket", *TICKET))["id"])
    remit.json("roles", "give", "bob", "approver")
    remit.json("rules", "make", "r", "--tool", "create_ticket", "--until", "1h", "--why", "w", "--agent", "ticket")
    lists = {"tickets": ("tickets", "list"), "roles": ("roles", "list"), "rules": ("rules", "list")}
    lists["grants"] = ("grants", "list")

    eve = {name: remit.json(*command, user="eve").json[name] for name, command in lists.items()}
    ada = {name: len(remit.json(*command).json[name]) for name, command in lists.items()}
    explained = remit.json(
        *("policy", "explain", "--as", "ada", "--agent", "ticket", "--tool", "create_ticket"), user="eve"
    )

    assert eve == {"tickets": [], "roles": [], "rules": [], "grants": []}
    assert ada["tickets"] == ada["roles"] == ada["rules"] == 1 < ada["grants"]
    assert [explained.error, remit.json("messages", user="eve").error] == ["POLICY_DENIED"] * 2
    assert remit.json("messages", "drop", "m", user="eve").error == "POLICY_DENIED"


def test_a_stranger_is_not_told_how_a_run_ended_by_answering_it(remit: Cli):
    approval = asked(remit.json("run", "ticket", *TICKET))
    remit.json("approve", approval["id"])

    answered = remit.json("approve", approval["id"], user="eve")

    assert (answered.error, "ada" in answered.json["error"]["message"]) == ("NOT_AN_APPROVER", False)


def test_simulate_leaves_out_the_runs_that_one_may_not_see(remit: Cli):
    remit.json("run", "ticket", *TICKET)

    found = remit.json("policy", "simulate", "--policy", "service", user="eve")

    assert (found.code, found.json["asked"], found.json["differ"]) == (0, 0, [])


def test_everybody_is_shown_what_is_their_own(remit: Cli):
    remit.json("roles", "give", "bob", "user")
    remit.json("grants", "give", "bob", "write:ticket")
    for record, user in (("r1", "bob"), ("r2", "ada")):
        asked_about = asked(remit.json("run", "ticket", *TICKET, "--record", record, user=user))
        remit.json("approve", asked_about["id"])

    tickets = remit.json("tickets", "list", "--limit", "1", user="bob").json["tickets"]
    listed = {name: remit.json(name, "list", user="bob").json[name] for name in ("roles", "grants")}
    explained = remit.json(
        *("policy", "explain", "--as", "bob", "--agent", "ticket", "--tool", "create_ticket", "--args", ARGUMENTS),
        user="bob",
    )

    assert [each["created_by"] for each in tickets] == ["bob"]  # the newest of his, not what is his of the newest
    assert {name: {each["subject"] for each in found} for name, found in listed.items()} == {
        "roles": {"bob"},
        "grants": {"bob"},
    }
    assert [each["decision"] for each in explained.json["rulings"]] == ["allowed"] * 2


def test_the_user_of_the_data_directory_knows_who_may_what_also_without_the_audit(remit: Cli):
    remit.json("grants", "revoke", "ada", "audit")
    remit.json("roles", "give", "bob", "approver")

    explained = remit.json(
        *("policy", "explain", "--as", "bob", "--agent", "ticket", "--tool", "create_ticket", "--args", ARGUMENTS)
    )

    assert (remit.json("audit").error, explained.code) == ("POLICY_DENIED", 0)
    assert [each["subject"] for each in remit.json("roles", "list").json["roles"]] == ["bob"]


def test_who_may_not_drop_or_retry_messages_is_noted(remit: Cli):
    remit.json("show")

    for command in ("drop", "retry"):
        remit.json("messages", command, "m", user="eve")

    entries = remit.json("audit", "--actor", "eve").json["entries"]
    assert [(each["action"], each["result"]) for each in entries] == [
        ("message.drop", "denied"),
        ("message.retry", "denied"),
    ]
