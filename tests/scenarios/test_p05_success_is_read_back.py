"""P5: Success means that an independent read-back agrees with what was approved and with what the sources call for."""

from __future__ import annotations

from typing import Any

import pytest

from state.operation import Action
from store.business import BusinessStore
from tests.support.faults import does_afterwards
from tests.support.without import AnythingIsCalledFor, reads_back_what_was_approved
from tests.support.world import NO_DATE, NOTICE, World, final

UNNAMED = "Rule on widgets\n\nThis rule takes effect 60 days after the approval by the Council.\n"
PARTS = "Rule\n\nSection 1 takes effect on March 1, 2026. Section 2 takes effect on May 1, 2026.\n"


def test_nothing_is_done_where_the_dates_agree(world: World) -> None:  # C13
    run = world.check(record="r2")

    assert world.tickets == []
    assert (run.status, run.effect, run.writes) == ("succeeded/nothing_to_do", "none", [])


@pytest.mark.parametrize("notice", [NO_DATE, UNNAMED, PARTS])
@pytest.mark.parametrize("record", ["r1", "r2"])
def test_a_notice_that_cannot_be_told_is_said_to_be_so(world: World, notice: str, record: str) -> None:  # C14
    run = world.check(notice, record)

    assert world.tickets == []
    assert run.status == "insufficient_evidence/evidence_missing"


def test_a_proposal_before_both_materials_were_read_is_refused(world: World) -> None:  # C15
    ticket = _ticket(observed="2026-03-01", recorded="2026-02-01")
    world.decider_says({"kind": "actions", "actions": [{"tool": "read_notice", "arguments": {}}]}, ticket)

    run = world.check()

    assert (run.status, world.tickets, run.writes) == ("failed/proposal_invalid", [], [])
    assert run.timeline.count("proposal.refused") == 3


def test_swapped_values_are_refused(world: World) -> None:  # C17
    run = _swaps(world)

    assert (run.status, world.tickets, run.writes) == ("failed/proposal_invalid", [], [])


def test_swapped_values_that_slipped_past_validation_and_were_approved_fail_verification(world: World) -> None:  # C17
    world.wrap_rules = AnythingIsCalledFor
    run = _swaps(world)
    assert run.status == "waiting/approval"

    world.wrap_rules = None
    world.restart()
    run.approve()

    assert (run.status, run.effect, len(world.tickets)) == ("failed/verification_failed", "committed", 1)


def test_a_row_changed_from_outside_after_the_commit_fails_verification(world: World) -> None:  # K4, with
    world.target(_spoiled(world))
    run = world.ticket()

    run.approve()

    assert (run.status, run.effect, run.operations[-1].verified) == ("failed/verification_failed", "committed", False)
    assert "verification.failed" in run.timeline


def test_without_a_read_back_the_changed_row_is_reported_as_success(world: World) -> None:  # K4, without
    world.target(_spoiled(world))
    fields = {"source": "gazette 7", "source_sha256": "", "record": "", "field": "effective"}
    reader = reads_back_what_was_approved({**fields, "observed": "2026-03-01", "recorded": "2026-02-01"})
    world.reader(reader)

    run = world.ticket().approve()

    assert (run.status, world.tickets[0]["observed"]) == ("succeeded/completed", "spoiled")


def test_a_decider_that_says_done_without_the_ticket_is_not_believed(world: World) -> None:
    read = [{"tool": "read_notice", "arguments": {}}, {"tool": "read_record", "arguments": {"record": "r1"}}]
    world.decider_says({"kind": "actions", "actions": read}, final("completed"))

    run = world.check(NOTICE)

    assert (run.status, world.tickets) == ("failed/proposal_invalid", [])


def _ticket(**values: str) -> dict[str, Any]:
    arguments = {"source": "notice.md", "record": "r1", "field": "effective", **values}
    return {"kind": "actions", "actions": [Action(tool="create_ticket", arguments=arguments).model_dump()]}


def _swaps(world: World) -> Any:
    read = [{"tool": "read_notice", "arguments": {}}, {"tool": "read_record", "arguments": {"record": "r1"}}]
    swapped = _ticket(observed="2026-02-01", recorded="2026-03-01")
    world.decider_says({"kind": "actions", "actions": read}, swapped)
    return world.check()


def _spoiled(world: World) -> type[BusinessStore]:
    """Somebody changes the row right after it was committed, on a connection of their own."""

    def spoil() -> None:
        import sqlite3

        with sqlite3.connect(world.parts.settings.business_path) as connection:
            connection.execute("UPDATE tickets SET observed = 'spoiled'")
        connection.close()

    return does_afterwards(spoil)
