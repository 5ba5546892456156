"""Calling a tool that acts, for as long as it may take and no longer.

A call that ends by itself is waited for. Any other one runs in a thread of its own and is given up when its time is
over, or when it does not end after its token was tripped. What was given up may still happen: its outcome is unknown.
"""

from __future__ import annotations

import contextvars
import threading
import time

from state.errors import ToolError
from tools.contract import Call, Receipt, WriteTool, foreign

_POLL_S = 0.05
GRACE_S = {"yes": 5.0, "kill": 10.0, "no": 0.5}  # how long after its token was tripped a call is still waited for


def act(tool: WriteTool, call: Call) -> Receipt:
    """Raises ToolError; `unknown_outcome` for whatever the tool did not foresee, and for what was given up."""
    if tool.ends_with_its_call:
        return foreign(lambda: tool.act(call), "unknown_outcome")
    running = _Running(tool, call)
    return running.outcome()


class _Running:
    """One call in its thread."""

    def __init__(self, tool: WriteTool, call: Call) -> None:
        self._tool = tool
        self._call = call
        self._done = threading.Event()
        self._receipt: Receipt | None = None
        self._error: BaseException | None = None
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name=f"remit-{tool.name}", daemon=True)

    def _run(self) -> None:
        try:
            self._receipt = foreign(lambda: self._tool.act(self._call), "unknown_outcome")
        except BaseException as error:  # it is raised again where the call is waited for
            self._error = error
        finally:
            self._done.set()

    def outcome(self) -> Receipt:
        until = time.monotonic() + self._tool.longest_call_s
        self._thread.start()
        while not self._done.wait(_POLL_S):
            now = time.monotonic()
            if self._call.token.tripped:
                until = min(until, now + GRACE_S[self._tool.cancellable])
                break
            if now > until:
                break
        if not self._done.wait(max(0.0, until - time.monotonic())):
            return self._give_up()
        if self._error is not None:
            raise self._error
        return self._receipt  # type: ignore[return-value] - whatever it is, the gateway looks at it

    def _give_up(self) -> Receipt:
        why = self._call.token.tripped or "time"
        self._call.token.trip(why)
        raise ToolError("unknown_outcome", f"{self._tool.id} did not end ({why}); what it does may still happen.")
