"""P5: Success of a write to a service outside is read back from it, field by field, as soon as it can be seen there."""

from __future__ import annotations

import threading

from tests.support.ticket_service import TicketService
from tests.support.world import World

IMPATIENT = ("timeout_s = 5\nconnect_timeout_s = 2", "timeout_s = 0.3\nconnect_timeout_s = 0.3")


def test_what_is_not_visible_yet_is_read_back_when_it_is(world: World, tickets: TicketService) -> None:
    world.writes_to(tickets).is_told(hidden_reads=3)

    run = world.check().approve()

    assert (run.status, run.operations[-1].verified) == ("succeeded/completed", True)
    assert len(tickets.calls("read")) == 4


def test_a_reader_that_fails_for_a_moment_is_asked_again(loop_world: World, tickets: TicketService) -> None:
    loop_world.writes_to(tickets).will("lose", on="read", times=2)

    run = loop_world.check().approve()

    assert (run.status, run.operations[-1].verified) == ("succeeded/completed", True)


def test_what_is_not_visible_in_the_time_that_was_promised_is_no_success(
    loop_world: World, tickets: TicketService
) -> None:
    loop_world.writes_to(tickets).is_told(hidden_reads=999)

    run = loop_world.check().approve()

    assert (run.status, run.effect, len(tickets.tickets)) == ("failed/verification_failed", "committed", 1)


def test_a_service_that_keeps_something_else_than_what_was_approved_is_found_out(
    loop_world: World, tickets: TicketService
) -> None:
    swapped = ('found = "{observed}", on_record = "{recorded}"', 'found = "{recorded}", on_record = "{observed}"')
    loop_world.writes_to(tickets, swapped)

    run = loop_world.check().approve()

    assert (run.status, run.effect) == ("failed/verification_failed", "committed")
    failed = next(each for each in run.events if each["type"] == "verification.failed")
    assert failed["payload"]["fields"] == ["observed", "recorded"]


def test_a_run_cancelled_while_it_waits_to_read_back_says_what_has_happened(
    loop_world: World, tickets: TicketService
) -> None:
    loop_world.writes_to(tickets, IMPATIENT).will("hang", on="read")
    run = loop_world.check()

    def cancels() -> None:
        tickets.waits_for_calls(2)
        run.cancel()

    meanwhile = threading.Thread(target=cancels)
    meanwhile.start()
    run.approve()
    meanwhile.join()

    assert (run.status, run.effect, len(tickets.tickets)) == ("cancelled/user", "committed", 1)
