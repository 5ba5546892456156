"""The command `remit`: every command in its place, and one edge for all of them.

Nothing slow is imported here: what a command needs, it imports when it runs.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

import typer

from service import (
    cli_answers,
    cli_evidence,
    cli_messages,
    cli_outcomes,
    cli_people,
    cli_policy,
    cli_records,
    cli_retention,
    cli_runs,
    cli_tokens,
)
from service.edge import EXIT_CODES, guarded

app = typer.Typer(
    name="remit",
    help=(
        "Runs of agents whose effects are approved as shown, made at most once, read back and accounted for."
        f"\n\n{EXIT_CODES}"
        "\n\nAll data is in REMIT_DATA_DIR (default: .remit in the working folder)."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(cli_runs.start, name="run")
app.command("show")(cli_runs.show)
app.command("events")(cli_runs.events)
app.command("cancel")(cli_runs.cancel)
app.command("pause")(cli_runs.pause)
app.command("resume")(cli_runs.resume)
app.command("take-over")(cli_outcomes.take_over)
app.command("doubt")(cli_outcomes.doubt)
app.command("settle")(cli_outcomes.settle)
app.command("compensate")(cli_outcomes.compensate)
app.add_typer(cli_outcomes.budget, name="budget")
app.command("approvals")(cli_answers.approvals)
app.command("approve")(cli_answers.approve)
app.command("edit")(cli_answers.edit)
app.command("reject")(cli_answers.reject)
app.command("withdraw")(cli_answers.withdraw)
app.add_typer(cli_records.tickets, name="tickets")
app.command("audit")(cli_evidence.audit)
app.add_typer(cli_evidence.evidence, name="evidence")
app.add_typer(cli_records.grants, name="grants")
app.add_typer(cli_people.roles, name="roles")
app.add_typer(cli_people.rules, name="rules")
app.add_typer(cli_policy.policy, name="policy")
app.command("stop")(cli_people.stop)
app.command("unstop")(cli_people.unstop)
app.command("stops")(cli_people.stops)
app.command("prune")(cli_retention.prune)
app.add_typer(cli_tokens.tokens, name="tokens")
app.command("notify")(cli_messages.notify)
app.add_typer(cli_messages.messages, name="messages")
app.add_typer(cli_records.database, name="db")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command to its exit code; see EXIT_CODES."""
    if arguments is None:
        gc.set_threshold(100_000, 20, 20)  # this process is short, and most of its objects are modules: a tenth faster
    return guarded(_run, sys.argv[1:] if arguments is None else list(arguments))


def _run(arguments: Sequence[str]) -> int:
    code = app(list(arguments), prog_name="remit", standalone_mode=False)
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
