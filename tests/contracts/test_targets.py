"""What can be promised for a target follows from its contract, and nothing is ever called twice blindly."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from state.budget import Budget
from state.errors import ToolError
from tests.support.target import Box, breaks, is_lost, letters, refuses
from tests.support.world import World
from tools.contract import Receipt


def test_a_target_with_neither_key_nor_lookup_is_called_once_and_a_person_is_waited_for(world: World) -> None:  # X8
    box = Box(answers=[breaks], forgets=True)
    world.sends_letters(box, letters("ada"), lookups=0)
    run = world.noter().approve()
    assert (run.status, run.effect, box.letters) == ("waiting/reconciliation", "unknown", ["ada"])

    for _ in range(3):
        run.goes_on()

    assert (run.status, box.letters, len(box.calls)) == ("waiting/reconciliation", ["ada"], 1)


def test_a_not_found_that_the_target_does_not_vouch_for_never_leads_to_a_second_call(world: World) -> None:
    box = Box(before=[is_lost])
    world.sends_letters(box, letters("ada"))

    run = world.noter().approve().waits_it_out()

    assert (run.status, run.effect, box.letters, len(box.calls)) == ("waiting/reconciliation", "unknown", [], 1)


def test_a_not_found_that_the_target_vouches_for_leads_to_another_try(world: World) -> None:
    box = Box(before=[is_lost])
    world.sends_letters(box, letters("ada"), lookup_is_authoritative=True)
    run = world.noter().approve()
    assert (run.status, run.effect, len(box.calls)) == ("waiting/external", "unknown", 1)
    begun = world.clock.now()

    run.waits_it_out()

    assert world.clock.now() - begun > 115_000  # until no call of this tool can be under way any more

    assert (run.status, box.letters, len(box.calls)) == ("succeeded/completed", ["ada"], 2)


def test_a_target_that_loses_every_call_is_given_up_after_a_few(world: World) -> None:
    box = Box(before=[is_lost] * 50)
    world.agent_has(max_repairs=0)
    world.sends_letters(box, letters("ada"), lookup_is_authoritative=True, dedups_by_key=True, ends_with_its_call=True)

    run = world.noter().approve()

    assert (run.status, run.effect, len(box.calls)) == ("failed/tool_failed", "none", 3)


def test_a_lookup_that_answers_at_the_third_time_of_asking_is_enough(world: World) -> None:
    box = Box(answers=[breaks], lookup_fails=2)
    world.sends_letters(box, letters("ada"))

    run = world.noter().approve()

    assert (run.status, run.effect, len(box.calls)) == ("succeeded/completed", "committed", 1)


def test_a_refusal_is_told_to_the_decider(world: World) -> None:
    box = Box(before=[refuses])
    world.sends_letters(box, letters("ada"), letters("bob"))

    run = world.noter().approve().approve()

    assert (run.status, box.letters, run.writes) == ("succeeded/completed", ["bob"], ["failed", "committed"])


NO_RECEIPTS = [{"digest": "another"}, *[{"object_id": each} for each in ("", "a\x1b[2J", "a\nb", "\u202e", "x" * 501)]]


@pytest.mark.parametrize("wrong", NO_RECEIPTS)
def test_success_needs_a_receipt_for_exactly_this(world: World, wrong: dict[str, str]) -> None:
    box = Box(answers=[lambda receipt: replace(receipt, **wrong)], forgets=True)
    world.sends_letters(box, letters("ada"))

    run = world.noter().approve()

    assert (run.status, run.effect) == ("waiting/reconciliation", "unknown")


@pytest.mark.parametrize("answer", [None, "letter-1", {"object_id": "letter-1"}, 7])
def test_a_tool_that_answers_with_something_else_than_a_receipt_has_an_unknown_outcome(
    world: World, answer: object
) -> None:
    box = Box(answers=[lambda _: answer], forgets=True)
    world.sends_letters(box, letters("ada"))

    run = world.noter().approve()

    assert (run.status, run.effect, len(box.calls)) == ("waiting/reconciliation", "unknown", 1)


def test_after_an_effect_that_failed_the_later_ones_of_the_turn_are_not_made(world: World) -> None:  # M4
    box = Box(before=[lambda: None, refuses])
    world.sends_letters(box, letters("ada", "bob", "cyd"))

    run = world.noter().approve()

    assert (box.letters, run.writes) == (["ada"], ["committed", "failed", "cancelled"])
    assert "run.stage" in run.timeline
    assert (run.status, run.effect) == ("succeeded/completed", "committed")


def test_an_effect_that_needs_no_approval_is_made_without_one_and_still_claimed(world: World) -> None:
    box = Box()
    world.sends_letters(box, letters("ada"), needs_approval=False)

    run = world.noter()

    assert (run.status, box.letters, run.timeline.count("approval.requested")) == ("succeeded/completed", ["ada"], 0)


def test_what_no_grant_allows_is_not_even_asked(world: World) -> None:
    box = Box()
    world.sends_letters(box, letters("ada"), granted=False)

    run = world.noter()

    assert (run.status, box.calls, run.writes, run.questions) == ("denied/policy", [], ["denied"], [])


def test_a_denied_action_may_be_told_instead(world: World) -> None:
    world.agent_has(on_denial="tell")
    world.sends_letters(Box(), letters("ada"), granted=False)

    run = world.noter()

    assert (run.status, run.effect, run.writes) == ("succeeded/completed", "none", ["denied"])


def test_a_run_cancelled_while_its_call_is_lost_ends_with_what_the_lookup_found(world: World) -> None:
    for ends_with_its_call, status in ((True, "cancelled/user"), (False, "cancelling/user")):
        box = Box(before=[])
        contract = {"lookup_is_authoritative": True, "ends_with_its_call": ends_with_its_call}
        world.sends_letters(box, letters("ada"), **contract)
        world.restart(healed=False)
        run = world.noter()
        box.before.append(lambda run=run: run.cancel() and is_lost())

        assert run.approve().status == status

        run.waits_it_out()

        assert (run.status, run.effect, box.letters, len(box.calls)) == ("cancelled/user", "none", [], 1)


def test_an_effect_in_flight_in_another_run_is_waited_for_and_then_adopted(loop_world: World) -> None:
    box = Box(answers=[breaks], forgets=True)
    loop_world.sends_letters(box, letters("ada"))
    first, second = loop_world.noter().approve(), loop_world.noter()
    second.approve()
    assert (second.status, len(box.calls)) == ("waiting/external", 1)

    box.forgets = False
    first.waits_it_out()
    second.waits_it_out()

    assert (first.status, second.status) == ("succeeded/completed", "succeeded/completed")
    assert (box.letters, second.operations[-1].object_id) == (["ada"], "letter-1")


def test_a_target_that_knows_keys_but_whose_lookup_lags_is_never_guessed_about(world: World) -> None:
    box = Box(answers=[breaks], forgets=True)
    world.sends_letters(box, letters("ada"), dedups_by_key=True)
    run = world.noter()
    box.before.append(run.cancel)

    run.approve().waits_it_out()

    assert (run.status, run.effect, box.letters) == ("cancelled/user", "unknown", ["ada"])


@pytest.mark.parametrize("receipt", [Receipt("letter-1", "another digest"), Receipt("", "x"), "letter-1", True])
def test_a_lookup_is_believed_only_with_a_receipt_for_exactly_this(world: World, receipt: Any) -> None:
    box = Box(before=[is_lost])
    world.sends_letters(box, letters("ada"), lookup=lambda self, call: receipt)

    run = world.noter().approve()

    assert (run.status, run.effect, len(box.calls)) == ("waiting/reconciliation", "unknown", 1)


def test_an_effect_beside_one_that_failed_is_read_back_all_the_same(world: World) -> None:
    box = Box(before=[lambda: None, refuses])
    world.sends_letters(box, letters("ada", "bob"))

    run = world.noter().approve()

    assert [each.verified for each in run.operations] == [True, None]
    assert (run.status, run.writes) == ("succeeded/completed", ["committed", "failed"])


@pytest.mark.parametrize("proven", [True, False])
def test_a_claim_is_given_back_as_not_done_only_with_proof(loop_world: World, proven: bool) -> None:
    box = Box(answers=[breaks], forgets=True)
    contract = {"dedups_by_key": True, "lookup_is_authoritative": True, "ends_with_its_call": proven}
    loop_world.agent_has(budget=Budget(tool_calls=1), max_repairs=0)
    loop_world.sends_letters(box, letters("ada"), **contract)

    run = loop_world.noter().approve()

    assert (run.effect, run.writes) == (("none", ["failed"]) if proven else ("unknown", ["unknown"]))


def test_a_cancel_looks_up_what_was_claimed_and_nothing_else(world: World) -> None:
    box = Box(answers=[breaks])
    world.sends_letters(box, letters("ada", "bob"))
    run = world.noter()
    box.before.append(run.cancel)

    run.approve()

    assert (run.status, run.effect, run.writes) == ("cancelled/user", "committed", ["committed", "cancelled"])
    assert box.letters == ["ada"]


def test_a_resource_that_never_stays_as_it_is_ends_the_run(world: World) -> None:
    versions = itertools.count()
    contract: dict[str, Any] = {
        "needs_approval": False,
        "resource": lambda self, arguments: "box:1",
        "resource_version": lambda self, resource: next(versions),
    }
    world.sends_letters(Box(), letters("ada"), **contract)

    run = world.noter()

    assert (run.status, run.effect, set(run.writes)) == ("failed/tool_failed", "none", {"superseded"})


@pytest.mark.parametrize("found", [[], "text", True, {"to": 1}])
def test_whatever_a_reader_gives_is_compared_and_not_believed(world: World, found: Any) -> None:
    world.sends_letters(Box(), letters("ada"), read_back=lambda self, object_id: found)

    assert world.noter().approve().status == "failed/verification_failed"


def test_words_that_no_database_can_hold_are_escaped(world: World) -> None:
    def says_something_odd(self: Any, call: Any) -> Receipt:
        raise ToolError("refused_by_target", "odd \ud83d")

    world.agent_has(max_repairs=0)
    world.sends_letters(Box(), letters("ada"), act=says_something_odd)

    run = world.noter().approve()

    assert (run.status, run.operations[-1].detail) == ("failed/tool_failed", "odd \\ud83d")


def test_a_tool_error_needs_a_class_that_says_what_may_follow() -> None:
    assert ToolError("unknown_outcome", "x").error_class == "unknown_outcome"
