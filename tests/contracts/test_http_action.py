"""A configured tool against a real service: each fault is known for what it is, and nothing is believed unchecked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from state.clock import SystemClock
from state.errors import ToolError
from tests.support.ticket_service import ENVIRONMENT, TOKEN, VERSIONED, TicketService
from tests.support.wire import ARGUMENTS, call
from tools.contract import CancelToken, WriteTool
from tools.http_action import http_actions
from tools.secrets import Secrets


def made(
    tickets: TicketService, *changes: tuple[str, str], environment: dict[str, str] = ENVIRONMENT, **more: str
) -> list[WriteTool]:
    secrets = Secrets({**environment, **more})
    return list(http_actions(tickets.configuration(*changes), None, secrets, SystemClock()))  # type: ignore[arg-type]


@pytest.fixture
def create(tickets: TicketService) -> WriteTool:
    return made(tickets)[0]


def failure(act: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as raised:
        act()
    return raised.value


def test_a_ticket_is_made_found_by_its_key_and_read_back_field_by_field(
    tickets: TicketService, create: WriteTool
) -> None:
    receipt = create.act(call(create))

    assert (receipt.object_id, receipt.digest) == (tickets.tickets[0]["id"], "d" * 64)
    assert create.lookup(call(create)) == receipt
    assert create.read_back(receipt.object_id) == ARGUMENTS
    assert tickets.tickets[0]["values"] == {"found": "2026-03-01", "on_record": "2026-02-01"}
    assert tickets.keys == {"ticket:gazette%207:r1:effective"}


def test_the_same_key_makes_one_ticket_and_with_other_arguments_it_is_a_conflict(
    tickets: TicketService, create: WriteTool
) -> None:
    first = create.act(call(create))
    other = replace(call(create), arguments={**ARGUMENTS, "observed": "2027-01-01"})

    assert create.act(call(create)) == first
    assert failure(lambda: create.act(other)).error_class == "key_conflict"
    assert len(tickets.tickets) == 1


def test_what_is_found_under_our_key_and_differs_may_be_ours_and_is_for_a_person_to_look_at(
    tickets: TicketService, create: WriteTool
) -> None:
    made_before = create.act(call(create))
    other = replace(call(create), arguments={**ARGUMENTS, "observed": "2027-01-01"})

    error = failure(lambda: create.lookup(other))

    assert error.error_class == "unknown_outcome"
    assert f"{made_before.object_id} stands under the key" in str(error)
    assert "differs in observed" in str(error)


def test_what_was_never_made_is_not_found(tickets: TicketService, create: WriteTool) -> None:
    assert (create.lookup(call(create)), create.read_back("T-999")) == (None, None)


FAULTS = [
    ({"how": "lose", "when": "after"}, "unknown_outcome", 1),
    ({"how": "lose"}, "unknown_outcome", 0),
    ({"how": "half", "when": "after"}, "unknown_outcome", 1),
    ({"how": "status", "status": 500}, "unknown_outcome", 0),
    ({"how": "status", "status": 500, "when": "after"}, "unknown_outcome", 1),
    ({"how": "status", "status": 302, "when": "after"}, "unknown_outcome", 1),
    ({"how": "status", "status": 503}, "transient", 0),
    ({"how": "status", "status": 429}, "rate_limited", 0),
    ({"how": "status", "status": 403}, "refused_by_target", 0),
]


@pytest.mark.parametrize(("fault", "error_class", "made_there"), FAULTS)
def test_each_fault_is_known_for_what_it_is(
    tickets: TicketService, create: WriteTool, fault: dict[str, str], error_class: str, made_there: int
) -> None:
    tickets.will(**fault)

    error = failure(lambda: create.act(call(create)))

    assert (error.error_class, len(tickets.tickets), len(tickets.calls())) == (error_class, made_there, 1)


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [("7", 7.0), ("999999", 86_400.0), ("soon", None), ("-1", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)],
)
def test_a_target_says_for_how_long_it_wants_to_be_left_alone(
    tickets: TicketService, create: WriteTool, asked: str, seconds: float | None
) -> None:
    tickets.will("status", status=429, retry_after=asked)

    assert failure(lambda: create.act(call(create))).retry_after_s == seconds


@pytest.mark.parametrize("on", ["lookup", "read"])
@pytest.mark.parametrize("fault", [{"how": "lose"}, {"how": "half"}, {"how": "status", "status": 500}])
def test_what_cannot_be_asked_now_is_not_taken_for_not_found(
    tickets: TicketService, create: WriteTool, on: str, fault: dict[str, str]
) -> None:
    tickets.will(on=on, **fault)
    asked = {"lookup": lambda: create.lookup(call(create)), "read": lambda: create.read_back("T-1")}[on]

    assert failure(asked).error_class == "transient"


def test_two_tickets_under_one_key_are_for_a_person_to_look_at(tickets: TicketService, create: WriteTool) -> None:
    tickets.is_told(keys=False)
    create.act(call(create))
    create.act(call(create))

    error = failure(lambda: create.lookup(call(create)))

    assert (error.error_class, "2 objects where there is one at most" in str(error)) == ("transient", True)


def test_a_call_that_is_cancelled_while_the_target_works_ends_at_once_and_is_unknown(
    tickets: TicketService, create: WriteTool
) -> None:
    token = CancelToken()
    tickets.will("hang", when="after")
    cancels = threading.Thread(target=lambda: (tickets.waits_for_calls(1), token.trip("cancel")))
    cancels.start()

    error = failure(lambda: create.act(call(create, token=token)))
    cancels.join()

    assert (create.cancellable, error.error_class, len(tickets.tickets)) == ("yes", "unknown_outcome", 1)
    receipt = create.lookup(call(create, token=token))  # the token does not hide the truth
    assert receipt is not None


# --- secrets, keys, versions, taking back -----------------------------------------------------------------------


def test_a_secret_is_sent_and_is_nowhere_else(tickets: TicketService, create: WriteTool) -> None:
    create.act(call(create))
    refused = failure(lambda: made(tickets, REMIT_SECRET_TICKETS_TOKEN="another-canary")[0].act(call(create)))

    assert (tickets.calls("create")[0]["status"], refused.error_class) == (201, "refused_by_target")
    shown = f"{create!r} {vars(create)!r} {create.preview(ARGUMENTS)} {refused} {refused.__context__!r}"
    assert TOKEN not in shown
    assert "another-canary" not in shown


@pytest.mark.parametrize("value", ["", "two\nlines", "schlüssel"])
def test_a_secret_that_is_missing_or_cannot_be_sent_is_named_and_nothing_leaves(
    tickets: TicketService, value: str
) -> None:
    create = made(tickets, REMIT_SECRET_TICKETS_TOKEN=value)[0]

    error = failure(lambda: create.act(call(create)))

    assert (error.error_class, tickets.calls()) == ("internal", [])
    assert "TICKETS_TOKEN" in str(error)
    assert not value or value not in str(error)


def test_a_secret_may_stand_in_a_file(tickets: TicketService, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    create = made(tickets, REMIT_SECRET_TICKETS_TOKEN_FILE=str(tmp_path / "token"), environment={})[0]

    assert create.act(call(create)).object_id.startswith("T-")


def test_a_key_can_be_sent_as_its_hash_where_keys_are_short(tickets: TicketService) -> None:
    hashed = (
        'key_header = "Idempotency-Key"\nobject_id',
        'key_header = "Idempotency-Key"\nkey_form = "sha256"\nobject_id',
    )
    create = made(tickets, hashed)[0]

    receipt = create.act(call(create))

    assert [len(each) for each in tickets.keys] == [64]
    assert create.lookup(call(create)) == receipt


def test_a_write_for_a_version_of_its_resource_that_is_past_is_refused_by_the_target(tickets: TicketService) -> None:
    create = made(tickets, *VERSIONED)[0]
    before = create.resource_version("record:r1")
    create.act(call(create, resource_version=before))
    other = replace(call(create), key="another", arguments={**ARGUMENTS, "field": "title"}, resource_version=before)

    error = failure(lambda: create.act(other))

    assert (before, create.resource_version("record:r1"), error.error_class) == (0, 1, "resource_changed")


def test_a_ticket_is_taken_back_by_the_tool_that_compensates(tickets: TicketService) -> None:
    create, close = made(tickets)
    receipt = create.act(call(create))
    arguments = close.compensation(ARGUMENTS, receipt.object_id)
    taking_back = replace(call(close), arguments=arguments, key=close.operation_key(arguments) or "")

    closed = close.act(taking_back)

    assert (close.compensates, arguments["reason"]) == ("create_ticket", "withdrawn: effective of r1")
    assert (tickets.tickets[0]["state"], close.read_back(closed.object_id)) == ("closed", arguments)
    assert close.lookup(taking_back) == closed


def test_an_argument_cannot_leave_its_place_in_a_path(tickets: TicketService) -> None:
    _, close = made(tickets)
    for ticket in ("../control", "a/b", "..", "", "T-1\r\nX: y"):
        wrong = replace(call(close), arguments={"ticket": ticket, "reason": "because"})
        assert failure(lambda wrong=wrong: close.act(wrong)).error_class == "invalid_arguments"

    assert tickets.calls() == []
