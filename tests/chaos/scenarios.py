"""The stories that are killed at every boundary, each a declaration: what is given, what people do when, how it ends.

C11 and C12 (a new process from before the approval; a driver replaced in the middle) have no story of their own: they
are what every crash of C2 is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from state.budget import Budget
from state.errors import RunAlreadyTerminal
from state.run import STATE_VERSION
from store import approvals
from tests.support.faults import LosesTheResponse, does_afterwards
from tests.support.without import AnythingIsCalledFor
from tests.support.world import NO_DATE, USER, RunInWorld, World, note

RUN = "run-1"
TICKET = ("2026-03-01", "2026-02-01")  # observed, recorded
FIELDS = {"source": "gazette 7", "field": "effective", "observed": TICKET[0], "recorded": TICKET[1]}
OTHER_VERSION = 999


@dataclass(frozen=True, slots=True)
class Deed:
    """What a person does, and by what they see that it is theirs to do; in a process of its own."""

    due: Callable[[RunInWorld], bool]
    do: Callable[[RunInWorld], Any]


@dataclass(frozen=True, slots=True)
class End:
    """The right end. `tickets` are (observed, recorded), oldest first; `turns` are those recorded and paid for."""

    status: str
    effect: str
    turns: int
    tickets: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the catalogue.

    `given` sets up each process of the story anew, knowing the types of the events so far; `before` happens once, and
    is never killed. `opened` says that the data directory is there already.
    """

    id: str
    end: End
    deeds: Sequence[Deed] = ()
    agent: str = "catalog-check"
    task: Callable[[World], dict[str, Any]] = field(default=lambda world: world.check_input())
    given: Callable[[World, list[str]], None] = field(default=lambda world, seen: None)
    before: Callable[[World], object] = field(default=lambda world: None)
    opened: bool = True


# --- what people do -----------------------------------------------------------------------------------------


def _is_asked(run: RunInWorld) -> bool:
    return run.status == "waiting/approval" and bool(run.questions)


def _has_ended(run: RunInWorld) -> bool:
    return run.row.ended


APPROVES = Deed(_is_asked, lambda run: run.approve(drive=False))
CANCELS = Deed(_is_asked, lambda run: run.cancel())


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
    lambda run: _is_asked(run) and _may_write(run),
    lambda run: run.world.parts.business.revoke(USER, "write:ticket"),
)


def _sees_the_ticket(run: RunInWorld) -> bool:
    return bool(run.world.tickets) and not run.row.ended and run.row.status != "cancelling"


CANCELS_AFTER_THE_COMMIT = Deed(
    lambda run: _sees_the_ticket(run) and run.row.desired_action == "none", lambda run: run.cancel()
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


def _cancelled_after_the_commit(world: World, _: list[str]) -> None:
    world.target(does_afterwards(lambda: RunInWorld(world, RUN).cancel()))


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


DONE = "succeeded/completed"
FIELDS_GIVEN: dict[str, Any] = {"agent": "ticket", "task": lambda _: dict(FIELDS)}

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
        given=_cancelled_after_the_commit,
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
)

BY_ID = {each.id: each for each in CATALOGUE}
ON_EVERY_ENGINE = ("C2", "C3", "C7", "C9")
IN_PAIRS = ("C1", "C2", "C3", "C7", "C9")
