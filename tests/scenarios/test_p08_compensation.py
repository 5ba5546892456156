"""P8: What has happened is not rolled back: taking it back is an action of its own, approved like any other."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from graphs.governed import open_graph
from state.errors import Conflict, InputInvalid, NotAllowed, OperationNotFound
from tests.support.world import USER, World


def test_an_effect_that_is_not_wanted_any_more_is_taken_back_once_somebody_approves(world: World) -> None:
    ticket = world.cancelled_after_its_commit().ticket_made
    taking_back = world.compensate(ticket.operation_id)
    assert (taking_back.status, taking_back.question.arguments["ticket"]) == ("waiting/approval", ticket.object_id)

    taking_back.approve()

    assert (taking_back.status, taking_back.effect) == ("succeeded/completed", "committed")
    assert [each["ticket"] for each in world.withdrawals] == [ticket.object_id]


def test_nothing_is_taken_back_by_itself(world: World) -> None:
    run = world.cancelled_after_its_commit()

    world.restart()
    run.goes_on()

    assert (run.status, world.withdrawals, len(world.tickets)) == ("cancelled/user", [], 1)


def test_taking_back_is_refused_by_the_same_no_as_any_other_action(world: World) -> None:
    ticket = world.cancelled_after_its_commit().ticket_made

    taking_back = world.compensate(ticket.operation_id).reject()

    assert (taking_back.status, world.withdrawals) == ("denied/approval_rejected", [])


def test_a_ticket_is_taken_back_once_however_often_that_is_asked_for(world: World) -> None:
    ticket = world.cancelled_after_its_commit().ticket_made

    first, second = world.compensate(ticket.operation_id), world.compensate(ticket.operation_id)
    first.approve()
    second.approve()
    with pytest.raises(Conflict, match=f"{ticket.object_id} was taken back already, by withdrawal_"):
        world.compensate(ticket.operation_id)

    assert (first.status, second.status) == ("succeeded/completed", "succeeded/completed")
    assert len(world.withdrawals) == 1


def test_a_ticket_that_was_taken_back_is_not_there_for_who_asks_for_the_same_again(world: World) -> None:
    ticket = world.ticket().approve().ticket_made
    world.compensate(ticket.operation_id).approve()

    again = world.ticket().approve()

    assert (again.status, len(world.tickets)) == ("failed/verification_failed", 1)
    assert (again.row.failure or {})["detail"] == (
        f"create_ticket {ticket.object_id} was there already, under the same key, and does not read back as approved:"
        " it was changed or taken back since."
    )


def test_what_another_run_made_is_taken_back_where_it_was_made(world: World) -> None:
    maker = world.ticket().approve()
    adopting = world.ticket().approve()
    assert adopting.status == "succeeded/completed"

    with pytest.raises(Conflict, match=f"{maker.ticket_made.object_id} was made by run {maker.run_id}; take it back"):
        world.compensate(adopting.ticket_made.operation_id)

    assert world.withdrawals == []


def test_only_what_is_committed_can_be_taken_back(world: World) -> None:
    waiting = world.check()
    (write,) = [each for each in waiting.operations if each.effect == "write"]

    for operation_id, error in ((write.operation_id, Conflict), ("op_nobody", OperationNotFound), ("", InputInvalid)):
        with pytest.raises(error):
            world.compensate(operation_id)


@pytest.mark.parametrize("operation", [None, "op_nobody"])
def test_what_cannot_be_taken_back_is_an_answer_in_the_graph_too(world: World, operation: str | None) -> None:
    waiting = world.check()
    graph = open_graph(world.parts, InMemorySaver(), "compensation")

    said = graph.invoke(
        {"operation": operation or waiting.operations[-1].operation_id}, {"configurable": {"thread_id": "t"}}
    )

    assert (said["status"], said["reason"], said["effect"]) == ("failed", "input_invalid", "none")


def test_what_another_version_of_the_tool_did_is_not_taken_back_here(world: World) -> None:
    ticket = world.cancelled_after_its_commit().ticket_made
    world.restart()
    world.has_tool_version("create_ticket", "2")

    with pytest.raises(Conflict, match="done by create_ticket@1, which this program does not have"):
        world.compensate(ticket.operation_id)


def test_what_no_tool_takes_back_is_said_to_be_so(world: World) -> None:
    noted = world.noter().approve()
    (write,) = [each for each in noted.operations if each.effect == "write"]

    with pytest.raises(Conflict, match="No tool takes back what create_note does; there is one for: create_ticket"):
        world.compensate(write.operation_id)


def test_who_may_not_see_a_run_may_not_take_back_what_it_did_and_so_read_it(world: World) -> None:
    world.has_role("ursula", "user")
    world.parts.business.give(USER, "ursula", "write:withdrawal")
    ticket = world.ticket().approve().ticket_made

    with pytest.raises(NotAllowed, match="ursula may not see run") as refusal:
        world.start("compensation", {"operation": ticket.operation_id}, by="ursula")
    world.has_role("ursula", "auditor")
    taking_back = world.start("compensation", {"operation": ticket.operation_id}, by="ursula")

    assert str(ticket.object_id) not in str(refusal.value)
    assert taking_back.status == "waiting/approval"
    said = [(each["action"], each["result"]) for each in world.audit if each["actor"] == "ursula"]
    assert said == [("run.start", "denied"), ("run.start", "accepted")]


def test_whoever_asked_for_an_effect_may_have_it_taken_back(world: World) -> None:
    world.has_role("ursula", "user")
    for write in ("write:ticket", "write:withdrawal"):
        world.parts.business.give(USER, "ursula", write)
    given = {"source": "gazette 7", "field": "effective", "observed": "2026-03-01", "recorded": "2026-02-01"}
    ticket = world.start("ticket", given, by="ursula").approve().ticket_made

    taking_back = world.start("compensation", {"operation": ticket.operation_id}, by="ursula").approve()

    assert (taking_back.status, len(world.withdrawals)) == ("succeeded/completed", 1)
