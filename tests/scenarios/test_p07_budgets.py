"""P7: Budgets and deadlines hold across pauses, retries, restarts and engines; waiting costs no active time."""

from __future__ import annotations

import sqlite3

import pytest

from state.budget import Budget, Usage
from tests.support.faults import CannotBeAsked
from tests.support.without import without_budget_check
from tests.support.world import RunInWorld, World, final, note

HOUR_S = 3600


def test_one_turn_is_not_enough_to_read_both_materials(world: World) -> None:  # C5
    world.agent_has(budget=Budget(turns=1))

    run = world.check()

    assert (run.status, run.decided, world.tickets) == ("budget_exceeded/turns", 1, [])


def test_with_a_budget_of_no_turns_the_decider_is_never_asked(world: World) -> None:  # K1, with
    decider = world.decider_says(note(), final())
    world.agent_has(budget=Budget(turns=0))

    run = world.noter()

    assert (decider.asked, run.status) == (0, "budget_exceeded/turns")


def test_without_the_check_before_the_act_the_decider_is_asked(world: World) -> None:  # K1, without
    decider = world.decider_says(note(), final())
    world.agent_has(budget=Budget(turns=0))
    world.without(without_budget_check)

    with pytest.raises(sqlite3.IntegrityError, match="turns_within_budget"):  # the table is a wall of its own
        world.noter()

    assert decider.asked == 1


def test_a_read_and_a_final_word_take_two_turns(world: World) -> None:  # S1
    world.decider_says({"kind": "actions", "actions": [{"tool": "read_notice"}]}, final("nothing_to_do"))
    run = world.check(record="r2")
    assert run.status == "failed/proposal_invalid"

    read = [{"tool": "read_notice"}, {"tool": "read_record", "arguments": {"record": "r2"}}]
    world.decider_says({"kind": "actions", "actions": read}, final("nothing_to_do"))
    world.restart()
    run = world.check(record="r2")

    assert (run.status, run.decided) == ("succeeded/nothing_to_do", 2)


def test_two_needed_turns_do_not_fit_a_budget_of_one(world: World) -> None:  # S1
    world.agent_has(budget=Budget(turns=1))
    world.decider_says(note(), final())

    run = world.noter().approve()

    assert (run.status, run.effect, world.notes) == (
        "budget_exceeded/turns",
        "committed",
        ["widgets: all is well"],
    )


def test_a_model_call_whose_worst_case_does_not_fit_is_not_made(world: World) -> None:
    decider = world.decider_says(note(), final(), usage=Usage(model_calls=1, output_tokens=500))
    world.agent_has(budget=Budget(output_tokens=499))

    run = world.noter()

    assert (decider.asked, run.status) == (0, "budget_exceeded/tokens")


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_turn_whose_reads_do_not_fit_ends_the_run(world: World, calls: int) -> None:
    record = {"tool": "read_record", "arguments": {"record": "r1"}}
    both = {"kind": "actions", "actions": [note()["actions"][0], {"tool": "read_notice"}]}
    world.agent_has(budget=Budget(tool_calls=calls))
    world.decider_says({"kind": "actions", "actions": [{"tool": "read_notice"}, record]}, final())
    assert world.check().row.status == ("budget_exceeded" if calls == 1 else "failed")

    world.decider_says(both, final())
    world.restart()
    run = world.noter()
    run = run.approve() if run.questions else run

    assert run.row.status == ("budget_exceeded" if calls == 1 else "succeeded")
    assert run.row.used["tool_calls"] <= calls


def test_a_proposal_that_a_pause_made_void_is_paid_for(world: World) -> None:
    spent = {"model_calls": 1}
    decider = world.decider_says(
        lambda view: RunInWorld(world, view.run_id).pause() and {**note(), "usage": spent}, usage=Usage(**spent)
    )
    world.agent_has(budget=Budget(model_calls=3))
    run = world.noter()
    while run.status == "paused/user":
        run.resume()

    assert (run.status, decider.asked, run.row.used["model_calls"]) == ("budget_exceeded/model_calls", 3, 3)


def test_a_proposal_that_a_dead_driver_may_have_paid_for_is_charged(loop_world: World) -> None:
    usage = Usage(model_calls=1, output_tokens=100)
    loop_world.decider_says({**note(), "usage": {"model_calls": 1, "output_tokens": 7}}, usage=usage)
    run = loop_world.start("noter", {}, drive=False)
    loop_world.parts.ledger.claim(run.run_id, loop_world.parts.driving("loop").driver)
    loop_world.restart()

    run.goes_on()

    assert (run.status, run.row.used["model_calls"], run.row.used["output_tokens"]) == ("waiting/approval", 2, 107)


def test_a_decision_that_its_process_did_not_survive_is_charged_each_time(loop_world: World) -> None:
    usage = Usage(model_calls=1)
    decider = loop_world.decider_says(KeyboardInterrupt(), usage=usage)
    loop_world.agent_has(budget=Budget(model_calls=3))
    run = loop_world.start("noter", {}, drive=False)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run.goes_on()

    run.goes_on()

    assert (run.status, decider.asked) == ("budget_exceeded/model_calls", 3)


def test_what_was_used_is_charged_once_however_often_the_process_changes(world: World) -> None:
    spent = {"model_calls": 1, "input_tokens": 100, "output_tokens": 10, "cost_microusd": 7}
    world.decider_says({**note(), "usage": spent}, final(), usage=Usage(**spent))
    run = world.noter()

    world.restart()
    run.goes_on()

    used = run.row.used
    assert {name: used[name] for name in spent} == spent
    assert used["turns"] == 1


def test_an_effect_that_no_tool_call_is_left_for_is_not_made(world: World) -> None:
    world.agent_has(budget=Budget(tool_calls=2))

    run = world.check().approve()

    assert (run.status, run.effect, world.tickets) == ("budget_exceeded/tool_calls", "none", [])


def test_waiting_for_a_person_costs_no_active_time(world: World) -> None:
    world.agent_has(budget=Budget(active_ms=60_000))
    run = world.check()

    world.clock.passes(seconds=5 * HOUR_S)
    run.approve()

    assert (run.status, run.row.used["active_ms"]) == ("succeeded/completed", 0)


def test_active_time_used_up_ends_the_run_also_after_a_restart(world: World) -> None:  # S2
    world.agent_has(budget=Budget(active_ms=10_000))
    world.decider_says(lambda view: world.clock.passes(seconds=11) or note(), final())
    run = world.noter()
    assert run.status == "budget_exceeded/active_time"

    world.restart()
    run.goes_on()

    assert (run.status, world.notes) == ("budget_exceeded/active_time", [])


def test_a_deadline_ends_a_run_that_waits(world: World) -> None:
    deadline = world.clock.now() + HOUR_S * 1000
    run = world.start("catalog-check", world.check_input(), deadline=deadline)
    assert run.status == "waiting/approval"

    world.clock.passes(seconds=HOUR_S + 1)
    run.goes_on()

    assert (run.status, world.tickets) == ("timed_out/deadline", [])


def test_a_deadline_that_passes_while_an_outcome_is_unknown_says_that_it_is(world: World) -> None:
    world.target(CannotBeAsked)
    deadline = world.clock.now() + HOUR_S * 1000
    run = world.start("catalog-check", world.check_input(), deadline=deadline).approve()
    assert run.waits_it_out().status == "waiting/reconciliation"

    world.clock.passes(seconds=HOUR_S + 1)
    run.goes_on()

    assert (run.status, run.effect) == ("timed_out/deadline", "unknown")


def test_a_deadline_that_passes_between_approval_and_claim_comes_first(world: World) -> None:
    deadline = world.clock.now() + HOUR_S * 1000
    run = world.start("catalog-check", world.check_input(), deadline=deadline).approve(drive=False)

    world.clock.passes(seconds=HOUR_S + 1)
    run.goes_on()

    assert (run.status, run.effect, world.tickets) == ("timed_out/deadline", "none", [])
