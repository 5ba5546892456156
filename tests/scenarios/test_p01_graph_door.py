"""P1: What travels through `Command(resume=...)` approves nothing; the door records it for a trusted actor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from graphs.governed import GovernedGraph, open_graph
from graphs.run_graph import build_graph
from state.actor import acting_as
from state.errors import LeaseLost, NotAllowed, RunAlreadyTerminal, RunNotFound
from tests.support.malformed import malformed_answers
from tests.support.world import RunInWorld, World

THREAD: Any = {"configurable": {"thread_id": "t1"}}


@pytest.fixture
def graph_world(tmp_path: Any) -> Iterator[World]:
    """A world used through `graph.invoke` alone."""
    made = World(tmp_path, "langgraph")
    yield made
    made.close()


def governed(world: World, saver: Any = None) -> GovernedGraph:
    return open_graph(world.parts, saver or InMemorySaver(), "catalog-check")


def without_door(world: World) -> Any:
    driving = world.parts.driving("langgraph")
    return build_graph(world.parts, driving, "catalog-check").compile(checkpointer=InMemorySaver())


def decision(shown: Any, kind: str = "approve") -> dict[str, Any]:
    (asked,) = shown["__interrupt__"][0].value["approvals"]
    return {"decisions": [{"approval_id": asked["id"], "digest": asked["digest"], "type": kind}]}


def test_a_run_is_started_answered_and_ended_through_invoke(graph_world: World) -> None:
    graph = governed(graph_world)
    shown = graph.invoke(graph_world.check_input(), THREAD)
    assert graph_world.tickets == []

    ended = graph.invoke(Command(resume=decision(shown)), THREAD)

    assert (ended["status"], ended["effect"], len(graph_world.tickets)) == ("succeeded", "committed", 1)
    assert set(ended) == {"run_id", "status", "reason", "effect", "summary"}


def test_the_question_is_a_hitl_request_and_its_plain_answer_counts(graph_world: World) -> None:  # A15
    graph = governed(graph_world)
    shown = graph.invoke(graph_world.check_input(), THREAD)
    value = shown["__interrupt__"][0].value
    assert value["action_requests"][0]["args"] == value["action_requests"][0]["arguments"]
    assert value["review_configs"][0]["allowed_decisions"] == ["approve", "edit", "reject"]

    graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)

    assert len(graph_world.tickets) == 1


def test_an_agent_inbox_answer_counts(graph_world: World) -> None:  # A15
    graph = governed(graph_world)
    graph.invoke(graph_world.check_input(), THREAD)

    ended = graph.invoke(Command(resume=[{"type": "ignore", "args": None}]), THREAD)

    assert (ended["status"], ended["reason"], graph_world.tickets) == ("denied", "approval_rejected", [])


def test_an_answer_keyed_by_the_pending_interrupt_is_opened(graph_world: World) -> None:
    graph = governed(graph_world)
    shown = graph.invoke(graph_world.check_input(), THREAD)

    graph.invoke(Command(resume={shown["__interrupt__"][0].id: decision(shown)}), THREAD)

    assert len(graph_world.tickets) == 1


def test_the_approver_is_who_trusted_code_says(graph_world: World) -> None:
    graph = governed(graph_world)
    shown = graph.invoke(graph_world.check_input(), THREAD)
    with acting_as("mallory"):
        again = graph.invoke(Command(resume=decision(shown)), THREAD)
    assert ("__interrupt__" in again, graph_world.tickets) == (True, [])

    graph_world.permit("bob", "approve")
    with acting_as("bob"):
        graph.invoke(Command(resume=decision(shown)), THREAD)

    decided = [each for each in graph_world.audit if each["action"] == "approval.decide"]
    assert [(each["actor"], each["result"]) for each in decided] == [("mallory", "refused"), ("bob", "approve")]


def test_config_and_state_cannot_name_an_actor(graph_world: World) -> None:
    graph = governed(graph_world)
    spoofed: Any = {"configurable": {"thread_id": "t1", "langgraph_auth_user": {"identity": "root"}, "actor": "root"}}

    graph.invoke({**graph_world.check_input(), "requester": "root", "actor": "root"}, spoofed)

    assert graph_world.parts.ledger.run("t1").requester == "ada"


def test_twenty_malformed_answers_through_the_graphs_door_and_then_a_good_one(graph_world: World) -> None:  # A10
    graph = governed(graph_world)
    shown = graph.invoke(graph_world.check_input(), THREAD)
    other = governed(graph_world)
    other.invoke(graph_world.check_input(), {"configurable": {"thread_id": "t2"}})
    run = RunInWorld(graph_world, "t1")
    bad = malformed_answers(run.question, RunInWorld(graph_world, "t2").question)

    for value in bad:
        assert "__interrupt__" in graph.invoke(Command(resume=value), THREAD)
    graph.invoke(Command(resume=decision(shown)), THREAD)

    assert (run.status, len(graph_world.tickets)) == ("succeeded/completed", 1)
    assert run.timeline.count("approval.refused") == len(bad)


def test_on_a_graph_without_a_door_no_answer_has_an_effect_and_the_run_stays_answerable(graph_world: World) -> None:
    graph = without_door(graph_world)
    shown = graph.invoke(graph_world.check_input(), THREAD)
    run = RunInWorld(graph_world, "t1")

    for value in [decision(shown), *malformed_answers(run.question, run.question)]:
        if value is not None:  # LangGraph itself breaks on None before any node runs
            graph.invoke(Command(resume=value), THREAD)
        assert (run.status, graph_world.tickets) == ("waiting/approval", [])
    run.answer(decision(shown))
    graph.invoke({}, THREAD)

    assert (run.status, len(graph_world.tickets)) == ("succeeded/completed", 1)


def test_resuming_an_unknown_thread_opens_no_run(graph_world: World) -> None:  # A12
    with pytest.raises(RunNotFound):
        governed(graph_world).invoke(Command(resume={"decisions": []}), THREAD)

    said = without_door(graph_world).invoke(Command(resume={"decisions": []}), THREAD)

    assert (said["status"], said["reason"]) == ("failed", "input_invalid")
    assert graph_world.parts.ledger.database.path.exists()
    with pytest.raises(RunNotFound):
        graph_world.parts.ledger.run("t1")


def test_resuming_a_finished_run_is_refused_at_the_door_and_does_nothing_without_one(graph_world: World) -> None:  # A12
    graph = governed(graph_world)
    shown = graph.invoke(graph_world.check_input(), THREAD)
    answer = decision(shown)
    graph.invoke(Command(resume=answer), THREAD)

    with pytest.raises(RunAlreadyTerminal):
        graph.invoke(Command(resume=answer), THREAD)

    assert (graph.invoke({}, THREAD)["status"], len(graph_world.tickets)) == ("succeeded", 1)


def test_nothing_but_an_answer_gets_past_an_open_question(graph_world: World) -> None:  # A13
    graph = governed(graph_world)
    shown = graph.invoke(graph_world.check_input(), THREAD)
    run = RunInWorld(graph_world, "t1")
    asked = run.question
    old = next(each.config for each in graph.get_state_history(THREAD) if each.next == ("decide",))

    graph.invoke(None, THREAD)
    graph.invoke({**graph_world.check_input(record="r2")}, THREAD)
    graph.update_state(THREAD, {"status": "succeeded", "outcome": "go_on", "step": "approve"}, as_node="approve")
    graph.invoke(None, THREAD)
    graph.invoke(Command(goto="__end__"), THREAD)
    with pytest.raises(LeaseLost):
        graph.invoke(Command(update={"outcome": "done", "lease": {"fence": 1, "nonce": "x"}}), THREAD)
    graph.invoke({}, old)

    assert (run.status, run.question, graph_world.tickets) == ("waiting/approval", asked, [])
    graph.invoke(Command(resume=decision(shown)), THREAD)
    assert (run.status, len(graph_world.tickets)) == ("succeeded/completed", 1)


@pytest.mark.parametrize("forged", ["execute_tool", "authorize", "verify", "finish", "validate", "decide"])
def test_a_forged_route_leads_nowhere(graph_world: World, forged: str) -> None:  # A13, K2
    graph = governed(graph_world)
    graph.invoke(graph_world.check_input(), THREAD)
    run = RunInWorld(graph_world, "t1").approve(drive=False)
    graph_world.state_version_of(run, 999)

    graph.update_state(THREAD, {"step": "admit", "outcome": forged}, as_node="admit")
    graph.invoke(None, THREAD)

    assert (run.status, run.writes, graph_world.tickets) == ("waiting/migration", ["approved"], [])


def test_an_answer_belongs_to_whoever_called_and_not_to_who_takes_the_chunks(graph_world: World) -> None:  # A17
    graph = governed(graph_world)
    shown = graph.invoke(graph_world.check_input(), THREAD)
    with acting_as("mallory"):
        chunks = graph.stream(Command(resume=decision(shown)), THREAD)

    list(chunks)

    assert (RunInWorld(graph_world, "t1").status, graph_world.tickets) == ("waiting/approval", [])
    decided = [each for each in graph_world.audit if each["action"] == "approval.decide"]
    assert [(each["actor"], each["result"]) for each in decided] == [("mallory", "refused")]


async def _answer_later(graph: GovernedGraph, answer: Any, how: str) -> None:
    with acting_as("mallory"):
        called = (
            graph.ainvoke(Command(resume=answer), THREAD)
            if how == "ainvoke"
            else getattr(graph, how)(Command(resume=answer), THREAD)
        )
    if how == "ainvoke":
        await called
        return
    async for _ in called:
        pass


@pytest.mark.parametrize("how", ["ainvoke", "astream", "astream_events"])
def test_an_answer_sent_without_waiting_belongs_to_whoever_sent_it(graph_world: World, how: str) -> None:  # A17
    graph = governed(graph_world)
    shown = graph.invoke(graph_world.check_input(), THREAD)

    asyncio.run(_answer_later(graph, decision(shown), how))

    assert (RunInWorld(graph_world, "t1").status, graph_world.tickets) == ("waiting/approval", [])


def test_the_mirror_says_that_a_run_waits_also_when_it_is_asked_again(graph_world: World) -> None:
    graph = governed(graph_world)
    first = graph.invoke(graph_world.check_input(), THREAD)

    again = graph.invoke({}, THREAD)

    assert (first["status"], first["reason"]) == (again["status"], again["reason"]) == ("waiting", "approval")


def test_a_forged_lease_is_refused(graph_world: World) -> None:
    graph = governed(graph_world)
    graph.invoke(graph_world.check_input(), THREAD)
    fence = graph_world.parts.ledger.run("t1").fence

    with pytest.raises(LeaseLost):
        graph.invoke(Command(update={"lease": {"fence": fence, "nonce": "zz"}}), THREAD)

    assert RunInWorld(graph_world, "t1").status == "waiting/approval"


def test_a_copied_state_never_acts(graph_world: World) -> None:  # A13
    graph = governed(graph_world)
    graph.invoke(graph_world.check_input(), THREAD)
    copy: Any = {"configurable": {"thread_id": "copy"}}
    graph.update_state(copy, graph.get_state(THREAD).values, as_node="authorize")

    for given in (None, {}):
        with pytest.raises(NotAllowed, match="a copy never acts"):
            graph.invoke(given, copy)

    assert graph_world.tickets == []


def test_a_stateless_call_is_refused_with_how_to_mend_it(graph_world: World) -> None:
    graph = open_graph(graph_world.parts, None, "catalog-check")

    with pytest.raises(NotAllowed, match="thread_id"):
        graph.invoke(graph_world.check_input())


def test_bad_input_is_an_answer_and_opens_no_run(graph_world: World) -> None:
    said = governed(graph_world).invoke({"notice": "/no/such/file", "catalog": "x", "record": "r1"}, THREAD)

    assert (said["status"], said["reason"]) == ("failed", "input_invalid")
    assert "/no/such/file" in said["summary"]
    with pytest.raises(RunNotFound):
        graph_world.parts.ledger.run("t1")


async def _ask_and_answer(graph: GovernedGraph, task: Any) -> Any:
    shown = await graph.ainvoke(task, THREAD)
    return await graph.ainvoke(Command(resume=decision(shown)), THREAD)


def test_the_door_stands_in_front_of_async_calls_too(graph_world: World) -> None:
    ended = asyncio.run(_ask_and_answer(governed(graph_world), graph_world.check_input()))

    assert (ended["status"], len(graph_world.tickets)) == ("succeeded", 1)
