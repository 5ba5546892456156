"""P4: An unknown outcome is looked up or handed to a person, never guessed and never blindly repeated."""

from __future__ import annotations

from store.business import Found
from tests.support.faults import CannotBeAsked, LosesTheResponse, NeverArrives
from tests.support.target import Box, breaks, letters
from tests.support.without import without_stable_key
from tests.support.world import World


def test_a_lost_response_is_looked_up_under_the_same_key(world: World) -> None:  # C3, K8 with
    world.target(LosesTheResponse)
    run = world.check()

    run.approve()

    assert (len(world.tickets), run.status, run.effect) == (1, "succeeded/completed", "committed")
    assert [each for each in run.timeline if each.startswith("tool.call.u") or each == "tool.reconciled"] == [
        "tool.call.unknown",
        "tool.reconciled",
    ]


def test_a_call_that_never_arrived_is_made_again_under_the_same_key(world: World) -> None:
    world.target(NeverArrives)
    run = world.check()

    run.approve()

    assert (len(world.tickets), run.status) == (1, "succeeded/completed")
    assert run.timeline.count("tool.call.started") == 2


def test_without_a_stable_key_a_lost_response_makes_two_tickets(world: World) -> None:  # K8, without
    world.target(without_stable_key())

    world.check().approve()

    assert len(world.tickets) == 2


def test_an_outcome_that_cannot_be_looked_up_waits_and_is_never_repeated(world: World) -> None:
    world.target(CannotBeAsked)
    run = world.check().approve().waits_it_out()
    assert (run.status, run.effect, len(world.tickets)) == ("waiting/reconciliation", "unknown", 1)
    run.goes_on()
    assert (run.status, len(world.tickets)) == ("waiting/reconciliation", 1)

    world.parts.business.silent = False  # type: ignore[attr-defined]
    run.goes_on()

    assert (run.status, run.effect, len(world.tickets)) == ("succeeded/completed", "committed", 1)
    assert run.timeline.count("tool.call.started") == 1


def test_what_was_unknown_and_turns_out_not_done_is_done(world: World) -> None:
    class LostAndSilent(NeverArrives):
        silent = True

        def lookup(self, key: str) -> Found | None:
            if self.silent:
                raise TimeoutError("no answer")
            return super().lookup(key)

    world.target(LostAndSilent)
    run = world.ticket().approve().waits_it_out()
    assert (run.status, world.tickets) == ("waiting/reconciliation", [])

    world.parts.business.silent = False  # type: ignore[attr-defined]
    run.goes_on()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


def test_a_run_that_waits_for_reconciliation_can_be_cancelled_and_says_that_it_does_not_know(world: World) -> None:
    world.target(CannotBeAsked)
    run = world.check().approve().waits_it_out()

    assert run.cancel() == "cancelled"

    assert (run.status, run.effect) == ("cancelled/user", "unknown")


def test_a_lost_response_leaves_a_try_and_the_lookup_that_found_the_targets_receipt(world: World) -> None:  # X2
    world.target(LosesTheResponse)

    run = world.check().approve()

    operation, (effect,) = run.ticket_made, world.rows("effects", "business")
    assert run.tried == [("call", "unknown"), ("lookup", "committed")]
    assert {each["operation_id"] for each in run.tries} == {operation.operation_id}
    assert (effect["operation_key"], effect["object_id"]) == (operation.operation_key, operation.object_id)
    assert effect["digest"] == operation.digest


def test_what_cannot_be_found_is_looked_for_so_often_and_no_more(world: World) -> None:  # X2, bounded
    box = Box(answers=[breaks], hides=100)
    world.sends_letters(box, letters("ada"), lookups=4)

    run = world.noter().approve().waits_it_out()

    assert (run.status, run.effect, box.calls) == ("waiting/reconciliation", "unknown", ["letter:ada"])
    assert run.tried == [("call", "unknown"), *[("lookup", "unknown")] * 4]


def test_what_is_not_found_now_is_found_later_and_never_made_a_second_time(world: World) -> None:  # X7
    box = Box(answers=[breaks], hides=3)
    world.sends_letters(box, letters("ada"), lookup_is_authoritative=True, longest_call_s=5, visible_within_s=300)

    run = world.noter().approve().waits_it_out()

    assert (run.status, run.effect, box.calls) == ("succeeded/completed", "committed", ["letter:ada"])
    assert run.tried == [("call", "unknown"), *[("lookup", "unknown")] * 3, ("lookup", "committed")]
    times = [each["started_at"] for each in run.tries]
    assert (times == sorted(times), times[-1] - times[0] <= 305_001) == (True, True)


def test_what_nobody_can_be_asked_about_is_settled_by_a_person_on_the_record(world: World) -> None:  # X8
    box = Box(answers=[breaks])
    world.sends_letters(box, letters("ada"), lookups=0)
    run = world.noter().approve()
    for _ in range(3):
        world.restart(healed=False)
        assert (run.goes_on().status, box.calls) == ("waiting/reconciliation", ["letter:ada"])

    run.settle("letter-1", comment="it is in the book").goes_on()

    assert (run.status, run.effect, box.calls) == ("succeeded/completed", "committed", ["letter:ada"])
    (entry,) = [each for each in world.audit if each["action"] == "operation.settle"]
    assert (entry["actor"], entry["result"], entry["detail"]["comment"]) == ("ada", "committed", "it is in the book")
    assert run.operations[-1].operation_id in entry["object"]
