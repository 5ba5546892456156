"""P8: A cancelled run acts no more, and its end says what had already happened."""

from __future__ import annotations

import pytest

from state.errors import Conflict, NotAllowed, RunAlreadyTerminal
from tests.support.child import dies_in
from tests.support.faults import CannotBeAsked, LosesTheResponse, does_first
from tests.support.target import Box, letters
from tests.support.world import USER, World, final, note


def test_a_run_cancelled_while_waiting_creates_nothing_and_a_late_approve_changes_nothing(world: World) -> None:  # C7
    run = world.check()
    asked = run.question

    assert run.cancel() == "cancelled"
    with pytest.raises(RunAlreadyTerminal):
        run.answer({"decisions": [{"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}]})
    run.goes_on()

    assert (run.status, run.effect, world.tickets, run.writes) == ("cancelled/user", "none", [], ["cancelled"])
    assert (run.row.result or {})["undone"] == ["create_ticket: cancelled"]


def test_a_run_cancelled_after_its_commit_names_the_ticket(world: World) -> None:  # C9
    run = world.cancelled_after_its_commit()

    assert (run.status, run.effect, len(world.tickets)) == ("cancelled/user", "committed", 1)
    assert run.operations[-1].object_id == world.tickets[0]["object_id"]
    assert world.tickets[0]["object_id"] in str((run.row.result or {})["summary"])


def test_a_cancel_while_the_response_is_lost_tells_what_happened(world: World) -> None:  # K7, with
    answers: list[str] = []

    class CancelledMeanwhile(LosesTheResponse):
        def lookup(self, key: str):  # type: ignore[no-untyped-def]
            if not answers:
                answers.append(run.cancel())
            return super().lookup(key)

    world.target(CancelledMeanwhile)
    run = world.check()
    run.approve()

    assert (answers, run.status, run.effect, len(world.tickets)) == (["cancelling"], "cancelled/user", "committed", 1)


def test_the_status_alone_would_hide_the_ticket_of_a_cancelled_run(world: World) -> None:  # K7, without
    with_ticket = world.cancelled_after_its_commit()
    without = world.ticket(source="elsewhere")
    without.cancel()

    assert with_ticket.status == without.status == "cancelled/user"
    assert (with_ticket.effect, without.effect, len(world.tickets)) == ("committed", "none", 1)


def test_a_cancel_before_the_claim_comes_first(world: World) -> None:
    run = world.check().approve(drive=False)

    assert run.cancel() == "cancelled"
    run.goes_on()

    assert (run.status, run.effect, world.tickets) == ("cancelled/user", "none", [])


@pytest.mark.parametrize("when", ["asked", "approved", "paused"])
def test_a_run_cancelled_before_its_call_never_calls_the_target(world: World, when: str) -> None:  # X1
    box = Box()
    world.sends_letters(box, letters("ada"))
    run = world.noter()
    if when != "asked":
        run.pause() if when == "paused" else None
        run.approve(drive=when == "paused")

    assert run.cancel() == "cancelled"
    run.goes_on()

    assert (run.status, run.effect, box.calls, run.tries) == ("cancelled/user", "none", [], [])
    assert [each for each in run.timeline if "cancel" in each] == ["run.cancel_requested", "run.cancelled"]


def test_a_cancel_between_claim_and_write_is_not_shown_as_done_before_it_is(world: World) -> None:
    seen: list[str] = []
    world.target(does_first(lambda: seen.append(run.cancel())))
    run = world.check()

    run.approve()

    assert seen == ["cancelling"]
    assert (run.status, run.effect, len(world.tickets)) == ("cancelled/user", "committed", 1)


def test_a_cancel_while_the_decider_thinks_ends_the_run_and_its_word_is_dropped(world: World) -> None:
    seen: list[str] = []
    world.decider_says(lambda view: seen.append(run_of(view)) or note(), final())

    def run_of(view):  # type: ignore[no-untyped-def]
        from tests.support.world import RunInWorld

        return RunInWorld(world, view.run_id).cancel()

    run = world.noter()

    assert (seen, run.status, world.notes, run.decided) == (["cancelled"], "cancelled/user", [], 0)


def test_a_finished_run_cannot_be_cancelled(world: World) -> None:
    run = world.check(record="r2")

    with pytest.raises(RunAlreadyTerminal):
        run.cancel()

    assert run.status == "succeeded/nothing_to_do"


def test_a_cancelled_run_whose_outcome_cannot_be_found_out_says_that_it_does_not_know(world: World) -> None:
    class Silent(CannotBeAsked):
        asked = False

        def lookup(self, key: str):  # type: ignore[no-untyped-def]
            if not self.asked:
                self.asked = True
                run.cancel()
            return super().lookup(key)

    world.target(Silent)
    run = world.check()
    run.approve()
    assert run.status == "cancelling/user"

    run.waits_it_out()

    assert (run.status, run.effect) == ("cancelled/user", "unknown")


def test_a_paused_run_stops_at_a_safe_point_and_goes_on_where_it_was(world: World) -> None:
    run = world.start("catalog-check", world.check_input(), drive=False)
    assert run.pause() == "queued"
    run.goes_on()
    assert (run.status, run.decided) == ("paused/user", 0)
    run.goes_on()
    assert run.status == "paused/user"

    run.resume().approve()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


def test_a_pause_while_waiting_holds_back_an_approved_effect(world: World) -> None:
    run = world.check()
    run.pause()

    run.approve()
    assert (run.status, world.tickets) == ("paused/user", [])
    run.resume()

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 1)


@pytest.mark.parametrize("wish", ["cancel", "pause", "resume"])
def test_somebody_without_a_right_to_the_run_wishes_nothing(world: World, wish: str) -> None:
    run = world.check()

    with pytest.raises(NotAllowed, match="mallory may not control"):
        getattr(run, wish)(by="mallory")

    assert (run.status, run.row.desired_action) == ("waiting/approval", "none")


def test_a_paused_run_whose_requester_lost_the_permission_stays_paused_and_says_why(world: World) -> None:
    run = world.start("catalog-check", world.check_input(), drive=False)
    run.pause()
    run.goes_on()
    world.forbid(USER, "start")

    with pytest.raises(Conflict, match="may not act any more"):
        run.resume()

    assert run.status == "paused/user"


def test_a_run_that_is_being_cancelled_cannot_pause(world: World) -> None:
    said: list[str] = []

    def cancel_and_pause() -> None:
        said.append(run.cancel())
        with pytest.raises(Conflict, match="is being cancelled"):
            run.pause()

    world.target(does_first(cancel_and_pause))
    run = world.check()
    run.approve()

    assert (said, run.status, run.effect) == (["cancelling"], "cancelled/user", "committed")


def test_a_cancel_of_a_run_whose_driver_died_in_the_middle_looks_up_what_it_did(world: World) -> None:
    run = world.check().approve(drive=False)
    world.restart()
    assert dies_in("B", world, run) == -9

    assert run.cancel() == "cancelling"
    run.goes_on()

    assert (run.status, run.effect, len(world.tickets)) == ("cancelled/user", "committed", 1)
