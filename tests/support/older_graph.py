"""A program of before a node was renamed: the same steps and the same ledger, but other names in its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from langgraph.graph import START, StateGraph

from graphs import flow
from graphs.checkpointers import sqlite_saver
from graphs.run_graph import build_graph
from tests.support.world import World


def starts_with(world: World, renamed: Mapping[str, str], thread: str, task: dict[str, Any]) -> list[str]:
    """Starts a run on a graph whose nodes are called otherwise (`renamed`: today's name to the old one).

    Answers the nodes that its checkpoint says come next.
    """
    config: Any = {"configurable": {"thread_id": thread}}
    driving = world.parts.driving("langgraph")
    with sqlite_saver(world.parts.settings.checkpoints_path) as saver:
        graph = _renamed(build_graph(world.parts, driving, "catalog-check"), renamed).compile(checkpointer=saver)
        with driving.invocation():
            graph.invoke(task, config, durability="sync")
        return list(graph.get_state(config).next)


def next_of(world: World, thread: str) -> list[str]:
    """What today's graph takes a checkpoint to say about what comes next."""
    from graphs.engines.langgraph import LangGraphEngine

    with closing(LangGraphEngine(world.parts)) as engine:
        return list(engine.graph("catalog-check").get_state({"configurable": {"thread_id": thread}}).next)


def _renamed(today: Any, names: Mapping[str, str]) -> Any:
    graph: Any = StateGraph(today.state_schema, input_schema=today.input_schema, output_schema=today.output_schema)
    old = {name: names.get(name, name) for name in (*flow.STEPS, flow.END)}
    graph.add_edge(START, old[flow.START])
    for name in flow.STEPS:
        graph.add_node(old[name], today.nodes[name].runnable)
        graph.add_conditional_edges(old[name], flow.next_node, {each: old[each] for each in flow.ways(name)})
    return graph
