"""Every node and every edge of a run, on one screen and without logic. The order is `flow.next_node`."""

# pyright: reportMissingTypeStubs=false
# langgraph is typed, but its namespace packages carry no marker of it

from __future__ import annotations

from typing import Annotated, Any

from langgraph.channels import UntrackedValue
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from graphs import flow
from graphs.steps import steps
from graphs.wiring import Parts
from nodes.driver import Driving
from nodes.question import answer_schema
from state.run_state import RunOutput, RunState


class DrivenState(RunState, total=False):
    """`lease` lives exactly as long as one invocation: it is never checkpointed, and in no input or output."""

    lease: Annotated[dict[str, Any], UntrackedValue]


class NoTask(TypedDict):
    """The input of a graph that only goes on with runs."""


def build_graph(parts: Parts, driving: Driving, agent_id: str | None) -> StateGraph[Any, Any, Any, Any]:
    """A new, uncompiled graph for one agent; None for runs that are known already, whoever's they are."""
    task = NoTask if agent_id is None else parts.agents.get(agent_id).task
    state = _with(DrivenState, task)
    node = steps(parts, driving, agent_id, _ask, GraphInterrupt)
    graph: Any = StateGraph(state, input_schema=task, output_schema=RunOutput)
    graph.add_edge(START, flow.START)
    for name in flow.STEPS:
        graph.add_node(name, node[name].run)
        graph.add_conditional_edges(name, flow.next_node, flow.ways(name))
    return graph


def _ask(question: dict[str, Any]) -> Any:
    """LangGraph's pause."""
    return interrupt(question, response_schema=answer_schema(question))


def _with(state: type[Any], task: type[Any]) -> type[Any]:
    """The state's channels and the task's fields as one TypedDict."""
    fields = {**task.__annotations__, **RunState.__annotations__, **state.__annotations__}
    return TypedDict("State", fields, total=False)  # type: ignore[misc]
