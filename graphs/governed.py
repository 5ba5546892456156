"""The compiled graph with its door for answers.

An answer never reaches the graph: it is taken out of `Command(resume=...)`, recorded in the ledger for the actor whom
trusted code knows, and the run then goes on by the resume rule, with a new and empty input.

One path has one door. Called from Python, the door is here. Under a server it is the server's authorisation hook,
which knows who is calling: there, this one is shut, and an answer that comes by without having been recorded only asks
the question again. Who acts is, in Python, whom trusted code named; under a server, whom the server authenticated.
"""

# pyright: reportMissingTypeStubs=false
# langgraph is typed, but its namespace packages carry no marker of it

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterator, Sequence
from contextlib import aclosing, closing
from typing import Any, Literal, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from graphs.run_graph import build_graph
from graphs.wiring import Parts
from nodes.driver import Driving
from nodes.shapes import ids_alone
from nodes.step import thread_of
from state.actor import Actor, acting_as
from state.run import Lease

MAX_STEPS = 100_000  # the turns budget ends a run; this only has to be out of its way

Door = Literal["here", "elsewhere"]
_NO_MORE = object()


class GovernedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that records answers before it runs, and lets go of its lease whatever happens."""

    def __init__(self, *, parts: Parts, driving: Driving, door: Door, **compiled: Any) -> None:
        super().__init__(**compiled)
        self.parts = parts
        self.driving = driving
        self.door: Door = door

    def stream(self, input: Any, config: Any = None, **options: Any) -> Iterator[Any]:
        """As LangGraph's. Raises RunNotFound and RunAlreadyTerminal for an answer to no open run.

        Who acts is settled by this call, not by whoever takes the chunks later.
        """
        return self._stream(self._actor(config), input, config, options)

    def _stream(self, actor: Actor, input: Any, config: Any, options: dict[str, Any]) -> Iterator[Any]:
        entry = self._entry(actor, input, config or {}, lambda: self.get_state(config).interrupts)
        chunks = cast(Generator[Any], cast(Any, super()).stream(entry, _bounded(config), **options))
        held: list[Lease] = []
        try:
            with closing(chunks):
                while True:
                    with acting_as(actor), self.driving.noting(held):
                        chunk = next(chunks, _NO_MORE)
                    if chunk is _NO_MORE:
                        return
                    yield chunk
        finally:
            self.driving.release(held)

    def astream(self, input: Any, config: Any = None, **options: Any) -> AsyncIterator[Any]:
        """As `stream`; the ledger is only asked in threads.

        A server may take each chunk in a task, and so a context, of its own: what is claimed is noted chunk by chunk.
        """
        return self._astream(self._actor(config), input, config, options)

    async def _astream(self, actor: Actor, input: Any, config: Any, options: dict[str, Any]) -> AsyncIterator[Any]:
        shown: Sequence[Any] = ()
        if self.door == "here" and _is_answer(input):
            shown = (await self.aget_state(config)).interrupts
        entry = await asyncio.to_thread(self._entry, actor, input, config or {}, lambda: shown)
        chunks = cast(AsyncGenerator[Any], cast(Any, super()).astream(entry, _bounded(config), **options))
        held: list[Lease] = []
        try:
            async with aclosing(chunks):
                while True:
                    with acting_as(actor), self.driving.noting(held):
                        chunk = await anext(chunks, _NO_MORE)
                    if chunk is _NO_MORE:
                        return
                    yield chunk
        finally:
            await asyncio.to_thread(self.driving.release, held)

    def ainvoke(self, input: Any, config: Any = None, **options: Any) -> Any:
        """As LangGraph's, for whoever makes the call."""
        return _attributed(self._actor(config), cast(Any, super()).ainvoke(input, config, **options))

    def astream_events(self, input: Any, config: Any = None, **options: Any) -> Any:
        """As LangChain's, for whoever makes the call."""
        actor = self._actor(config)
        events = cast(Any, super()).astream_events(input, config, **options)
        if options.get("version") == "v3":  # this one is awaited for a stream of its own kind
            return _attributed(actor, events)
        return _attributed_chunks(actor, events)

    def _actor(self, config: Any) -> Actor:
        identity = self.parts.identity
        return identity.actor() if self.door == "here" else identity.on_a_server(config)

    def _entry(self, actor: Actor, given: Any, config: Any, shown: Any) -> Any:
        if not _is_answer(given):
            return given
        if self.door == "here":
            seen = shown if self.parts.settings.answers_without_ids else ids_alone(shown)
            self.parts.answers.record(actor, thread_of(config), given.resume, seen)
        return {}


async def _attributed(actor: Actor, call: Awaitable[Any]) -> Any:
    with acting_as(actor):
        return await call


async def _attributed_chunks(actor: Actor, chunks: Any) -> AsyncIterator[Any]:
    async with aclosing(chunks):
        while True:
            with acting_as(actor):
                chunk = await anext(chunks, _NO_MORE)
            if chunk is _NO_MORE:
                return
            yield chunk


def _is_answer(given: Any) -> bool:
    """Also an answer of None. `goto` and `update` alone are none, and can do nothing: every node asks the journal."""
    if not isinstance(given, Command):
        return False
    command = cast(Any, given)
    return command.resume is not None or not (command.goto or command.update)


def _bounded(config: Any) -> dict[str, Any]:
    given: dict[str, Any] = config or {}
    return {"recursion_limit": MAX_STEPS, **given}


def open_graph(
    parts: Parts,
    saver: BaseCheckpointSaver[Any] | None,
    agent_id: str | None,
    engine: str = "langgraph",
    door: Door = "here",
) -> GovernedGraph:
    """The graph of one agent, compiled with this checkpointer (None under a server, which brings its own)."""
    driving = parts.driving(engine)
    compiled = cast(Any, build_graph(parts, driving, agent_id)).compile(checkpointer=saver, name=agent_id)
    return GovernedGraph(parts=parts, driving=driving, door=door, **compiled.__dict__)
