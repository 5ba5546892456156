"""Stories of the other doors: pause, expiry, more budget, taking a run over, and taking an effect back."""

from __future__ import annotations

from state.actor import Actor
from state.budget import Budget
from state.errors import RunNotFound
from tests.chaos.declared import (
    APPROVES,
    CANCELS,
    CANCELS_AFTER_THE_COMMIT,
    DONE,
    FIELDS_GIVEN,
    TICKET,
    Deed,
    End,
    Scenario,
    cancelled_after_the_commit,
    is_asked,
)
from tests.support.world import USER, RunInWorld, World

TAKING_BACK = "run-2"
ADA = Actor(USER)

# --- pause --------------------------------------------------------------------------------------------------

PAUSES = Deed(
    lambda run: run.status in {"queued", "waiting/approval"} and "run.pause_requested" not in run.timeline,
    lambda run: run.pause(),
)
PAUSES_ONCE_APPROVED = Deed(lambda run: run.status == "queued" and PAUSES.due(run), PAUSES.do)
RESUMES = Deed(lambda run: run.status == "paused/user", lambda run: run.world.parts.controls.resume(ADA, run.run_id))

# --- expiry -------------------------------------------------------------------------------------------------


def _has_expired(run: RunInWorld) -> bool:
    return "approval.expired" in run.timeline


def _valid_until(run: RunInWorld) -> int:
    return max(each["expires_at"] for each in run.world.rows("approvals") if each["run_id"] == run.run_id)


def _is_approved_and_valid(run: RunInWorld) -> bool:
    return run.status == "queued" and run.writes == ["approved"] and _valid_until(run) > run.world.clock.now()


APPROVES_WHAT_IS_ASKED_AGAIN = Deed(lambda run: is_asked(run) and _has_expired(run), APPROVES.do)
NOBODY_DRIVES_FOR_LONG = Deed(
    _is_approved_and_valid,
    lambda run: run.world.clock.passes(seconds=(_valid_until(run) - run.world.clock.now()) / 1000),
)

# --- budget -------------------------------------------------------------------------------------------------


def _wants_more(run: RunInWorld) -> bool:
    return run.status == "waiting/budget"


GIVES_TWO_TURNS = Deed(_wants_more, lambda run: run.world.parts.budgets.grant(ADA, run.run_id, {"turns": 2}))
GIVES_NOTHING = Deed(_wants_more, lambda run: run.world.parts.budgets.refuse(ADA, run.run_id))


def _one_turn(world: World, _: list[str]) -> None:
    world.agent_has(budget=Budget(turns=1), on_budget="ask")


# --- taking over --------------------------------------------------------------------------------------------

TAKES_OVER = Deed(is_asked, lambda run: run.take_over())
CANCELS_WHAT_WAS_TAKEN_OVER = Deed(lambda run: run.status == "waiting/takeover", CANCELS.do)

# --- taking back --------------------------------------------------------------------------------------------


def _taking_back(run: RunInWorld) -> RunInWorld | None:
    """The run that takes the ticket back, once there is one."""
    try:
        run.world.parts.ledger.run(TAKING_BACK)
    except RunNotFound:
        return None
    return RunInWorld(run.world, TAKING_BACK)


def _is_to_be_taken_back(run: RunInWorld) -> bool:
    taking_back = _taking_back(run)
    return run.row.ended and (taking_back is None or not taking_back.row.ended)


def _takes_back(run: RunInWorld) -> None:
    """The next thing of it: ask for it, approve it, drive it on."""
    world, taking_back = run.world, _taking_back(run)
    if taking_back is None:
        named = {"operation": run.ticket_made.operation_id}
        world.parts.accept.run(ADA, "compensation", named, run_id=TAKING_BACK, engine=world.engine_name)
    elif is_asked(taking_back):
        taking_back.approve(drive=False)
    else:
        taking_back.goes_on()


TAKES_THE_TICKET_BACK = Deed(_is_to_be_taken_back, _takes_back)


DOORS = (
    Scenario(
        "paused",
        End(DONE, "committed", 1, [TICKET]),
        [PAUSES_ONCE_APPROVED, APPROVES, RESUMES],
        passes=["run.pause_requested", "run.paused"],
        **FIELDS_GIVEN,
    ),
    Scenario(
        "paused-asked",
        End(DONE, "committed", 1, [TICKET]),
        [PAUSES, APPROVES, RESUMES],
        passes=["run.pause_requested", "run.paused"],
        **FIELDS_GIVEN,
    ),
    Scenario(
        "expired",
        End(DONE, "committed", 1, [TICKET]),
        [APPROVES_WHAT_IS_ASKED_AGAIN],
        passes=["approval.expired"],
        **FIELDS_GIVEN,
    ),
    Scenario(
        "expired-approved",
        End(DONE, "committed", 1, [TICKET]),
        [NOBODY_DRIVES_FOR_LONG, APPROVES],
        passes=["approval.expired"],
        **FIELDS_GIVEN,
    ),
    Scenario(
        "more-budget",
        End(DONE, "committed", 3, [TICKET]),
        [GIVES_TWO_TURNS, APPROVES],
        given=_one_turn,
        passes=["run.waiting_budget", "run.budget_granted"],
    ),
    Scenario(
        "no-more-budget",
        End("budget_exceeded/turns", "none", 1),
        [GIVES_NOTHING],
        given=_one_turn,
        passes=["run.waiting_budget"],
    ),
    Scenario(
        "taken-over",
        End("cancelled/user", "none", 1),
        [TAKES_OVER, CANCELS_WHAT_WAS_TAKEN_OVER],
        passes=["run.taken_over"],
        **FIELDS_GIVEN,
    ),
    Scenario(
        "taken-back",
        End("cancelled/user", "committed", 1, [TICKET], withdrawals=1),
        [CANCELS_AFTER_THE_COMMIT, TAKES_THE_TICKET_BACK, APPROVES],
        given=cancelled_after_the_commit,
        **FIELDS_GIVEN,
    ),
)
