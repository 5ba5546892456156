"""Driving a run for somebody who watches: the timeline as it happens, and signals that lose nothing."""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext

from service.draining import as_ctrl_c, draining, handling
from service.edge import Interrupted
from service.use_cases import UseCases
from state.digest import Json
from state.errors import Drained, RemitError

POLL_S = 0.05

Show = Callable[[Json], None]


class Timeline:
    """The events of one run, each shown once and in order, however often it is looked at."""

    def __init__(self, cases: UseCases, run_id: str, show: Show, after: int = 0) -> None:
        self._cases = cases
        self._run_id = run_id
        self._show = show
        self._after = after

    def catch_up(self) -> None:
        """Show what is new. Raises RunNotFound."""
        for event in self._cases.events(self._run_id, self._after):
            self._after = event["seq"]
            self._show(event)

    @contextmanager
    def live(self) -> Generator[None]:
        """While the block runs, what is new is shown as it happens; at its end nothing is left out."""
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(done,), name="remit-timeline", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
            self.catch_up()

    def _watch(self, done: threading.Event) -> None:
        while not done.wait(POLL_S):
            try:
                self.catch_up()
            except RemitError:
                return  # the driver meets the same trouble, and says so


def drive(cases: UseCases, run_id: str, engine: str | None, timeline: Timeline | None) -> None:
    """Drive until the run waits or ends, in this thread.

    Ctrl-C and SIGTERM stop it at the next safe point, let go of the run, and raise Interrupted unless it has ended.
    """
    try:
        with leaves_a_run_safe(run_id), draining(cases.drain) as asked:
            with timeline.live() if timeline is not None else nullcontext():
                cases.drive(run_id, engine)
            if asked.yes and not cases.has_ended(run_id):
                raise KeyboardInterrupt
    except (RemitError, OSError, sqlite3.Error) as error:
        error.add_note(go_on(run_id))
        raise


@contextmanager
def leaves_a_run_safe(run_id: str) -> Generator[None]:
    """Raises Interrupted, with how to go on, when somebody presses Ctrl-C or sends SIGTERM."""
    try:
        with handling([signal.SIGTERM], as_ctrl_c):
            yield
    except (KeyboardInterrupt, Drained):
        raise Interrupted(
            f"Interrupted. Run {run_id} is safe: nothing is lost, and nothing will be done twice.\n{go_on(run_id)}"
        ) from None


def go_on(run_id: str) -> str:
    return f"Go on with: remit resume {run_id}"
