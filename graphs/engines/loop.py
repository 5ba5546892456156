"""The engine `loop`: the flow as a plain while loop. It needs no persistence but the ledger."""

from __future__ import annotations

from typing import Any

from graphs import flow
from graphs.steps import steps
from graphs.wiring import Parts
from nodes.pause import Suspended, suspend


class LoopEngine:
    """On restart, `admit` goes on where the journal says."""

    name = "loop"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._driving = parts.driving(self.name)
        self._steps = steps(parts, self._driving, None, suspend, Suspended)

    def drive(self, run_id: str) -> None:
        """Raises RunBusy, RunNotFound, LeaseLost."""
        again = True
        while again:
            with self._driving.invocation():
                self._once(run_id)
            again = self._parts.ledger.run(run_id).status == "queued"

    def _once(self, run_id: str) -> None:
        config: Any = {"configurable": {"thread_id": run_id}}
        state: dict[str, Any] = {}
        step = flow.START
        try:
            while step != flow.END:
                state |= self._steps[step].run(state, config)
                step = flow.next_node(state)
        except Suspended:
            return
