"""What a server relies on: one door, a lease that is always given back, checkpoints that can be forgotten."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from langgraph.types import Command

from graphs.checkpointers import async_sqlite_saver, sqlite_saver
from graphs.governed import Door, open_graph
from tests.support.world import World

TICKET = {"source": "gazette 7", "field": "effective", "observed": "2026-03-01", "recorded": "2026-02-01"}


def on_thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


async def next_in_a_task_of_its_own(chunks: Any) -> Any:
    """How a server takes chunks: whatever one of them sets in its context, the next one does not see."""
    return await asyncio.create_task(anext(chunks))


def test_a_stream_that_is_given_up_gives_its_lease_back(loop_world: World):
    async def gives_up() -> None:
        async with async_sqlite_saver(loop_world.folder / "checkpoints.sqlite") as saver:
            graph = open_graph(loop_world.parts, saver, "ticket")
            chunks: Any = graph.astream(TICKET, on_thread("t1"), stream_mode=["values", "updates"])
            kinds = [(await next_in_a_task_of_its_own(chunks))[0] for _ in range(2)]
            assert kinds == ["values", "updates"]
            assert loop_world.parts.ledger.run("t1").nonce is not None
            await chunks.aclose()

    asyncio.run(gives_up())

    run = loop_world.parts.ledger.run("t1")
    assert (run.status, run.nonce) == ("queued", None)


def test_two_streams_of_one_thread_taken_in_turns_each_give_back_their_own_lease(loop_world: World):
    with sqlite_saver(loop_world.folder / "checkpoints.sqlite") as saver:
        graph = open_graph(loop_world.parts, saver, "ticket")
        first: Any = graph.stream(TICKET, on_thread("t1"), stream_mode=["values", "updates"])
        second: Any = graph.stream(TICKET, on_thread("t2"), stream_mode=["values", "updates"])
        assert [next(each)[0] for each in (first, second, first, second)] == ["values", "values", "updates", "updates"]

        first.close()

        assert loop_world.parts.ledger.run("t1").nonce is None
        assert loop_world.parts.ledger.run("t2").nonce is not None
        second.close()
    assert loop_world.parts.ledger.run("t2").nonce is None


def test_a_graph_whose_door_is_elsewhere_records_nothing_and_asks_again(loop_world: World):
    asked, asked_again = asyncio.run(answered(loop_world, "elsewhere"))

    assert asked["__interrupt__"][0].value["approvals"] == asked_again["__interrupt__"][0].value["approvals"]
    assert loop_world.parts.ledger.run("t1").status == "waiting"
    assert loop_world.tickets == []


def test_a_graph_with_a_door_records_the_answer_also_when_it_is_asynchronous(loop_world: World):
    asyncio.run(answered(loop_world, "here"))

    assert loop_world.parts.ledger.run("t1").status == "succeeded"
    assert len(loop_world.tickets) == 1


async def answered(world: World, door: Door) -> list[Any]:
    async with async_sqlite_saver(world.folder / "checkpoints.sqlite") as saver:
        graph = open_graph(world.parts, saver, "ticket", door=door)
        approve: Any = Command(resume={"decisions": [{"type": "approve"}]})
        return [await graph.ainvoke(each, on_thread("t1")) for each in (TICKET, approve)]


def test_the_checkpoints_of_one_server_run_can_be_forgotten(tmp_path: Path):
    async def forgets() -> list[Any]:
        async with async_sqlite_saver(tmp_path / "checkpoints.sqlite") as saver:
            for name in ("one", "two"):
                empty = {"v": 1, "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}
                checkpoint: Any = {**empty, "id": name}
                of_run: Any = {"run_id": name}
                config: Any = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}
                saved = await saver.aput(config, checkpoint, of_run, {})
                await saver.aput_writes(saved, [("step", name)], "task")
            await saver.adelete_for_runs(["two", "no such run"])
            return [each async for each in saver.alist(None)]

    (left,) = asyncio.run(forgets())

    assert left.config["configurable"]["checkpoint_id"] == "one"
    assert [each[2] for each in left.pending_writes or []] == ["one"]
