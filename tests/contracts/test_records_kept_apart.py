"""What is done about one run touches the records of no other run and of no other tenant, however alike they are.

Before every transaction, each record gets two doubles: one of another tenant under the same ids, one of the same tenant
under other ids. At the end of the transaction the doubles have to be as they were.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest
from sqlalchemy import MetaData
from sqlalchemy import text as sql

from store.business import BUSINESS_HEAD, business_metadata
from store.database import Connection, Database, Statement
from store.ledger import LEDGER_HEAD
from store.tables import metadata
from tests.support.stories import STORIES
from tests.support.world import World

# Both come before the real ones in every key.
OTHER_TENANT = "a-twin"
TWIN = "0-"
# By what a run's records are named. A task has one run here; versions of agents are shared.
IDS = {
    "runs": ("run_id", "task_id"),
    "tasks": ("task_id",),
    "attempts": ("run_id",),
    "turns": ("run_id",),
    "operations": ("operation_id", "run_id", "operation_key"),
    "effects": ("operation_key", "operation_id", "run_id"),
    "tries": ("operation_id",),
    "events": ("run_id",),
    "idempotency_keys": ("request_key", "run_id"),
    "approvals": ("approval_id", "run_id", "operation_id"),
    "decisions": ("approval_id",),
}

AMONG_DOUBLES = (
    "a_ticket_is_approved",
    "a_note_is_edited_and_then_rejected",
    "an_answer_is_lost_and_looked_up",
    "a_request_is_lost_and_made_again",
    "a_person_says_that_it_was_not_done",
    "a_target_is_busy",
    "the_same_is_asked_for_twice",
    "a_resource_changes",
    "nobody_answers",
    "more_budget_is_asked_for_and_given",
    "a_run_is_cancelled_after_its_commit",
    "a_run_is_paused_and_taken_over",
    "an_effect_is_taken_back",
    "a_process_dies_after_its_claim",
    "two_people_have_to_say_yes",
    "a_question_goes_on_to_a_second_role",
    "a_rule_says_yes_and_ends",
)


class Doubled(Database):
    """A database in which every record has its doubles."""

    known: ClassVar[MetaData] = metadata
    ids: ClassVar[dict[str, tuple[str, ...]]] = IDS

    @classmethod
    def of(cls, path: Path) -> Doubled:
        return cls(path, metadata, LEDGER_HEAD)

    @contextmanager
    def write(self) -> Generator[Connection]:
        with super().write() as connection:
            if not connection.all(_statement("SELECT name FROM sqlite_master"), {}):  # it is being made
                yield connection
                return
            connection.execute(_statement("PRAGMA defer_foreign_keys = ON"), {})
            self._doubled(connection)
            before = self._twins(connection)
            yield connection
            assert self._twins(connection) == before

    def _doubled(self, connection: Connection) -> None:
        for table in reversed(self.known.sorted_tables):
            connection.execute(_statement(f"DELETE FROM {table.name} WHERE {self._is_twin(table.name)}"), {})
        for table in self.known.sorted_tables:
            names = [each.name for each in table.columns if each.autoincrement is not True]
            renamed = {each: f"'{TWIN}' || {each}" for each in self.ids.get(table.name, ())}
            for changed in ({"tenant_id": f"'{OTHER_TENANT}'"}, renamed):
                values = ", ".join(changed.get(each, each) for each in names)
                real = f"SELECT {values} FROM {table.name} WHERE NOT ({self._is_twin(table.name)})"
                if changed:
                    connection.execute(_statement(f"INSERT INTO {table.name} ({', '.join(names)}) {real}"), {})

    def _twins(self, connection: Connection) -> dict[str, list[Any]]:
        return {
            table.name: connection.all(
                _statement(
                    f"SELECT {', '.join(table.columns.keys())} FROM {table.name} WHERE {self._is_twin(table.name)}"
                ),
                {},
            )
            for table in self.known.sorted_tables
        }

    def _is_twin(self, table: str) -> str:
        named = [f"{each} LIKE '{TWIN}%'" for each in self.ids.get(table, ())]
        return " OR ".join([f"tenant_id = '{OTHER_TENANT}'", *named])


@cache
def _statement(text: str) -> Statement:
    return Statement(sql(text.replace(":", "\\:")))


class DoubledBusiness(Doubled):
    """Its objects are listed for the tenant as a whole: their doubles are of another tenant alone."""

    known = business_metadata
    ids: ClassVar[dict[str, tuple[str, ...]]] = {}


@pytest.fixture
def doubled(loop_world: World) -> World:
    def business(path: Path) -> Database:
        return DoubledBusiness(path, business_metadata, BUSINESS_HEAD)

    loop_world.dies(ledger=Doubled.of, business=business)
    return loop_world


@pytest.mark.parametrize("name", AMONG_DOUBLES)
def test_a_story_goes_its_way_among_doubles_of_all_its_records_and_touches_none(doubled: World, name: str) -> None:
    STORIES[name](doubled)
