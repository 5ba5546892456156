"""P4: An unknown outcome of a write to a service outside is looked up or handed to a person, never repeated blindly."""

from __future__ import annotations

import threading

import pytest

from tests.support.clock import ManualClock
from tests.support.ticket_service import CONFIGURATION, TicketService
from tests.support.wire import Down
from tests.support.world import RunInWorld, World

CONTRACT = "dedups_by_key = true\nlookup_is_authoritative = true\nvisible_within_s = 2\nlookups"
ONLY_LOOKUP = (CONTRACT, "lookup_is_authoritative = true\nvisible_within_s = 2\nlookups")
NOT_VOUCHED_FOR = (CONTRACT, "lookups")
ONLY_KEYS = (CONTRACT, "dedups_by_key = true\nlookups")
EXAMPLE = CONFIGURATION.read_text("utf-8")
NO_LOOKUP = ("[tools.lookup]" + EXAMPLE.partition("[tools.lookup]")[2].partition("[tools.read_back]")[0], "")


def until_it_waits_for_nobody(world: World, run: RunInWorld) -> int:
    """Time passes, and the run goes on whenever it wants to; how often it waited."""
    for waited in range(50):
        wake_at = run.row.wake_at
        if run.status != "waiting/external" or wake_at is None:
            return waited
        world.clock.passes(seconds=max(0, wake_at - world.clock.now()) / 1000)
        run.goes_on()
    raise AssertionError("it waits for ever")


def test_the_catalogue_check_writes_one_ticket_to_the_service(world: World, tickets: TicketService) -> None:  # C2
    world.writes_to(tickets)
    run = world.check()
    assert (run.status, tickets.calls()) == ("waiting/approval", [])

    run.approve()

    assert (run.status, run.effect, world.tickets) == ("succeeded/completed", "committed", [])
    (ticket,) = tickets.tickets
    assert (ticket["values"], run.operations[-1].object_id) == (
        {"found": "2026-03-01", "on_record": "2026-02-01"},
        ticket["id"],
    )


def test_an_answer_that_is_lost_after_the_commit_is_looked_up(world: World, tickets: TicketService) -> None:  # C3, X2
    world.writes_to(tickets).will("lose", when="after")

    run = world.check().approve()

    assert (len(tickets.tickets), len(tickets.calls("create")), run.status) == (1, 1, "succeeded/completed")
    assert ("tool.call.unknown" in run.timeline, "tool.reconciled" in run.timeline) == (True, True)


def test_a_request_that_is_lost_before_the_commit_is_sent_again_under_its_key(
    loop_world: World, tickets: TicketService
) -> None:
    loop_world.writes_to(tickets).will("lose")

    run = loop_world.check().approve()

    assert (len(tickets.tickets), len(tickets.calls("create")), len(tickets.keys)) == (1, 2, 1)
    assert run.status == "succeeded/completed"


def test_what_is_not_found_now_and_found_later_is_waited_for(world: World, tickets: TicketService) -> None:  # X7
    world.writes_to(tickets, ONLY_LOOKUP).will("lose", when="after")
    tickets.is_told(keys=False, hidden_lookups=4)

    run = world.check().approve()
    waited = until_it_waits_for_nobody(world, run)

    assert (len(tickets.tickets), len(tickets.calls("create")), run.status) == (1, 1, "succeeded/completed")
    assert (len(tickets.calls("lookup")), waited > 0) == (5, True)


def test_not_found_is_no_proof_where_the_service_does_not_vouch_for_it(
    loop_world: World, tickets: TicketService
) -> None:
    loop_world.writes_to(tickets, NOT_VOUCHED_FOR).will("lose", when="after")
    tickets.is_told(keys=False, hidden_lookups=99)

    run = loop_world.check().approve()
    until_it_waits_for_nobody(loop_world, run)

    assert (run.status, run.effect, len(tickets.calls("lookup"))) == ("waiting/reconciliation", "unknown", 6)
    assert (len(tickets.tickets), len(tickets.calls("create"))) == (1, 1)


def test_a_service_with_neither_keys_nor_lookup_is_called_once_and_a_person_settles(
    world: World, tickets: TicketService
) -> None:  # X8
    world.writes_to(tickets, NOT_VOUCHED_FOR).is_told(keys=False, lookup=False)
    tickets.will("lose", when="after")
    run = world.check().approve()

    for _ in range(3):
        world.clock.passes(seconds=3600)
        run.goes_on()

    assert (run.status, run.effect, len(tickets.tickets)) == ("waiting/reconciliation", "unknown", 1)
    assert len(tickets.calls("create")) == 1


def test_a_service_that_cannot_be_asked_at_all_is_called_once_too(loop_world: World, tickets: TicketService) -> None:
    loop_world.writes_to(tickets, NOT_VOUCHED_FOR, NO_LOOKUP).will("lose", when="after")

    run = loop_world.check().approve()

    assert (run.status, run.effect, len(tickets.calls())) == ("waiting/reconciliation", "unknown", 1)


def test_a_service_with_keys_alone_is_called_again_under_the_same_key(
    loop_world: World, tickets: TicketService
) -> None:
    loop_world.writes_to(tickets, ONLY_KEYS, NO_LOOKUP).will("lose", when="after")

    run = loop_world.check().approve()

    assert (len(tickets.tickets), len(tickets.calls("create")), len(tickets.keys)) == (1, 2, 1)
    assert (run.status, len(tickets.calls("lookup"))) == ("succeeded/completed", 0)


def test_a_service_that_is_busy_is_left_alone_and_asked_again_under_the_same_key(
    world: World, tickets: TicketService
) -> None:
    world.writes_to(tickets).will("status", status=429, retry_after="120", times=2)
    run = world.check().approve()
    assert (run.status, len(tickets.calls("create"))) == ("waiting/external", 1)
    run.goes_on()
    assert len(tickets.calls("create")) == 1  # it asked for two minutes

    for _ in range(2):
        world.clock.passes(seconds=121)
        run.goes_on()

    assert (run.status, len(tickets.tickets), len(tickets.keys)) == ("succeeded/completed", 1, 1)
    assert [each["status"] for each in tickets.calls("create")] == [429, 429, 201]


def test_a_service_that_is_down_and_comes_up_meanwhile_gets_one_ticket(world: World, tickets: TicketService) -> None:
    class ComesUp(ManualClock):
        def wait(self, ms: int, until: threading.Event) -> None:
            down.comes_up(tickets.url)
            super().wait(ms, until)

    down, world.clock = Down(), ComesUp()
    world.writes_to(tickets, url=down.url)

    run = world.check().approve()
    down.close()

    assert (run.status, len(tickets.tickets), len(tickets.calls("create"))) == ("succeeded/completed", 1, 1)
    assert run.timeline.count("tool.call.started") == 2


def test_a_service_that_stays_down_has_done_nothing(loop_world: World, tickets: TicketService) -> None:
    down = Down()
    loop_world.agent_has(max_repairs=0)
    loop_world.writes_to(tickets, url=down.url)

    run = loop_world.check().approve()
    until_it_waits_for_nobody(loop_world, run)
    down.close()

    assert (run.status, run.effect, run.timeline.count("tool.call.started")) == ("failed/tool_failed", "none", 3)


@pytest.mark.parametrize("status", [429, 422])
def test_a_refusal_of_the_second_call_does_not_hide_that_the_first_may_have_happened(
    loop_world: World, tickets: TicketService, status: int
) -> None:
    loop_world.writes_to(tickets)
    lost = {"on": "create", "when": "after", "how": "lose"}
    refusal = {"on": "create", "how": "status", "status": status, "skip": 1, "times": 9}
    tickets.is_told(hidden_lookups=2, faults=[lost, refusal])

    run = loop_world.check().approve()
    until_it_waits_for_nobody(loop_world, run)

    assert (len(tickets.tickets), run.effect) == (1, "committed")


def test_a_run_cancelled_while_the_service_works_ends_with_the_truth(
    world: World, tickets: TicketService
) -> None:  # X15
    world.writes_to(tickets).will("hang", when="after")
    run = world.check()
    driving = next(iter(world.parts.drivings))

    def cancels() -> None:
        tickets.waits_for_calls(1)
        run.cancel()
        driving.beat()  # what the keeper does every few seconds

    meanwhile = threading.Thread(target=cancels)
    meanwhile.start()
    run.approve()
    meanwhile.join()

    assert (run.status, run.effect, len(tickets.tickets)) == ("cancelled/user", "committed", 1)
    assert len(tickets.calls("create")) == 1
