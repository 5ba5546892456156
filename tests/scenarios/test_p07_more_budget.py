"""P7: Budgets hold; an agent that may ask waits for somebody to give more, and nothing is spent in silence."""

from __future__ import annotations

from typing import Any

import pytest

from nodes.budgets import MAX_GRANT, MAX_LIMIT
from state.actor import Actor
from state.budget import Budget
from state.errors import Conflict, InputInvalid, NotAllowed, RunAlreadyTerminal
from tests.support.world import RunInWorld, World


def out_of_turns(world: World) -> RunInWorld:
    """A check that has read one material and has no turn left, and may ask for more."""
    world.agent_has(budget=Budget(turns=1), on_budget="ask")
    run = world.check()
    assert (run.status, run.decided) == ("waiting/budget", 1)
    return run


def test_a_run_that_may_ask_goes_on_with_what_somebody_gives(world: World) -> None:
    run = out_of_turns(world)

    run.gets(turns=2)

    assert (run.status, run.decided, run.row.limits["turns"]) == ("waiting/approval", 3, 3)
    assert world.audit[-1]["action"] == "budget.grant"
    assert "run.budget_granted" in run.timeline


def test_what_is_given_is_used_up_and_asked_for_again(world: World) -> None:
    run = out_of_turns(world)

    run.gets(turns=1)

    assert (run.status, run.decided) == ("waiting/budget", 2)


def test_a_refusal_ends_the_run_for_want_of_what_was_asked(world: World) -> None:
    run = out_of_turns(world)

    world.parts.budgets.refuse(Actor("ada"), run.run_id)
    run.goes_on()

    assert (run.status, run.effect, world.tickets) == ("budget_exceeded/turns", "none", [])


def test_only_who_may_give_gives(world: World) -> None:
    run = out_of_turns(world)

    with pytest.raises(NotAllowed, match="may not give budget"):
        run.gets(by="eve", turns=5)

    assert (run.status, run.row.limits["turns"]) == ("waiting/budget", 1)
    assert (world.audit[-1]["actor"], world.audit[-1]["result"]) == ("eve", "denied")


def test_a_run_that_waits_for_budget_uses_no_active_time_and_ends_at_its_deadline(world: World) -> None:
    world.agent_has(budget=Budget(turns=1), on_budget="ask")
    run = world.start("catalog-check", world.check_input(), deadline=world.clock.now() + 60_000)
    used = run.row.used["active_ms"]

    world.clock.passes(seconds=61)
    run.goes_on()

    assert (run.status, run.row.used["active_ms"]) == ("timed_out/deadline", used)


def test_an_agent_that_may_not_ask_ends(world: World) -> None:
    world.agent_has(budget=Budget(turns=1))

    assert world.check().status == "budget_exceeded/turns"


@pytest.mark.parametrize(
    "more", [{}, {"turns": 0}, {"turns": -1}, {"turns": 10**16}, {"cookies": 1}, {"model_calls": 1}]
)
def test_a_grant_that_is_none_is_refused(world: World, more: dict[str, Any]) -> None:
    run = out_of_turns(world)

    with pytest.raises(InputInvalid):
        run.gets(**more)

    assert (run.status, run.row.limits["turns"]) == ("waiting/budget", 1)


def test_a_run_that_does_not_wait_for_budget_cannot_be_refused_any(world: World) -> None:
    run = world.check()

    with pytest.raises(Conflict, match="does not wait for budget"):
        world.parts.budgets.refuse(Actor("ada"), run.run_id)

    assert run.gets(turns=5).row.limits["turns"] == 25


def test_an_ended_run_gets_nothing(world: World) -> None:
    run = world.check()
    run.cancel()

    with pytest.raises(RunAlreadyTerminal):
        run.gets(turns=5)


def test_an_approved_effect_waits_for_budget_and_happens_once(world: World) -> None:
    world.agent_has(budget=Budget(tool_calls=2), on_budget="ask")
    run = world.check()
    assert (run.status, world.tickets) == ("waiting/budget", [])

    run.gets(tool_calls=1).approve()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


def test_a_limit_stays_a_number_that_can_be_kept(loop_world: World) -> None:
    run = out_of_turns(loop_world)
    limit = MAX_LIMIT - MAX_GRANT + 1
    with loop_world.parts.ledger.control(run.run_id, Actor("ada")) as tx:
        tx.set(max_turns=limit)  # as after thousands of grants

    with pytest.raises(InputInvalid, match=f"more than {MAX_LIMIT}; give less"):
        loop_world.parts.budgets.grant(Actor("ada"), run.run_id, {"turns": MAX_GRANT})

    assert (run.status, run.row.limits["turns"]) == ("waiting/budget", limit)
