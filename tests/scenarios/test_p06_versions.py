"""P6: An approval holds for the version of the resource that it showed; and what happens where that is not checked."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest

from store.business import BusinessStore, Write
from tests.support.faults import does_first
from tests.support.without import without_expiry_at_the_claim, without_version_in_the_write
from tests.support.world import USER, RunInWorld, World

DAY_S = 24 * 3600


def two_approved(world: World) -> tuple[RunInWorld, RunInWorld]:
    """Two runs that would each write about the same record, both approved, neither begun."""
    runs = [world.ticket(source=each, record="r1") for each in ("gazette 7", "gazette 8")]
    first, second = (each.approve(drive=False) for each in runs)
    assert first.versions == second.versions == [(0, "approved")]
    return first, second


def test_of_two_approved_runs_on_one_version_one_commits_and_the_other_is_asked_anew(world: World) -> None:  # X16, A4
    first, second = two_approved(world)

    first.goes_on()
    second.goes_on()

    assert (first.status, second.status, len(world.tickets)) == ("succeeded/completed", "waiting/approval", 1)
    assert second.versions == [(0, "superseded"), (1, "pending")]
    assert second.tried == []
    second.approve()
    assert (second.status, len(world.tickets)) == ("succeeded/completed", 2)


@pytest.mark.parametrize("time", range(3))
def test_of_two_approved_runs_that_write_at_once_one_commits_and_the_other_is_asked_anew(  # X16
    world: World, time: int
) -> None:
    both = two_approved(world)
    with closing(world.elsewhere()) as other, ThreadPoolExecutor(2) as pool:
        start = threading.Barrier(2)
        there = [both[0], RunInWorld(other, both[1].run_id)]
        list(pool.map(lambda run: (start.wait(), run.goes_on()), there))

    assert sorted(each.status for each in both) == ["succeeded/completed", "waiting/approval"]
    assert len(world.tickets) == 1
    (asked,) = [each for each in both if each.questions]
    assert [version for version, _ in asked.versions] == [0, 1]


def test_a_new_preview_is_shown_and_the_old_approval_is_none(world: World) -> None:  # A4
    first, second = two_approved(world)
    first.goes_on()

    second.goes_on()

    (old, new) = [each for each in world.rows("approvals") if each["run_id"] == second.run_id]
    assert (old["status"], new["status"], new["resource_version"]) == ("superseded", "pending", 1)
    assert (old["approval_id"] != new["approval_id"], second.row.status) == (True, "waiting")


def test_without_the_version_in_the_write_a_stale_write_happens(world: World) -> None:  # K11, without
    blind = without_version_in_the_write()
    world.target(type("Both", (does_first(lambda: somebody_writes(world)), blind), {}))

    run = world.ticket(record="r1").approve()

    assert (run.status, run.versions, len(world.tickets)) == ("succeeded/completed", [(0, "approved")], 2)


def test_with_the_version_in_the_write_no_stale_write_happens(world: World) -> None:  # K11, with
    world.target(does_first(lambda: somebody_writes(world)))

    run = world.ticket(record="r1").approve()

    assert (run.status, len(world.tickets)) == ("waiting/approval", 1)
    assert [version for version, _ in run.versions] == [0, 1]


@pytest.mark.parametrize("checked", [True, False])
def test_an_approval_that_expired_before_the_claim_is_executed_only_where_the_claim_does_not_check(  # K10
    world: World, checked: bool
) -> None:
    if not checked:
        world.without(without_expiry_at_the_claim)
    run = world.ticket().approve(drive=False)

    world.clock.passes(seconds=DAY_S + 1)
    run.goes_on()

    assert (run.status, len(world.tickets)) == (("waiting/approval", 0) if checked else ("succeeded/completed", 1))


def somebody_writes(world: World) -> None:
    """Somebody else writes about the record."""
    fields = {"source": "x", "source_sha256": "", "record": "r1", "field": "f", "observed": "o", "recorded": ""}
    with closing(world.elsewhere()) as other:
        other.outside = replace(other.outside, business=BusinessStore)
        other.parts.business.create(Write("ticket", "other", "d", fields, USER, "record:r1", None))
