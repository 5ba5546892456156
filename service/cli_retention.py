"""The command prune: ended runs go after their time."""

from __future__ import annotations

from typing import Annotated

import typer

from service.edge import print_json
from service.options import AsJson, duration_ms, opened
from service.printing import line


def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="AGE", help="Only runs that ended so long ago: 90d, 12h, 30m.")
    ] = "90d",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove ended runs that are old, with their timelines and checkpoints.

    What still protects from repetition stays, and so do the audit and every run with an effect in doubt.
    """
    age = duration_ms("--older-than", older_than)
    from service.retention import Retention

    with opened() as cases:
        done = Retention(cases.parts, cases.actor).prune(age, dry_run=dry_run)
    if as_json:
        return print_json(done)
    if not any(done["counts"].values()):
        return line(f"No run that ended before {done['before']} can go.")
    from service.terminal import Screen

    verb = "would go" if dry_run else "removed"
    Screen().table(
        f"{verb}: ended before {done['before']}",
        ("what", "rows"),
        [[name.replace("_", " "), str(count)] for name, count in sorted(done["counts"].items()) if count],
    )
