"""Runs migrations inside the transaction that `store/upgrade.py` has opened; commits nothing by itself."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
