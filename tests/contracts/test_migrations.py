"""An upgraded database is the same as a new one, and a database that cannot be upgraded is left as it is.

Where the first test fails, the tables were changed without a migration. Until the first release the first migration is
written anew (`python -m store.migrations.draft ledger --first`, see there); after it, another one is added.
"""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command

from state.errors import DatabaseTooNew, DatabaseTooOld, DatabaseUnavailable, StoreError
from store import upgrade as upgrading
from store.business import BUSINESS_HEAD, BusinessStore
from store.ledger import LEDGER_HEAD, Ledger
from store.upgrade import Which, upgrade

ROOT = Path(__file__).parents[2]
HEADS: dict[Which, str] = {"ledger": LEDGER_HEAD, "business": BUSINESS_HEAD}
OPENERS = {"ledger": Ledger.database_at, "business": BusinessStore.database_at}
both = pytest.mark.parametrize("which", sorted(HEADS))


def create(path: Path, which: Which) -> Path:
    """A database as the program makes an empty one."""
    OPENERS[which](path).close()
    return path


def stamp(path: Path, version: str) -> None:
    run(path, f"UPDATE alembic_version SET version_num = '{version}'")


def run(path: Path, sql: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(sql).fetchall()


def clauses(sql: str) -> list[str]:
    """The columns and constraints of a CREATE TABLE, one by one, without their layout."""
    body, parts, depth = sql[sql.index("(") + 1 : sql.rindex(")")], [""], 0
    for character in body:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [re.sub(r"\s+", " ", part).strip() for part in parts]


def schema(path: Path) -> set[str]:
    """Everything a database promises, one line each: columns in their order, keys, checks, references, indexes."""
    lines: set[str] = set()
    for kind, name, sql in run(path, "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"):
        if kind == "table":
            lines |= {f"table {name}: column {row}" for row in run(path, f"PRAGMA table_info({name})")}
            lines |= {f"table {name}: reference {row[2:]}" for row in run(path, f"PRAGMA foreign_key_list({name})")}
        if kind == "table" and name != "alembic_version":  # Alembic gives its own table's key a name
            lines |= {f"table {name}: {clause}" for clause in clauses(sql)}
        if kind == "index":
            lines.add(re.sub(r"\s+", " ", sql))
    return lines


@both
def test_a_new_database_is_the_same_as_an_upgraded_one(tmp_path: Path, which: Which):
    created, upgraded = create(tmp_path / "created.sqlite", which), tmp_path / "upgraded.sqlite"
    upgrade(upgraded, which)

    assert {"only in the tables": sorted(schema(created) - schema(upgraded))} == {"only in the tables": []}
    assert {"only in the migrations": sorted(schema(upgraded) - schema(created))} == {"only in the migrations": []}


@both
def test_an_upgraded_database_opens(tmp_path: Path, which: Which):
    path = tmp_path / "deep" / "100% mine" / "data.sqlite"

    assert upgrade(path, which) == (None, HEADS[which])

    create(path, which)


@both
def test_a_database_of_today_is_not_touched_even_while_it_is_open(tmp_path: Path, which: Which):
    path = create(tmp_path / "data.sqlite", which)
    before = path.read_bytes()
    database = OPENERS[which](path)

    assert upgrade(path, which) == (HEADS[which], HEADS[which])

    database.close()
    assert path.read_bytes() == before


@both
@pytest.mark.parametrize(
    ("version", "error", "words"),
    [
        ("9999", DatabaseTooNew, "written by a newer Remit .version 9999.*Install that version again"),
        ("0000", DatabaseTooOld, "has version 0000, from which this Remit cannot upgrade"),
    ],
)
def test_an_unknown_version_is_refused_and_stays_as_it_is(
    tmp_path: Path, which: Which, version: str, error: type[StoreError], words: str
):
    path = create(tmp_path / "data.sqlite", which)
    stamp(path, version)
    before = path.read_bytes()

    with pytest.raises(error, match=words):
        upgrade(path, which)

    assert path.read_bytes() == before


@both
def test_a_database_of_another_program_is_refused_and_stays_as_it_is(tmp_path: Path, which: Which):
    path = tmp_path / "data.sqlite"
    run(path, "CREATE TABLE songs (title TEXT)")
    before = path.read_bytes()

    with pytest.raises(DatabaseTooOld, match="not one of Remit's databases; nothing was changed"):
        upgrade(path, which)

    assert path.read_bytes() == before


@both
def test_a_file_that_is_no_database_is_refused_and_stays_as_it_is(tmp_path: Path, which: Which):
    path = tmp_path / "data.sqlite"
    path.write_text("Dear diary, " * 100)

    with pytest.raises(DatabaseUnavailable, match="not a database"):
        upgrade(path, which)

    assert path.read_text() == "Dear diary, " * 100


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A ledger of a version from which there is a migration."""
    path = create(tmp_path / "data.sqlite", "ledger")
    stamp(path, "0000")
    monkeypatch.setattr(upgrading, "_versions", lambda config: ["0000", "0001"])
    monkeypatch.setattr(upgrading, "WAIT_S", 0.05)
    return path


def migrating(monkeypatch: pytest.MonkeyPatch, *statements: str) -> None:
    """Put these statements in the place of the migrations."""

    def migrate(config, revision):
        for statement in statements:
            config.attributes["connection"].exec_driver_sql(statement)

    monkeypatch.setattr(command, "upgrade", migrate)


LEADING_ON = ("CREATE TABLE songs (title TEXT)", "UPDATE alembic_version SET version_num = '0001'")


def test_an_upgrade_is_made_in_one_transaction(monkeypatch: pytest.MonkeyPatch, old: Path):
    migrating(monkeypatch, *LEADING_ON)

    assert upgrade(old, "ledger") == ("0000", "0001")

    assert run(old, "SELECT * FROM songs") == []


def test_an_upgrade_that_fails_half_way_leaves_the_old_version_whole(monkeypatch: pytest.MonkeyPatch, old: Path):
    before = schema(old)
    migrating(monkeypatch, *LEADING_ON, "ALTER TABLE runs DROP COLUMN seq", "DROP TABLE nowhere")

    with pytest.raises(DatabaseUnavailable, match=r"no such table: nowhere\. Nothing was changed"):
        upgrade(old, "ledger")

    assert schema(old) == before
    assert run(old, "SELECT version_num FROM alembic_version") == [("0000",)]


def test_an_upgrade_that_breaks_a_reference_leaves_the_old_version_whole(monkeypatch: pytest.MonkeyPatch, old: Path):
    migrating(
        monkeypatch, *LEADING_ON, "INSERT INTO attempts VALUES ('local', 'nobody', 1, 'd', 'loop', 1, 2, 'ended')"
    )

    with pytest.raises(DatabaseUnavailable, match="a row of attempts would refer to a row of runs"):
        upgrade(old, "ledger")

    assert run(old, "SELECT version_num FROM alembic_version") == [("0000",)]


def test_a_database_in_use_is_not_upgraded(monkeypatch: pytest.MonkeyPatch, old: Path):
    migrating(monkeypatch, *LEADING_ON)

    with closing(sqlite3.connect(old)) as another:
        another.execute("SELECT count(*) FROM runs").fetchall()
        with pytest.raises(DatabaseUnavailable, match=r"is in use; nothing was changed\. Stop every"):
            upgrade(old, "ledger")

    assert upgrade(old, "ledger") == ("0000", "0001")


def test_a_migration_that_stops_half_way_leaves_no_table_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    path = tmp_path / "data.sqlite"
    run(path, "CREATE TABLE tries (something TEXT)")  # in the way of one of the last tables of the first migration
    monkeypatch.setattr(upgrading, "_checked", lambda path, version, known: None)

    with pytest.raises(DatabaseUnavailable, match="table tries already exists"):
        upgrade(path, "ledger")

    assert schema(path) == {"table tries: column (0, 'something', 'TEXT', 0, None, 0)", "table tries: something TEXT"}


def test_opening_a_ledger_does_not_import_alembic(tmp_path: Path):
    text = (
        "import sys, pathlib; import store.upgrade; from store.ledger import Ledger;"
        "Ledger.database_at(pathlib.Path(sys.argv[1])).close(); sys.exit('alembic' in sys.modules)"
    )

    subprocess.run([sys.executable, "-c", text, tmp_path / "ledger.sqlite"], cwd=ROOT, check=True)


@both
def test_the_migrations_lead_to_the_version_that_the_program_writes(which: Which):
    files = sorted((ROOT / "store" / "migrations" / "versions" / which).glob("[0-9]*.py"))

    assert files[-1].name.startswith(HEADS[which])
