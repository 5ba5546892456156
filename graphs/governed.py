"""The compiled graph with its door for answers.

An answer never reaches the graph: it is taken out of `Command(resume=...)`, recorded in the ledger for the actor whom
trusted code knows, and the run then goes on by the resume rule, with a new and empty input.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from graphs.run_graph import build_graph
from graphs.wiring import Parts
from nodes.driver import Driving
from nodes.step import thread_of

MAX_STEPS = 100_000  # the turns budget ends a run; this only has to be out of its way


class GovernedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that records answers before it runs, and lets go of its lease whatever happens."""

    def __init__(self, *, parts: Parts, driving: Driving, **compiled: Any) -> None:
        super().__init__(**compiled)
        self.parts = parts
        self.driving = driving

    def stream(self, input: Any, config: Any = None, **options: Any) -> Iterator[Any]:
        """As LangGraph's. Raises RunNotFound and RunAlreadyTerminal for an answer to no open run."""
        entry = self._entry(input, config or {}, lambda: self.get_state(config).interrupts)
        with self.driving.invocation():
            yield from super().stream(entry, _bounded(config), **options)

    async def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncIterator[Any]:
        """As `stream`; the ledger is asked in a thread."""
        import asyncio

        shown: Sequence[Any] = ()
        if isinstance(input, Command):
            shown = (await self.aget_state(config)).interrupts
        entry = await asyncio.to_thread(self._entry, input, config or {}, lambda: shown)
        with self.driving.invocation():
            async for chunk in super().astream(entry, _bounded(config), **options):
                yield chunk

    def _entry(self, given: Any, config: Any, shown: Any) -> Any:
        if not isinstance(given, Command) or given.goto or given.update:
            return given  # neither goto nor update can do anything: every node asks the journal
        actor = self.parts.identity.actor()
        self.parts.answers.record(actor, thread_of(config), cast(Any, given).resume, shown)
        return {}


def _bounded(config: Any) -> Any:
    return {"recursion_limit": MAX_STEPS, **(config or {})}


def open_graph(
    parts: Parts, saver: BaseCheckpointSaver[Any] | None, agent_id: str, engine: str = "langgraph"
) -> GovernedGraph:
    """The graph of one agent, compiled with this checkpointer (None under a server, which brings its own)."""
    driving = parts.driving(engine)
    compiled = build_graph(parts, driving, agent_id).compile(checkpointer=saver, name=agent_id)
    return GovernedGraph(parts=parts, driving=driving, **compiled.__dict__)
