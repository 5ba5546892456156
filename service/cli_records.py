"""The commands about records: tickets, grants, db."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from service.edge import print_json
from service.options import AsJson, Limit, opened
from service.printing import line, rows_or_json
from state.actor import PERMITTED
from state.digest import Json

if TYPE_CHECKING:
    from store.upgrade import Which

tickets = typer.Typer(help="Tickets of the business store.", no_args_is_help=True)
grants = typer.Typer(help="Who may do what.", no_args_is_help=True)
database = typer.Typer(help="The databases of the data directory.", no_args_is_help=True)

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="A user's name.")]
Action = Annotated[str, typer.Argument(metavar="ACTION", help=f"{', '.join(PERMITTED)}, write or write:TOOL.")]
Resource = Annotated[
    str,
    typer.Argument(
        metavar="[RESOURCE]",
        help="An agent (start, budget, control, see, evidence), a tool (approve, settle, rule), record:ID (write); "
        "* is all.",
    ),
]


@tickets.command("list")
def list_tickets(limit: Limit = 100, as_json: AsJson = False) -> None:
    """List tickets, the newest first."""
    with opened() as cases:
        found = cases.tickets(limit)
    columns = ("object_id", "record", "field", "recorded", "observed", "source", "created_by")
    rows_or_json("tickets", columns, found, as_json, "There are no tickets.")


@grants.command("list")
def list_grants(as_json: AsJson = False) -> None:
    """List what is granted now."""
    from service.grants import Grants

    with opened() as cases:
        found = Grants(cases.parts, cases.actor).all()
    rows_or_json(
        "grants", ("subject", "action", "resource", "granted_by", "granted_at"), found, as_json, "Nothing is granted."
    )


@grants.command("give")
def give(subject: Subject, action: Action, resource: Resource = "*", as_json: AsJson = False) -> None:
    """Give a grant. Only the user for whom the data directory was first opened may; it is recorded in the audit."""
    from service.grants import Grants

    with opened() as cases:
        _changed(Grants(cases.parts, cases.actor).give(subject, action, resource), "given", "was there", as_json)


@grants.command("revoke")
def revoke(subject: Subject, action: Action, resource: Resource = "*", as_json: AsJson = False) -> None:
    """Revoke a grant. It takes effect at the next check, also for a run that was approved."""
    from service.grants import Grants

    with opened() as cases:
        _changed(
            Grants(cases.parts, cases.actor).revoke(subject, action, resource), "revoked", "was not there", as_json
        )


@database.command("upgrade")
def upgrade(as_json: AsJson = False) -> None:
    """Bring ledger and business store to the version of this program. Stop every other program first."""
    from graphs.wiring import settings_from_environment
    from store.upgrade import upgrade as upgrade_file

    settings = settings_from_environment()
    files: list[tuple[Which, Path]] = [("ledger", settings.ledger_path), ("business", settings.business_path)]
    done: list[Json] = []
    for which, path in files:
        before, now = upgrade_file(path, which)
        done.append({"database": which, "path": str(path), "before": before, "after": now})
    rows_or_json("databases", ("database", "path", "before", "after"), done, as_json, "")


def _changed(rows: list[Json], done: str, not_done: str, as_json: bool) -> None:
    if as_json:
        return print_json({"grants": rows})
    for row in rows:
        said = done if row["changed"] else not_done
        line(f"{said}: {row['subject']} {row['action']} {row['resource']}")
