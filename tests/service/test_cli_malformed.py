"""Commands that answer nothing that was asked have no effect, and the question stays open (A10)."""

from __future__ import annotations

import pytest

from tests.support.cli import Cli, asked


def malformed_commands(approval: str, other_digest: str) -> list[tuple[str, ...]]:
    """Wrong in id, digest, shape, size or depth."""
    edit = ("edit", approval, "--arguments")
    return [
        ("approve", ""),
        ("approve", "no-such-approval"),
        ("approve", "*"),
        ("approve", "../" * 40),
        ("approve", "x" * 100_000),
        ("approve", f"{approval} "),
        ("approve", approval.upper() + "'; DROP TABLE approvals"),
        ("approve", approval, "--digest", ""),
        ("approve", approval, "--digest", "0" * 64),
        ("approve", approval, "--digest", other_digest),
        ("reject", "no-such-approval"),
        ("reject", approval, "--digest", other_digest),
        ("edit", approval),
        ("edit", approval, "--set", "observed"),
        ("edit", approval, "--set", "approved=true"),
        (*edit, "null"),
        (*edit, "[]"),
        (*edit, "{"),
        (*edit, "[" * 100_000),
        (*edit, '{"approver": "root"}'),
    ]


@pytest.mark.long
def test_twenty_commands_that_answer_nothing_leave_the_question_and_a_good_one_completes(remit: Cli) -> None:  # A10
    run, other = remit.ticket(), remit.check()
    approval = asked(run)["id"]
    commands = malformed_commands(approval, asked(other)["digest"])

    codes = [remit.json(*each).code for each in commands]

    assert (len(codes), 0 in codes, 1 in codes) == (20, False, False)
    assert remit.json("show", run.json["run_id"]).json["status"] == "waiting"
    done = remit.json("approve", approval)
    assert (done.code, done.json["status"], len(remit.json("tickets", "list").json["tickets"])) == (0, "succeeded", 1)
