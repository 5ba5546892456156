"""P4: What was not done is tried again where its class allows that, within bounds, and never blindly."""

from __future__ import annotations

import pytest

from tests.support.target import Box, breaks, is_busy, letters
from tests.support.world import World


def test_a_target_that_is_busy_is_called_again_under_the_same_key(world: World) -> None:
    box = Box(before=[is_busy(), is_busy()])
    world.sends_letters(box, letters("ada"))

    run = world.noter().approve().waits_it_out()

    assert (run.status, box.letters, box.calls) == ("succeeded/completed", ["ada"], ["letter:ada"] * 3)


def test_a_target_that_stays_busy_is_given_up_and_the_decider_told_once(world: World) -> None:
    box = Box(before=[is_busy()] * 50)
    world.sends_letters(box, letters("ada"))

    run = world.noter().approve().waits_it_out()

    assert (run.status, run.effect, len(box.calls)) == ("succeeded/completed", "none", 3)
    assert (run.decided, run.row.repairs) == (2, 1)


def test_a_long_wait_that_the_target_asks_for_holds_no_driver(world: World) -> None:
    box = Box(before=[is_busy(retry_after_s=3600)])
    world.sends_letters(box, letters("ada"))
    begun = world.clock.now()

    run = world.noter().approve()

    assert (run.status, run.row.nonce) == ("waiting/external", None)
    assert (run.row.wake_at or 0) - begun >= 3_600_000
    run.waits_it_out()
    assert (run.status, box.letters, len(box.calls)) == ("succeeded/completed", ["ada"], 2)


def test_no_try_is_put_off_beyond_the_deadline(world: World) -> None:
    box = Box(before=[is_busy(retry_after_s=3600)])
    world.sends_letters(box, letters("ada"))

    run = world.start("noter", {}, deadline=world.clock.now() + 60_000).approve()

    assert (run.status, run.effect, len(box.calls)) == ("succeeded/completed", "none", 1)


def test_a_run_cancelled_while_it_waits_for_another_try_ends_at_once(world: World) -> None:
    box = Box(before=[is_busy(retry_after_s=3600)])
    world.sends_letters(box, letters("ada"))
    run = world.noter().approve()

    assert run.cancel() == "cancelled"

    assert (run.effect, box.letters) == ("none", [])


@pytest.mark.parametrize("what", ["approval", "grant"])
def test_another_try_is_checked_like_the_first(world: World, what: str) -> None:
    box = Box(before=[is_busy(retry_after_s=3600)])
    world.sends_letters(box, letters("ada"))
    world.agent_has(approval_ttl_s=600 if what == "approval" else 100_000)
    run = world.noter().approve()
    if what == "grant":
        world.forbid("ada", "start")

    run.waits_it_out()

    ends = {"approval": "waiting/approval", "grant": "denied/permission_revoked"}
    assert (run.status, len(box.calls)) == (ends[what], 1)


def test_tries_are_paid_for_one_by_one(world: World) -> None:
    box = Box(before=[is_busy()] * 50)
    world.sends_letters(box, letters("ada"))

    run = world.noter().approve().waits_it_out()

    assert run.row.used["tool_calls"] == len(box.calls) == 3


def test_unless_the_target_knows_keys_the_ledger_refuses_a_repeat_before_a_lookup_has_answered(world: World) -> None:
    box = Box(answers=[breaks], lookup_fails=100)
    world.sends_letters(box, letters("ada"), lookup_is_authoritative=True)

    run = world.noter().approve().waits_it_out()

    assert (run.status, run.effect, box.calls) == ("waiting/reconciliation", "unknown", ["letter:ada"])


def test_a_target_that_knows_keys_and_cannot_be_asked_is_called_again_under_the_same_key(world: World) -> None:
    box = Box(answers=[breaks], knows_keys=True)
    world.sends_letters(box, letters("ada"), dedups_by_key=True, lookups=0)

    run = world.noter().approve()

    assert (run.status, run.effect) == ("succeeded/completed", "committed")
    assert (box.letters, box.calls) == (["ada"], ["letter:ada"] * 2)
    assert run.tried == [("call", "unknown"), ("call", "committed")]


def test_a_target_that_has_forgotten_a_key_and_cannot_be_asked_is_not_called_again(world: World) -> None:
    box = Box(answers=[breaks])
    world.sends_letters(box, letters("ada"), dedups_by_key=True, key_valid_for_s=0.5, lookups=0)
    box.before.append(lambda: world.clock.passes(seconds=1))

    run = world.noter().approve()

    assert (run.status, run.effect, box.calls) == ("waiting/reconciliation", "unknown", ["letter:ada"])


def test_a_key_that_the_target_has_forgotten_counts_as_none(world: World) -> None:
    box = Box(answers=[breaks], lookup_fails=4)
    world.sends_letters(box, letters("ada"), dedups_by_key=True, key_valid_for_s=1)

    run = world.noter().approve()
    box.forgets = True
    run.waits_it_out()

    assert (run.status, run.effect, box.calls) == ("waiting/reconciliation", "unknown", ["letter:ada"])
