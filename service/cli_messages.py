"""The commands about being told: messages, notify."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from service.edge import print_json
from service.options import AsJson, Limit, opened
from service.printing import line, rows_or_json
from state.digest import Json

if TYPE_CHECKING:
    from service.messages import Messages

messages = typer.Typer(help="Messages of REMIT_NOTIFY: which there are, and what became of them.")

MessageIds = Annotated[list[str], typer.Argument(metavar="MESSAGE...", help="Ids, as `remit messages` lists them.")]

_COLUMNS = ("message_id", "type", "run_id", "status", "tries", "next_at", "last_error")


@messages.callback(invoke_without_command=True)
def list_messages(
    context: typer.Context,
    dead: Annotated[bool, typer.Option("--dead", help="Only those that are tried no more.")] = False,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """List messages, the newest first."""
    if context.invoked_subcommand is not None:
        return
    from service.messages import Messages

    with opened() as cases:
        _print(Messages(cases.parts, cases.actor).all("dead" if dead else None, limit), as_json)


@messages.command("retry")
def retry(message_ids: MessageIds, as_json: AsJson = False) -> None:
    """Give dead messages all their tries anew; `remit notify` sends them."""
    _each(message_ids, lambda found: found.retry, as_json)


@messages.command("drop")
def drop(message_ids: MessageIds, as_json: AsJson = False) -> None:
    """Send pending messages no more; as dead ones they keep their runs from being pruned no longer."""
    _each(message_ids, lambda found: found.drop, as_json)


def notify(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C or SIGTERM.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send the messages that are due, to the targets of REMIT_NOTIFY. Exit code 0, whatever becomes of them."""
    from service.draining import draining
    from service.notify import Notifier

    with opened() as cases:
        notifier, tried = Notifier(cases.parts.ledger, cases.parts.notifications), 0
        with draining(notifier.stop):
            if follow:
                notifier.follow()
            else:
                tried = notifier.send_due(sys.maxsize)
        next_at = notifier.next_at()
    _print_sending(follow, tried, next_at, as_json)


def _print_sending(follow: bool, tried: int, next_at: int | None, as_json: bool) -> None:
    from state.clock import iso

    if as_json:
        return print_json({"tried": tried, "next_at": iso(next_at)})
    if not follow:
        line(f"Tried {tried}. Next one: {iso(next_at) or 'none'}. `remit messages` shows what became of them.")


def _each(message_ids: list[str], what: Callable[[Messages], Callable[[str], Json]], as_json: bool) -> None:
    from service.messages import Messages

    with opened() as cases:
        act = what(Messages(cases.parts, cases.actor))
        _print([act(each) for each in message_ids], as_json)


def _print(rows: list[Json], as_json: bool) -> None:
    rows_or_json("messages", _COLUMNS, rows, as_json, "There are no such messages.")
