"""What becomes of runs that run out of something, are stopped, or change hands."""

from __future__ import annotations

from state.actor import Actor
from state.budget import Budget, Usage
from state.errors import NotAllowed, ToolError
from tests.support.faults import crashing_ledger
from tests.support.provider import asks
from tests.support.telling import story
from tests.support.world import World, final, note, notes

DAY_S = 24 * 3600


@story
def nobody_answers(world: World) -> None:
    run = world.check()
    for _ in range(2):
        world.clock.passes(seconds=8 * DAY_S)
        run.goes_on()

    assert (run.status, run.writes) == ("timed_out/approval_expired", ["expired", "expired"])


@story
def the_deadline_passes(world: World) -> None:
    run = world.start("noter", {}, deadline=world.clock.now() + 60_000)
    world.clock.passes(seconds=61)
    run.goes_on()

    assert run.status == "timed_out/deadline"


@story
def the_budget_is_spent(world: World) -> None:
    world.agent_has(budget=Budget(turns=1))

    assert world.check().status == "budget_exceeded/turns"


@story
def more_budget_is_asked_for_and_given(world: World) -> None:
    world.agent_has(budget=Budget(turns=1), on_budget="ask")
    world.decider_says(note(), final())
    run = world.noter().approve()
    assert run.status == "waiting/budget"
    run.gets(turns=3)

    assert run.status == "succeeded/completed"


@story
def more_budget_is_refused(world: World) -> None:
    world.agent_has(budget=Budget(turns=1), on_budget="ask")
    run = world.check()
    world.parts.budgets.refuse(Actor("ada"), run.run_id)
    run.goes_on()

    assert run.status == "budget_exceeded/turns"


@story
def a_model_is_busy(world: World) -> None:
    usage = Usage(model_calls=1, input_tokens=100, output_tokens=7)
    busy = [ToolError("transient", "come again"), ToolError("rate_limited", "come again", retry_after_s=7.0)]
    asks(world, *busy, {**note(), "usage": usage.model_dump()}, {**final(), "usage": usage.model_dump()})
    run = world.noter().approve()

    assert (run.status, run.row.used["model_calls"]) == ("succeeded/completed", 4)


@story
def a_model_fails(world: World) -> None:
    asks(world, ToolError("internal", "no such model"))

    assert world.noter().status == "failed/model_failed"


@story
def a_run_is_cancelled(world: World) -> None:
    world.decider_says(notes("a", "b"))
    run = world.noter()
    run.cancel()

    assert (run.status, run.writes) == ("cancelled/user", ["cancelled", "cancelled"])


@story
def a_run_is_cancelled_after_its_commit(world: World) -> None:
    run = world.cancelled_after_its_commit()

    assert (run.status, run.effect) == ("cancelled/user", "committed")


@story
def a_run_is_paused_and_taken_over(world: World) -> None:
    run = world.check()
    run.pause()
    run.resume()
    assert run.status == "waiting/approval"
    run.take_over()
    assert (run.status, run.writes) == ("waiting/takeover", ["cancelled"])
    run.cancel()

    assert run.status == "cancelled/user"


@story
def an_effect_is_taken_back(world: World) -> None:
    made = world.check().approve()
    world.compensate(made.ticket_made.operation_id).approve()

    assert (len(world.tickets), len(world.withdrawals)) == (1, 1)


@story
def a_process_dies_after_its_claim(world: World) -> None:
    run = world.check().approve(drive=False)
    world.restart()
    world.dies(ledger=crashing_ledger(2, "after"))
    run.crashes()
    world.restart()
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


@story
def an_agent_is_gone_and_comes_back(world: World) -> None:
    run = world.check().approve(drive=False)
    world.agent_has(instructions="other instructions")
    world.restart()
    run.goes_on()
    assert run.status == "waiting/migration"
    world.changes.clear()
    world.restart()
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


@story
def somebody_may_not(world: World) -> None:
    run = world.check()
    for act in (run.cancel, run.pause, run.take_over):
        try:
            act(by="mallory")
        except NotAllowed:
            continue
        raise AssertionError("allowed")

    assert run.status == "waiting/approval"


@story
def a_decider_says_that_all_is_done(world: World) -> None:
    world.decider_says(final())

    assert world.noter().status == "succeeded/completed"


@story
def a_requester_loses_the_right_to_start(world: World) -> None:
    run = world.check()
    world.forbid("ada", "start")
    run.approve()

    assert (run.status, world.tickets) == ("denied/permission_revoked", [])
