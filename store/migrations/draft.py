"""Prints the operations of the next migration, worked out from the tables as they are declared now.

    python -m store.migrations.draft ledger > store/migrations/versions/ledger/0002_what_changed.py

It is a draft: Alembic sees new tables, columns and indexes, but no changed CHECK, and it knows no data. Until the first
release, `0001_first.py` is written anew (`python -m store.migrations.draft ledger --first`, then `make format`); after
it, a migration is never edited again. `tests/contracts/test_migrations.py` says where migrations and tables disagree.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any, cast

from alembic.autogenerate import produce_migrations, render_python_code
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from store.business import BUSINESS_HEAD, business_metadata
from store.ledger import LEDGER_HEAD
from store.tables import metadata
from store.upgrade import Which, upgrade

_DECLARED = {"ledger": (metadata, LEDGER_HEAD), "business": (business_metadata, BUSINESS_HEAD)}

_TEXT = '''"""{title}. A record of one day: never edited again."""
# ruff: noqa: E501

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = {previous}


def upgrade() -> None:
{body}
'''


def draft(which: Which, first: bool) -> str:
    """The text of the first migration, or of the one after the last there is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draft.sqlite"
        previous = None if first else upgrade(path, which)[1]
        body = _operations(path, which)
    return _TEXT.format(
        title=f"The first tables of the {which} database" if first else f"What changes in the {which} database",
        revision=_DECLARED[which][1] if previous is None else f"{int(previous) + 1:04d}",
        previous="None" if previous is None else f'"{previous}"',
        body=body,
    )


def _operations(path: Path, which: Which) -> str:
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        planned = produce_migrations(context, _DECLARED[which][0])
        assert planned.upgrade_ops is not None
        text = cast(Any, render_python_code)(planned.upgrade_ops, migration_context=context)
    engine.dispose()
    return "\n".join(line for line in text.splitlines() if not line.strip().startswith("#"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=sorted(_DECLARED))
    parser.add_argument("--first", action="store_true", help="the whole database, from nothing")
    given = parser.parse_args()
    print(draft(given.which, given.first), end="")
