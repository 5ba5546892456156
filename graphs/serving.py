"""The graphs as a server loads them: made once per process, without a checkpointer, and with their door shut.

A server calls a graph's factory for every run and every look at a thread's state, on its event loop. So the factory is
asynchronous, opens the databases in a thread, and answers the same compiled graph each time; the server takes a copy
and gives it the checkpointer that `langgraph.json` names.
"""

from __future__ import annotations

import asyncio
import functools

from graphs.governed import GovernedGraph, open_graph
from graphs.wiring import parts


async def served(agent_id: str) -> GovernedGraph:
    """The graph of this agent. Raises AgentNotFound, and what opening the databases raises."""
    return await asyncio.to_thread(_compiled, agent_id)


@functools.cache
def _compiled(agent_id: str) -> GovernedGraph:
    return open_graph(parts(), None, agent_id, door="elsewhere")
