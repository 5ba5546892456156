"""The stories that are killed at every boundary, each a declaration: what is given, what people do when, how it ends.

C11 and C12 (a new process from before the approval; a driver replaced in the middle) have no story of their own: they
are what every crash of C2 is.
"""

from __future__ import annotations

from typing import Any

from state.budget import Budget
from state.errors import RunAlreadyTerminal
from state.run import STATE_VERSION
from store import approvals
from tests.chaos.declared import (
    APPROVES,
    CANCELS,
    CANCELS_AFTER_THE_COMMIT,
    DONE,
    FIELDS,
    FIELDS_GIVEN,
    TICKET,
    Deed,
    End,
    Scenario,
    cancelled_after_the_commit,
    is_asked,
)
from tests.chaos.doors import DOORS
from tests.chaos.letters import LETTERS
from tests.support.faults import LosesTheResponse
from tests.support.without import AnythingIsCalledFor
from tests.support.world import NO_DATE, USER, RunInWorld, World, note

OTHER_VERSION = 999


# --- what people do -----------------------------------------------------------------------------------------


def _has_ended(run: RunInWorld) -> bool:
    return run.row.ended


def _approves_too_late(run: RunInWorld) -> None:
    with run.world.parts.ledger.database.read() as connection:
        (asked,) = approvals.of_run(connection, "local", run.run_id)
    try:
        run.answer({"decisions": [{"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}]})
    except RunAlreadyTerminal:
        return
    raise AssertionError("an answer was taken after the end")


def _was_told_no(run: RunInWorld) -> bool:
    return any(each["action"] == "approval.decide" and each["result"] == "refused" for each in run.world.audit)


APPROVES_TOO_LATE = Deed(lambda run: _has_ended(run) and not _was_told_no(run), _approves_too_late)


def _may_write(run: RunInWorld) -> bool:
    return run.world.parts.business.may(USER, "write:ticket", None) is not None


REVOKES = Deed(
    lambda run: is_asked(run) and _may_write(run),
    lambda run: run.world.parts.business.revoke(USER, "write:ticket"),
)


ANOTHER_VERSION_COMES = Deed(
    lambda run: (
        run.status == "queued"
        and run.row.state_version == STATE_VERSION
        and "run.waiting_migration" not in run.timeline
    ),
    lambda run: run.world.state_version_of(run, OTHER_VERSION),
)
THE_RIGHT_VERSION_COMES = Deed(
    lambda run: run.status == "waiting/migration" and run.row.state_version == OTHER_VERSION,
    lambda run: run.world.state_version_of(run, STATE_VERSION),
)


# --- what is given ------------------------------------------------------------------------------------------


def _read_both(*then: Any) -> list[Any]:
    record = {"tool": "read_record", "arguments": {"record": "r1"}}
    return [{"kind": "actions", "actions": [{"tool": "read_notice", "arguments": {}}, record]}, *then]


def _ticket(observed: str, recorded: str) -> dict[str, Any]:
    values = {"source": "notice.md", "record": "r1", "field": "effective", "observed": observed, "recorded": recorded}
    return {"kind": "actions", "actions": [{"tool": "create_ticket", "arguments": values}]}


SWAPPED = _ticket(TICKET[1], TICKET[0])


def _reads_one_material(world: World, _: list[str]) -> None:
    one = {"kind": "actions", "actions": [{"tool": "read_notice", "arguments": {}}]}
    world.decider_says(one, _ticket(*TICKET))


def _slips_past(world: World, seen: list[str]) -> None:
    """Nobody validates until somebody has approved by mistake."""
    world.decider_says(*_read_both(SWAPPED))
    if "approval.decided" not in seen:
        world.wrap_rules = AnythingIsCalledFor


def _first_ticket(world: World) -> None:
    world.ticket().approve()


CATALOGUE = (
    Scenario("C1", End(DONE, "committed", 1, [TICKET]), [APPROVES], **FIELDS_GIVEN),
    Scenario("C2", End(DONE, "committed", 3, [TICKET]), [APPROVES]),
    Scenario(
        "C3",
        End(DONE, "committed", 3, [TICKET]),
        [APPROVES],
        given=lambda world, _: world.target(LosesTheResponse),
    ),
    Scenario(
        "C4",
        End("failed/proposal_invalid", "none", 3),
        agent="noter",
        task=lambda _: {},
        given=lambda world, _: world.decider_says(note(approved=True)) and None,
    ),
    Scenario(
        "C5",
        End("budget_exceeded/turns", "none", 1),
        given=lambda world, _: world.agent_has(budget=Budget(turns=1)),
    ),
    Scenario("C6", End("denied/permission_revoked", "none", 3), [REVOKES, APPROVES]),
    Scenario("C7", End("cancelled/user", "none", 3), [CANCELS, APPROVES_TOO_LATE]),
    Scenario(
        "C8",
        End(DONE, "committed", 3, [TICKET]),
        [APPROVES, ANOTHER_VERSION_COMES, THE_RIGHT_VERSION_COMES],
    ),
    Scenario(
        "C9",
        End("cancelled/user", "committed", 3, [TICKET]),
        [CANCELS_AFTER_THE_COMMIT, APPROVES],
        given=cancelled_after_the_commit,
    ),
    Scenario(
        "C10",
        End("failed/tool_failed", "none", 1, [TICKET]),
        [APPROVES],
        agent="ticket",
        task=lambda _: FIELDS | {"observed": "2027-12-31"},
        before=_first_ticket,
    ),
    Scenario("C13", End("succeeded/nothing_to_do", "none", 3), task=lambda world: world.check_input(record="r2")),
    Scenario(
        "C14",
        End("insufficient_evidence/evidence_missing", "none", 3),
        task=lambda world: world.check_input(NO_DATE),
    ),
    Scenario("C15", End("failed/proposal_invalid", "none", 4), given=_reads_one_material),
    Scenario(
        "C17",
        End("failed/proposal_invalid", "none", 4),
        given=lambda world, _: world.decider_says(*_read_both(SWAPPED)) and None,
    ),
    Scenario(
        "C17-approved",
        End("failed/verification_failed", "committed", 2, [(TICKET[1], TICKET[0])]),
        [APPROVES],
        given=_slips_past,
    ),
    Scenario("first-opening", End(DONE, "committed", 1, [TICKET]), [APPROVES], opened=False, **FIELDS_GIVEN),
    *DOORS,
    *LETTERS,
)

BY_ID = {each.id: each for each in CATALOGUE}
ON_EVERY_ENGINE = ("C2", "C3", "C7", "C9")
IN_PAIRS = ("C1", "C2", "C3", "C7", "C9", "settled-done")
IN_ALL_PAIRS = (*IN_PAIRS, "never-arrived", "busy", "taken-back")  # where time is no matter
