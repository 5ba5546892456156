"""Bringing a database to the version that this program writes: `remit db upgrade`.

All of it is one transaction that nobody else is part of: SQLite takes back changes of tables as it takes back rows,
so an upgrade that fails anywhere leaves the old version whole. While any other program has the file open, there is no
upgrade: a program that runs on must never find tables under it that it does not know.

Alembic is slow to import, and nothing else needs it: it is imported here, inside the function that uses it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sqlalchemy import create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from state.errors import DatabaseTooNew, DatabaseTooOld, DatabaseUnavailable

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

Which = Literal["ledger", "business"]

MIGRATIONS = Path(__file__).parent / "migrations"
WAIT_S = 5.0  # for another program that is about to close the file


def upgrade(path: Path, which: Which) -> tuple[str | None, str]:
    """The version before (None: there was no database) and after; nothing is touched if they are the same.

    Raises DatabaseTooNew and DatabaseTooOld for a version that no migration starts from, DatabaseUnavailable where the
    file is in use, is no database, or an upgrade fails. After each of them the database is as it was.
    """
    config = _config(which)
    known = _versions(config)
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        before = _checked(path, _version_of_file(path), known)
        if before != known[-1]:
            _run(path, config, known)
    return before, known[-1]


def _config(which: Which) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", _literal(MIGRATIONS))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", _literal(MIGRATIONS / "versions" / which))
    return config


def _literal(path: Path) -> str:
    return str(path).replace("%", "%%")  # the options are read with interpolation


def _versions(config: Config) -> list[str]:
    """Every version there is a migration to, oldest first."""
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(config).walk_revisions()
    return [each.revision for each in scripts][::-1]


def _version_of_file(path: Path) -> str | None:
    if not path.exists():
        return None
    with closing(sqlite3.connect(path, timeout=WAIT_S)) as raw:
        return _version(raw)


def _version(raw: sqlite3.Connection) -> str | None:
    tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if not tables:
        return None
    if "alembic_version" not in tables:
        return ""
    row = raw.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else ""


def _checked(path: Path, version: str | None, known: list[str]) -> str | None:
    """The version, if the migrations lead on from it. Versions are four digits that only grow."""
    if version is None or version in known:
        return version
    if version == "":
        raise DatabaseTooOld(
            f"{path} is not one of Remit's databases; nothing was changed. Give the REMIT_DATA_DIR that holds yours."
        )
    if version > known[-1]:
        raise DatabaseTooNew(
            f"{path} was written by a newer Remit (version {version}, this one knows {known[-1]}); nothing was changed."
            " Install that version again."
        )
    raise DatabaseTooOld(
        f"{path} has version {version}, from which this Remit cannot upgrade (it knows {', '.join(known)}); nothing was"
        " changed. Upgrade with the Remit version that came after it first."
    )


def _run(path: Path, config: Config, known: list[str]) -> None:
    from alembic import command

    raw = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)  # the driver begins and commits nothing by itself
    engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
    event.listen(engine, "begin", _begin)
    try:
        raw.execute(
            "PRAGMA locking_mode = EXCLUSIVE"
        )  # before the first look: with a WAL, only then are others kept out
        with engine.begin() as connection:
            _checked(path, _version(raw), known)  # another upgrade may have come first
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            _check_references(path, connection)
    finally:
        engine.dispose()
        raw.close()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN EXCLUSIVE")


def _check_references(path: Path, connection: Connection) -> None:
    """Foreign keys are not watched while tables are rebuilt; all are looked at before anything is committed."""
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if broken is not None:
        raise DatabaseUnavailable(
            f"{path} was not upgraded: a row of {broken[0]} would refer to a row of {broken[2]} that is not there."
            " Nothing was changed; please report this, and go on with the version you had."
        )


@contextmanager
def _explained(path: Path) -> Generator[None]:
    try:
        yield
    except DBAPIError as error:
        raise _unavailable(path, error.orig or error) from error
    except (sqlite3.DatabaseError, OSError) as error:
        raise _unavailable(path, error) from error


def _unavailable(path: Path, error: BaseException) -> DatabaseUnavailable:
    if "locked" in str(error):
        return DatabaseUnavailable(
            f"{path} is in use; nothing was changed. Stop every program that has it open (`remit`, a server), then run"
            " `remit db upgrade` again."
        )
    return DatabaseUnavailable(
        f"{path} was not upgraded: {error}. Nothing was changed. Check that it is a database of Remit's, its folder is"
        " writable and the disk has room; then run `remit db upgrade` again."
    )
