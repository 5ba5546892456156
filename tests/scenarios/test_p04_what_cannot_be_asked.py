"""P4: What cannot be found out here and now is not guessed at: another tool, a jump of the clock, a key grown old."""

from __future__ import annotations

from typing import Any

import pytest

from state.budget import Budget
from state.errors import Conflict, ToolError
from tests.support.target import Box, breaks, is_lost, letters
from tests.support.world import RunInWorld, World


def in_flight(world: World, **contract: Any) -> tuple[RunInWorld, Box]:
    """A letter arrived, nobody heard of it, and the box cannot be asked for the moment."""
    box = Box(answers=[breaks], lookup_fails=4)
    world.sends_letters(box, letters("ada"), **contract)
    run = world.noter().approve()
    assert (run.status, run.effect) == ("waiting/external", "unknown")
    return run, box


@pytest.mark.parametrize("program", ["has the tool in another version", "has no such tool"])
def test_what_one_tool_did_is_not_looked_up_with_another(world: World, program: str) -> None:
    run, box = in_flight(world, lookup_is_authoritative=True)
    box.receipts.clear()  # what another target would say of this key
    world.restart(healed=False)
    if program == "has no such tool":
        world.loses_its_agents()
    else:
        world.sends_letters(box, letters("ada"), version="2", lookup_is_authoritative=True)

    run.cancel()
    run.goes_on().waits_it_out()

    assert (run.status, run.effect, box.letters) == ("cancelled/user", "unknown", ["ada"])


def test_a_run_whose_program_is_gone_can_be_settled(world: World) -> None:
    run, _ = in_flight(world)
    world.restart(healed=False)
    world.loses_its_agents()
    run.goes_on()
    assert run.status == "waiting/migration"

    run.settle("letter-1")

    assert (run.status, run.effect) == ("waiting/migration", "committed")


def test_a_key_must_still_be_known_when_a_repeat_arrives(world: World) -> None:
    box = Box(answers=[breaks], forgets=True)
    world.sends_letters(box, letters("ada"), dedups_by_key=True, key_valid_for_s=119, longest_call_s=60)

    run = world.noter().approve().waits_it_out()

    assert (run.status, box.letters, len(box.calls)) == ("waiting/reconciliation", ["ada"], 1)


def test_a_clock_that_jumps_forward_proves_nothing(world: World) -> None:
    box = Box(before=[is_lost])
    hours = [3600.0]

    def lookup(self: Any, call: Any) -> None:
        if hours:
            world.clock.jumps(seconds=hours.pop())

    world.sends_letters(box, letters("ada"), lookup_is_authoritative=True, lookup=lookup)

    run = world.noter().approve()

    assert (run.status, run.effect, len(box.calls)) == ("waiting/external", "unknown", 1)


def test_a_retry_waits_while_another_run_holds_its_key(loop_world: World) -> None:
    def busy() -> None:
        raise ToolError("rate_limited", "busy", retry_after_s=600)

    box = Box(before=[busy], answers=[breaks])
    loop_world.sends_letters(box, letters("ada"), lookups=0)
    first = loop_world.noter().approve()
    second = loop_world.noter().approve()
    assert (first.status, second.status) == ("waiting/external", "waiting/reconciliation")

    loop_world.clock.passes(seconds=700)
    first.goes_on()
    assert first.status == "waiting/external"
    second.settle("letter-1")
    first.waits_it_out()

    assert (first.status, box.letters, len(box.calls)) == ("succeeded/completed", ["ada"], 2)


def test_a_cancel_that_was_accepted_cannot_be_taken_over(world: World) -> None:
    run, _ = in_flight(world)
    run.take_over()
    run.cancel()

    with pytest.raises(Conflict, match="being cancelled"):
        run.take_over()

    assert run.goes_on().waits_it_out().status == "cancelled/user"


def test_without_budget_for_a_repeat_it_is_still_looked_up(world: World) -> None:
    box = Box(answers=[breaks], lookup_fails=0)
    seen = iter([None, None, None])
    world.agent_has(budget=Budget(tool_calls=1))

    def lookup(self: Any, call: Any) -> Any:
        return next(seen, box.receipts.get(call.key))

    world.sends_letters(box, letters("ada"), dedups_by_key=True, lookup=lookup)

    run = world.noter().approve().waits_it_out()

    assert (run.effect, box.letters, len(box.calls)) == ("committed", ["ada"], 1)


def test_a_retry_for_which_budget_is_missing_is_asked_for(world: World) -> None:
    def busy() -> None:
        raise ToolError("transient", "not now")

    box = Box(before=[busy])
    world.agent_has(budget=Budget(tool_calls=1), on_budget="ask")
    world.sends_letters(box, letters("ada"))
    run = world.noter().approve()
    assert (run.status, len(box.calls)) == ("waiting/budget", 1)

    run.gets(tool_calls=1)

    assert (run.status, box.letters) == ("succeeded/completed", ["ada"])


@pytest.mark.parametrize(("fails_for_s", "end"), [(600, "succeeded/completed"), (7200, "failed/verification_failed")])
def test_a_reader_that_is_down_is_asked_again_and_holds_nothing(loop_world: World, fails_for_s: int, end: str) -> None:
    world = loop_world
    box, until = Box(), world.clock.now() + fails_for_s * 1000

    def read_back(self: Any, object_id: str) -> Any:
        if world.clock.now() < until:
            raise TimeoutError("the reader is down")
        return {"to": "ada", "text": ""}

    world.sends_letters(box, letters("ada"), read_back=read_back)
    run = world.noter().approve()
    assert (run.status, run.row.nonce, run.effect) == ("waiting/external", None, "committed")

    run.waits_it_out()

    assert (run.status, run.effect, len(box.calls)) == (end, "committed", 1)
