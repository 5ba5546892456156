"""Calling a tool for as long as it may take and no longer.

A call that ends by itself is waited for. Any other one runs in a thread of its own and is given up when its time is
over, or when it does not end after its token was tripped. An act that was given up may still happen: its outcome is
unknown. A read, a lookup or a read-back that was given up has told nothing, and may be asked again.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from state.digest import Json
from state.errors import ErrorClass, ToolError
from tools.contract import Call, CancelToken, ReadTool, Receipt, Tool, WriteTool, foreign

T = TypeVar("T")

_POLL_S = 0.05
GRACE_S = {"yes": 5.0, "kill": 10.0, "no": 0.5}  # how long after its token was tripped a call is still waited for


def act(tool: WriteTool, call: Call) -> Receipt:
    """Raises ToolError; `unknown_outcome` for whatever the tool did not foresee, and for what was given up."""
    try:
        return _called(tool, lambda: tool.act(call), call.token, "unknown_outcome", GRACE_S[tool.cancellable])
    except _GivenUp as error:
        call.token.trip(str(error))  # whoever still works on it may see that nobody waits any more
        raise ToolError("unknown_outcome", f"{tool.id} did not end ({error}); what it does may still happen.") from None


def read(tool: ReadTool, call: Call) -> Json:
    """Raises ToolError; `transient` for what was given up."""
    return _told(tool, lambda: tool.read(call), call.token, "internal")


def lookup(tool: WriteTool, call: Call) -> Receipt | None:
    """Raises ToolError; `transient` for what was given up."""
    return _told(tool, lambda: tool.lookup(call), call.token, "transient")


def read_back(tool: WriteTool, object_id: str) -> Json | None:
    """Raises ToolError; `transient` for what was given up."""
    return _told(tool, lambda: tool.read_back(object_id), CancelToken(), "transient")


def _told(tool: Tool, call: Callable[[], T], token: CancelToken, unforeseen: ErrorClass) -> T:
    try:
        return _called(tool, call, token, unforeseen, GRACE_S["no"])
    except _GivenUp as error:
        raise ToolError("transient", f"{tool.id} did not answer ({error}).") from None


class _GivenUp(Exception):
    """The call goes on, and nobody waits for it any more; says why."""


def _called(tool: Tool, call: Callable[[], T], token: CancelToken, unforeseen: ErrorClass, grace_s: float) -> T:
    if tool.ends_with_its_call:
        return foreign(call, unforeseen)
    running = _Running(lambda: foreign(call, unforeseen), f"remit-{tool.name}")
    if not running.ended(token, tool.longest_call_s, grace_s):
        raise _GivenUp(token.tripped or "time")
    return running.outcome()


class _Running(Generic[T]):
    """One call in its thread."""

    def __init__(self, call: Callable[[], T], name: str) -> None:
        self._call = call
        self._done = threading.Event()
        self._outcome: list[T] = []
        self._error: BaseException | None = None
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name=name, daemon=True)

    def _run(self) -> None:
        try:
            self._outcome.append(self._call())
        except BaseException as error:  # it is raised again where the call is waited for
            self._error = error
        finally:
            self._done.set()

    def ended(self, token: CancelToken, longest_s: float, grace_s: float) -> bool:
        """Wait for it, so long; False if it goes on."""
        until = time.monotonic() + longest_s
        self._thread.start()
        while not self._done.wait(_POLL_S):
            now = time.monotonic()
            if token.tripped:
                until = min(until, now + grace_s)
                break
            if now > until:
                break
        return self._done.wait(max(0.0, until - time.monotonic()))

    def outcome(self) -> T:
        """What it answered, whatever that is; or raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._outcome[0]
