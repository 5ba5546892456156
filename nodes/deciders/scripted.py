"""A decider that says what it was told to say, for tests and trials: it also reports usage and takes its time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from nodes.deciders.decider import View
from state.budget import Usage
from tools.contract import CancelToken

_POLL_S = 0.005

Line = Any  # a Proposal, JSON that should read as one, an exception to raise, or a function of the view


class Scripted:
    """Says line n at turn n, and its last line at every turn after that.

    `takes_s` is how long a proposal takes; a tripped token ends the wait. `usage` is the worst case that it reports.
    """

    name = "scripted"

    def __init__(self, lines: Sequence[Line], *, usage: Usage | None = None, takes_s: float = 0.0) -> None:
        self._lines = list(lines)
        self._usage = usage or Usage()
        self._takes_s = takes_s
        self._asked = 0
        self._lock = threading.Lock()

    @property
    def asked(self) -> int:
        """How often it was asked for a proposal."""
        return self._asked

    def propose(self, view: View, token: CancelToken) -> Any:
        with self._lock:
            self._asked += 1
        self._wait(token)
        line = self._lines[min(view.turn, len(self._lines)) - 1]
        if isinstance(line, BaseException):
            raise line
        speaks: Callable[[View], Any] | None = line if callable(line) else None
        return speaks(view) if speaks else line

    def _wait(self, token: CancelToken) -> None:
        left = self._takes_s
        never = threading.Event()
        while left > 0 and token.tripped is None:
            never.wait(min(_POLL_S, left))
            left -= _POLL_S

    def worst_case(self) -> Usage:
        return self._usage
