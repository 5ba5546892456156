"""What goes when old runs are pruned, what stays, who may, and what a crash in the middle leaves."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select

from graphs.checkpointers import sqlite_saver
from service.retention import Retention
from state.actor import Actor
from state.errors import InputInvalid, NotAllowed
from store import prune
from store.database import Statement, inserting
from store.tables import effects, events, metadata, outbox
from tests.support.faults import CannotBeAsked, Crash, crashing_ledger
from tests.support.target import Box, letters, refuses
from tests.support.world import USER, RunInWorld, World, final, note, notes

DAY_S = 24 * 3600
OF_NO_RUN = {"audit", "permissions", "effects"}  # tables that hold more than what is about one run


def pruned(world: World, days: float = 90, *, by: str = USER, batch: int = prune.BATCH, **more: Any) -> dict[str, Any]:
    age = int(days * DAY_S * 1000)
    return Retention(world.parts, Actor(by), batch).prune(age, **more)["counts"]


def rows(world: World) -> dict[str, int]:
    """The tables of the ledger that are not empty, with the number of their rows."""
    counts = {
        table.name: Statement(select(func.count().label("n")).select_from(table)) for table in metadata.tables.values()
    }
    with world.parts.ledger.database.read() as connection:
        found = {name: connection.all(count, {})[0]["n"] for name, count in counts.items()}
    return {name: count for name, count in found.items() if count}


def statuses_of_effects(world: World) -> list[str]:
    with world.parts.ledger.database.read() as connection:
        return sorted(each["status"] for each in connection.all(Statement(select(effects)), {}))


def noted(world: World) -> list[dict[str, Any]]:
    return [each for each in world.audit if each["action"] == "prune"]


def heads(world: World) -> list[dict[str, Any]]:
    return [head for each in noted(world) for head in each["detail"]["runs"]]


def ended(world: World, count: int) -> list[RunInWorld]:
    """Runs that have ended, each after a note and an approval."""
    made: list[RunInWorld] = []
    for number in range(count):
        world.decider_says(note(subject=f"subject {number}"), final())
        made.append(world.noter().approve())
        assert made[-1].status == "succeeded/completed"
        world.restart()
    world.decider = None
    return made


def test_nothing_is_left_of_an_old_run_but_what_protects_and_what_proves(world: World) -> None:
    run = world.check().approve()
    head = run.events[-1]["seq"]
    world.clock.passes(seconds=90 * DAY_S + 1)

    counts = pruned(world)

    assert set(rows(world)) == OF_NO_RUN
    assert statuses_of_effects(world) == ["committed"]
    assert (counts["runs"], counts["tasks"], counts["agent_versions"], counts["events"]) == (1, 1, 1, head)
    (entry,) = noted(world)
    assert (entry["actor"], entry["result"], entry["rule"]) == (USER, "removed", f"granted: {USER} prune *")
    assert [(each["run_id"], each["events"]) for each in entry["detail"]["runs"]] == [(run.run_id, head)]


def test_the_head_that_is_kept_is_that_of_the_chain(loop_world: World) -> None:
    run = ended(loop_world, 1)[0]
    last = Statement(select(events.c.run_id, events.c.seq, events.c.hash).order_by(events.c.seq.desc()).limit(1))
    with loop_world.parts.ledger.database.read() as connection:
        head = connection.one(last, {})
    loop_world.clock.passes(seconds=1)

    pruned(loop_world, 0)

    assert head is not None
    assert [(each["events"], each["head"]) for each in heads(loop_world)] == [(head["seq"], head["hash"])]
    assert run.run_id == heads(loop_world)[0]["run_id"]


def test_the_checkpoints_of_a_run_go_with_it(tmp_path: Any) -> None:
    world = World(tmp_path, "langgraph")
    old, young = ended(world, 2)
    world.clock.passes(seconds=1)
    path = world.parts.settings.checkpoints_path
    with world.parts.ledger.control(young.run_id, Actor(USER)) as tx:
        tx.set(ended_at=world.clock.now())

    pruned(world, 0)

    with sqlite_saver(path) as saver:
        kept = [each.run_id for each in (old, young) if saver.get({"configurable": {"thread_id": each.run_id}})]
    world.close()
    assert kept == [young.run_id]


def test_a_run_that_is_young_or_not_over_stays(world: World) -> None:
    ended(world, 1)
    waits = world.check()
    paused = world.start("noter", {}, drive=False)
    paused.pause()
    paused.goes_on()
    queued = world.start("noter", {}, drive=False)
    world.clock.passes(seconds=89 * DAY_S)
    before = {each.run_id: each.row for each in (waits, paused, queued)}

    assert pruned(world)["runs"] == 0
    world.clock.passes(seconds=2 * DAY_S)
    assert pruned(world)["runs"] == 1

    assert {each.run_id: each.row for each in (waits, paused, queued)} == before


def test_a_run_with_an_effect_in_doubt_stays_until_somebody_knows(world: World) -> None:
    world.target(CannotBeAsked)
    run = world.check().approve().waits_it_out()
    run.cancel()
    assert (run.status, run.effect) == ("cancelled/user", "unknown")
    world.clock.passes(seconds=400 * DAY_S)

    assert pruned(world)["runs"] == 0

    assert (run.effect, statuses_of_effects(world)) == ("unknown", ["unknown"])


def test_the_key_of_an_effect_that_failed_protects_nothing_and_goes(loop_world: World) -> None:
    loop_world.sends_letters(Box(before=[refuses] * 9), letters("bob"))
    run = loop_world.noter().approve()
    assert statuses_of_effects(loop_world) == ["failed"]
    loop_world.clock.passes(seconds=1)

    counts = pruned(loop_world, 0)

    assert (run.run_id, counts["failed_effects"], statuses_of_effects(loop_world)) == (run.run_id, 1, [])


def test_a_request_key_keeps_its_run_for_thirty_days(loop_world: World) -> None:
    loop_world.decider_says(final())
    loop_world.start("noter", {}, request_key="k")
    loop_world.clock.passes(seconds=29 * DAY_S)
    assert pruned(loop_world, 1)["runs"] == 0

    loop_world.clock.passes(seconds=2 * DAY_S)

    assert pruned(loop_world, 1)["request_keys"] == 1
    assert set(rows(loop_world)) <= OF_NO_RUN


def test_a_dry_run_counts_what_would_go_and_removes_nothing(loop_world: World) -> None:
    ended(loop_world, 3)
    loop_world.clock.passes(seconds=1)
    before = rows(loop_world)

    counted = pruned(loop_world, 0, dry_run=True, batch=2)

    assert rows(loop_world) == before
    removed = pruned(loop_world, 0, batch=2)
    assert {**counted, "tasks": 3, "agent_versions": 1} == removed


def test_only_who_may_prunes_and_a_refusal_is_noted(loop_world: World) -> None:
    ended(loop_world, 1)
    loop_world.clock.passes(seconds=1)

    with pytest.raises(NotAllowed, match="remit grants give bob prune"):
        pruned(loop_world, 0, by="bob")

    assert [(each["actor"], each["result"]) for each in noted(loop_world)] == [("bob", "denied")]
    loop_world.permit("bob", "prune")
    assert pruned(loop_world, 0, by="bob")["runs"] == 1


def test_an_age_that_lies_ahead_is_refused(loop_world: World) -> None:
    with pytest.raises(InputInvalid):
        pruned(loop_world, -1)


CRASHES = [(2, "before", 0), (2, "after", 2), (3, "before", 2), (3, "after", 4)]


@pytest.mark.parametrize(("dies_at", "when", "gone"), CRASHES)
def test_a_crash_leaves_whole_batches_and_the_rest_goes_later(world: World, dies_at: int, when: str, gone: int) -> None:
    made = ended(world, 4)
    world.clock.passes(seconds=1)
    world.dies(ledger=crashing_ledger(dies_at, when))  # the first commit says who may, each of the others is a batch
    with pytest.raises(Crash):
        pruned(world, 0, batch=2)

    world.restart()
    assert len(heads(world)) == gone
    assert pruned(world, 0, batch=2)["runs"] == 4 - gone
    assert {each["run_id"] for each in heads(world)} == {each.run_id for each in made}
    assert set(rows(world)) == OF_NO_RUN


def test_what_is_not_over_is_not_removed_whoever_says_that_it_is(world: World) -> None:
    waits, over = world.check(), ended(world, 1)[0]
    world.clock.passes(seconds=1)
    ledger, now = world.parts.ledger, world.clock.now()

    with ledger.database.write() as connection:
        removed = prune.remove(connection, "local", now, now, [waits.run_id, "nobody", over.run_id, over.run_id], USER)

    assert [each["run_id"] for each in removed.heads] == [over.run_id]
    assert waits.approve().status == "succeeded/completed"


def test_the_file_of_a_dead_owner_goes_once_no_run_names_it(loop_world: World) -> None:
    run = loop_world.start("noter", {}, drive=False)
    loop_world.parts.driving("loop").claim(run.run_id)
    died = loop_world.parts.owner.name
    loop_world.restart()
    folder = loop_world.parts.settings.data_dir / "owners"

    assert (pruned(loop_world)["owner_files"], (folder / died).exists()) == (0, True)
    loop_world.decider_says(final())
    run.goes_on()
    assert pruned(loop_world, dry_run=True)["owner_files"] == 1
    assert (pruned(loop_world)["owner_files"], (folder / died).exists()) == (1, False)
    assert (folder / loop_world.parts.owner.name).exists()


def test_the_file_of_a_dead_owner_stays_while_it_proves_what_became_of_an_effect(loop_world: World) -> None:
    loop_world.target(CannotBeAsked)
    loop_world.check().approve().waits_it_out()
    died = loop_world.parts.owner.name

    loop_world.restart()

    assert pruned(loop_world)["owner_files"] == 0
    assert (loop_world.parts.settings.data_dir / "owners" / died).exists()


def test_every_table_that_is_about_a_run_is_emptied(loop_world: World) -> None:
    loop_world.decider_says(notes("one", "two"), final())
    run = loop_world.start("noter", {}, request_key="k").approve()
    message = {"tenant_id": "local", "message_id": "m", "type": "run.completed", "run_id": run.run_id, "payload": "{}"}
    times = {"created_at": 0, "next_at": 0, "status": "sent", "tries": 1, "last_error": None, "done_at": 0}
    with loop_world.parts.ledger.database.write() as connection:
        connection.execute(inserting(outbox), message | times)
    about_runs = {name for name, table in metadata.tables.items() if "run_id" in table.c or table.foreign_keys}
    assert about_runs <= set(rows(loop_world)) | OF_NO_RUN

    loop_world.clock.passes(seconds=31 * DAY_S)
    pruned(loop_world, 1)

    assert set(rows(loop_world)) & about_runs <= OF_NO_RUN
