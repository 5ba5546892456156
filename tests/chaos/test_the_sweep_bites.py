"""The sweep finds what it is there to find: each rule it looks after is broken once, and it says so."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from store.business import BusinessStore, Found, Write
from tests.chaos import invariants
from tests.chaos.declared import APPROVES
from tests.chaos.scenarios import BY_ID
from tests.chaos.story import Case, prepare
from tests.chaos.trial import again, in_this_process, tell, told
from tests.support.boundaries import Boundaries, Boundary, raw_connection


class MakesOneEachTime(BusinessStore):
    """A target that knows no keys: it finds nothing again, and makes another object for each call."""

    def lookup(self, key: str) -> Found | None:
        return None

    def create(self, write: Write) -> Found:
        made = len(self.objects("ticket"))
        return super().create(replace(write, key=f"{write.key}#{made}", resource_version=None))


class WritesByTheWay(BusinessStore):
    """A target that commits where nobody counts."""

    def create(self, write: Write) -> Found:
        raw_connection(self.database).execute("UPDATE grants SET granted_by = granted_by")
        return super().create(write)


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Case]:
    """C1 with something else in it."""

    def made(**changes: Any) -> Case:
        monkeypatch.setitem(BY_ID, "X", replace(BY_ID["C1"], id="X", **changes))
        return Case("X")

    return made


def test_an_effect_that_a_death_repeats_is_found_out(folder: Path, story: Callable[..., Case]) -> None:
    case = story(given=lambda world, _: world.target(MakesOneEachTime))
    told(case, folder)
    first = Boundary.read("3.effect.1.after")

    verdict = tell(case, again(folder, first), (first,), in_this_process, first.process)

    assert any("tickets: [" in each for each in verdict.problems), verdict.problems


def test_a_commit_that_is_not_a_boundary_fails_the_sweep(folder: Path, story: Callable[..., Case]) -> None:
    whole = told(story(given=lambda world, _: world.target(WritesByTheWay)), folder)

    assert whole.problems == ["business: UPDATE grants SET granted_by = granted_by"]


def test_an_end_that_is_not_the_right_one_fails_the_sweep(folder: Path, story: Callable[..., Case]) -> None:
    rejects = replace(APPROVES, do=lambda run: run.reject(drive=False))

    whole = told(story(deeds=[rejects]), folder)

    assert whole.problems[0] == "status: denied/approval_rejected, not succeeded/completed"


def test_a_story_that_dies_where_nobody_asked_it_to_fails_the_sweep(folder: Path) -> None:
    case, nowhere = Case("C1"), Boundary(1, "ledger", 99, "before")
    prepare(case, folder / "told")

    assert tell(case, folder / "told", (nowhere,), in_this_process).problems == ["died 0 times instead of 1"]


def test_every_commit_is_heard_and_only_those_inside_their_event_are_counted(folder: Path) -> None:
    boundaries = Boundaries(1, folder / "log")
    connection = sqlite3.connect(folder / "db", isolation_level=None)
    boundaries.listen(connection, "ledger")

    connection.execute("CREATE TABLE t (x)")
    for statement in ("BEGIN", "INSERT INTO t VALUES (1)", "ROLLBACK", "BEGIN", "INSERT INTO t VALUES (2)"):
        connection.execute(statement)
    with boundaries.around("ledger", commits="ledger"):
        connection.execute("COMMIT")
        connection.execute("DELETE FROM t")
    connection.close()
    boundaries.close()

    assert boundaries.unnumbered == ["ledger: CREATE TABLE t (x)", "ledger: DELETE FROM t"]
    assert (folder / "log").read_text().split() == ["1.ledger.1.before", "1.ledger.1.after"]


UNTRUE = [
    ("ledger", "UPDATE decisions SET digest_seen = 'another'", "without an approval of exactly that"),
    ("ledger", "UPDATE decisions SET at = at + 60000", "without an approval of exactly that"),
    ("ledger", "UPDATE events SET payload = '{}' WHERE seq = 3", "the timeline is broken at 3"),
    ("ledger", "UPDATE runs SET seq = seq + 1", "events, the timeline has"),
    ("ledger", "UPDATE runs SET used_active_ms = max_active_ms + 1", "active_ms: used"),
    ("ledger", "UPDATE runs SET nonce = 'n', owner = 'o'", "a lease is left"),
    ("ledger", "UPDATE attempts SET ended_at = NULL WHERE fence = 1", "attempt 1 never ended"),
    ("ledger", "DELETE FROM events WHERE type = 'attempt.ended'", "begins while attempt 1 drives"),
    ("ledger", "UPDATE operations SET verified = NULL", "success without a read-back"),
    ("ledger", "UPDATE effects SET object_id = 'another'", "recorded as committed is"),
    ("ledger", "UPDATE runs SET result = json_set(result, '$.done', json('[]'))", "the end says []"),
    ("ledger", "UPDATE runs SET status = 'cancelled', reason = 'user'", "status: cancelled/user"),
    ("business", "DELETE FROM tickets", "objects without a key, or keys without an object"),
    ("business", "UPDATE tickets SET observed = recorded", "tickets: "),
]


@pytest.fixture(scope="module")
def true_end(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What C1 leaves, where all is right."""
    folder = tmp_path_factory.mktemp("true")
    assert told(Case("C1"), folder).problems == []
    return folder / "told"


@pytest.mark.parametrize(("store", "statement", "said"), UNTRUE)
def test_an_end_in_which_something_is_untrue_is_found_out(
    folder: Path, true_end: Path, store: str, statement: str, said: str
) -> None:
    left = shutil.copytree(true_end, folder / "left")
    with sqlite3.connect(left / "data" / f"{store}.sqlite") as connection:
        connection.execute(statement)
    connection.close()

    assert said in "\n".join(invariants.problems(Case("C1"), left))
