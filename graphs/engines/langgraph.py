"""The engine `langgraph`: the compiled graph with a checkpointer. A checkpoint makes resuming visible, never true."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver

from graphs.checkpointers import sqlite_saver
from graphs.governed import GovernedGraph, open_graph
from graphs.wiring import Parts

Durability = Literal["sync", "async", "exit"]
SaverFactory = Callable[[], AbstractContextManager[BaseCheckpointSaver[Any]]]


class LangGraphEngine:
    """Opens its checkpointer when it is first needed; `close` gives it back."""

    name = "langgraph"

    def __init__(self, parts: Parts, saver: SaverFactory | None = None, durability: Durability = "async") -> None:
        self._parts = parts
        self._open = saver or (lambda: sqlite_saver(parts.settings.checkpoints_path))
        self._durability: Durability = durability
        self._context: AbstractContextManager[BaseCheckpointSaver[Any]] | None = None
        self._saver: BaseCheckpointSaver[Any] | None = None
        self._graphs: dict[str | None, GovernedGraph] = {}

    def drive(self, run_id: str) -> None:
        """The resume rule: a new, empty input. Raises RunBusy, RunNotFound, LeaseLost."""
        run = self._parts.ledger.run(run_id)
        known = self._parts.agents.find(run.agent_id) is not None
        graph: Any = self.graph(run.agent_id if known else None)
        again = not run.ended
        while again:
            graph.invoke({}, {"configurable": {"thread_id": run_id}}, durability=self._durability)
            again = self._parts.ledger.run(run_id).status == "queued"

    def ready(self) -> None:
        """Make every graph now, so that several threads may drive at once."""
        for agent_id in (None, *self._parts.agents.ids):
            self.graph(agent_id)

    def graph(self, agent_id: str | None) -> GovernedGraph:
        """The graph that drives runs of this agent; None for runs of agents that this program does not have."""
        if agent_id not in self._graphs:
            if self._saver is None:
                self._context = self._open()
                self._saver = self._context.__enter__()
            self._graphs[agent_id] = open_graph(self._parts, self._saver, agent_id)
        return self._graphs[agent_id]

    def close(self) -> None:
        if self._context is not None:
            self._context.__exit__(None, None, None)
        self._context, self._saver = None, None
        self._graphs.clear()
