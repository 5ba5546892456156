"""The command tokens: who may talk to a server in service mode."""

from __future__ import annotations

from typing import Annotated

import typer

from service.edge import print_json
from service.options import AsJson, moment_ms

tokens = typer.Typer(help="Bearer tokens for a server in service mode.", no_args_is_help=True)


@tokens.command("new")
def new(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Whom the token stands for.")],
    tenant: Annotated[str | None, typer.Option("--tenant", help="By default this server's, REMIT_TENANT.")] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", help="Until when it holds: 12h, 90d, or 2027-01-31T12:00:00Z.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token. It is shown once and kept nowhere; the file of REMIT_TOKENS gets the line with its digest."""
    from graphs.wiring import settings_from_environment
    from service.tokens import new_token

    expires_at = moment_ms("--expires", expires)
    token, line = new_token(subject, tenant or settings_from_environment().tenant, expires_at)
    if as_json:
        return print_json({"token": token, "line": line})
    typer.echo(f"Give this to {subject}; it is not shown again:\n\n{token}\n")
    typer.echo(f"Add this below [tokens] in the file of REMIT_TOKENS:\n\n{line}")
