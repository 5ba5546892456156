"""Deciders whose provider streams: what comes is counted as it comes, and a tripped token closes the stream at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from nodes.deciders.decider import Stopped, View
from state.budget import Usage
from state.digest import Json
from state.errors import ToolError
from tools.contract import CancelToken

_POLL_S = 0.05
MAX_TEXT = 1024 * 1024  # characters; a proposal may be a quarter of it


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the proposal's JSON text, and what was used since the chunk before. The call itself is counted."""

    text: str = ""
    usage: Usage = field(default_factory=Usage)


class Stream(Protocol):
    """What a provider sends. `close` may be called from another thread, at any time, more than once; after it a
    `__next__` that waits for the provider ends, with StopIteration or with any exception.
    """

    def __iter__(self) -> Iterator[Chunk]: ...

    def __next__(self) -> Chunk: ...

    def close(self) -> None: ...


class Streaming:
    """Proposes what a stream spells. `opens` begins one call at the provider, `worst` is the most it costs."""

    def __init__(self, name: str, opens: Callable[[View], Stream], worst: Usage) -> None:
        self.name = name
        self._opens = opens
        self._worst = worst

    def worst_case(self) -> Usage:
        return self._worst

    def propose(self, view: View, token: CancelToken) -> Any:
        """JSON that should read as a proposal, with the usage that came. Raises Stopped, ToolError."""
        if token.tripped:
            raise Stopped(Usage())
        stream = self._opens(view)
        came = _Came(Usage(model_calls=self._worst.model_calls))
        done = threading.Event()
        guard = threading.Thread(target=_closes, args=(stream, token, done), name="remit-stream", daemon=True)
        guard.start()
        try:
            self._listen(stream, came, token)
        finally:
            done.set()
            with suppress(Exception):  # what has come is what counts
                stream.close()
        return came.proposal()

    @staticmethod
    def _listen(stream: Stream, came: _Came, token: CancelToken) -> None:
        try:
            for chunk in stream:
                came.add(chunk)
                if token.tripped:
                    break
        except Exception:
            if not token.tripped:
                raise
        if token.tripped:
            raise Stopped(came.usage)


@dataclass(slots=True)
class _Came:
    """What has come so far."""

    usage: Usage
    texts: list[str] = field(default_factory=list[str])
    length: int = 0

    def add(self, chunk: Chunk) -> None:
        self.usage = _sum(self.usage, chunk.usage)
        self.length += len(chunk.text)
        if self.length > MAX_TEXT:
            raise ToolError("internal", f"The stream is longer than {MAX_TEXT} characters.")
        self.texts.append(chunk.text)

    def proposal(self) -> Any:
        """What the text says, with the usage that was counted here: what it says of its own usage does not count."""
        said: Any = None
        with suppress(ValueError, RecursionError):
            said = json.loads("".join(self.texts))
        if isinstance(said, dict):
            return {**cast(Json, said), "usage": self.usage.model_dump()}
        return {"kind": "unreadable", "usage": self.usage.model_dump()}


def _closes(stream: Stream, token: CancelToken, done: threading.Event) -> None:
    """Close the stream when the token is tripped, also while nothing comes."""
    while not done.is_set():
        if token.event.wait(_POLL_S):
            with suppress(Exception):  # whoever listens notices
                stream.close()
            return


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(**{name: amount + getattr(other, name) for name, amount in one.model_dump().items()})


Piece = Any  # a Chunk, an exception to raise, a function to call meanwhile, or HANGS
HANGS = "hangs"


class ScriptedStream:
    """Gives what it was told to give. At HANGS nothing comes any more until somebody closes it."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = iter(pieces)
        self._shut = threading.Event()

    @property
    def closed(self) -> bool:
        return self._shut.is_set()

    def __iter__(self) -> ScriptedStream:
        return self

    def __next__(self) -> Chunk:
        while not self.closed:
            piece: Any = next(self._pieces)
            if callable(piece):
                piece()
            elif piece is HANGS:
                self._shut.wait()
            elif isinstance(piece, BaseException):
                raise piece
            else:
                return piece
        raise StopIteration

    def close(self) -> None:
        self._shut.set()


class ScriptedStreaming(Streaming):
    """A decider whose n-th call at its provider streams the n-th script, and every later call the last one."""

    def __init__(self, scripts: Sequence[Sequence[Piece]], *, worst: Usage | None = None) -> None:
        self._scripts = list(scripts)
        self.streams: list[ScriptedStream] = []
        super().__init__("scripted", self._next, worst or Usage(model_calls=1))

    def _next(self, view: View) -> ScriptedStream:
        del view
        script = self._scripts[min(len(self.streams), len(self._scripts) - 1)]
        self.streams.append(ScriptedStream(script))
        return self.streams[-1]
