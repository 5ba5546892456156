"""Drives what nobody drives: from the ledger, at the start and every few seconds.

That is a queued run that whoever queued it did not come for, a run whose driver is dead, and one whose time has come. A
run that is lost to a server (three failed tries, a cancelled server run, a deleted thread, a kill) is found here again.
Two that drive one run are told apart by its lease, so this may run in any number of processes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from graphs.engines.engine import Engine
from graphs.engines.langgraph import LangGraphEngine
from graphs.engines.loop import LoopEngine
from graphs.wiring import Parts
from nodes.due import look
from state.actor import acting_as
from state.errors import DriverError, RemitError
from state.run import Run
from store import undriven
from store.ledger import REMIT

EVERY_S = 2.0
GRACE_MS = 3_000  # for whoever queued a run to come for it
AT_ONCE = 2
MAX_SEEN = 200
FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 5_000, 300_000
_log = logging.getLogger("remit.dispatcher")


class Dispatcher:
    """`has_driver` says of a run that somebody else is about to drive it, though its row does not show that yet."""

    def __init__(self, parts: Parts, has_driver: Callable[[str], bool], every_s: float = EVERY_S) -> None:
        self._parts = parts
        self._has_driver = has_driver
        self._every_s = every_s
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(AT_ONCE, "remit-dispatched")
        self._thread = threading.Thread(target=self._watch, name="remit-dispatcher", daemon=True)
        self._lock = threading.Lock()  # guards what follows
        self._going: set[str] = set()
        self._failed: dict[str, tuple[int, int]] = {}  # times, and when it may be tried again
        self._langgraph = LangGraphEngine(parts)
        self._engines: dict[str, Engine] = {"langgraph": self._langgraph, "loop": LoopEngine(parts)}

    def start(self) -> None:
        """Begin to look, at once."""
        self._langgraph.ready()
        self._thread.start()

    def stop(self, within_s: float) -> bool:
        """Begin nothing more, and wait for what is going on, which a drain has told to stop; False if it did not."""
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        give_up = time.monotonic() + within_s
        while self._thread.is_alive() or self.going:
            if time.monotonic() > give_up:
                return False
            time.sleep(0.05)
        self._langgraph.close()
        return True

    @property
    def going(self) -> frozenset[str]:
        """The runs that are driven here now."""
        with self._lock:
            return frozenset(self._going)

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                self.look_once()
            except Exception as error:  # a look that failed must not be the last one
                _log.warning("Looking for runs that nobody drives failed (%s); trying again.", _said(error))
            self._stop.wait(self._every_s)

    def look_once(self) -> list[str]:
        """Hand over every run that needs a driver now; their ids."""
        ledger = self._parts.ledger
        with ledger.database.read() as connection:
            seen = undriven.candidates(connection, ledger.tenant, ledger.clock.now(), MAX_SEEN)
        taken: list[str] = []
        for run in seen:
            if self._stop.is_set():
                break
            if self._may_try(run.run_id) and self._needs_a_driver(run) and not self._has_driver(run.run_id):
                self._hand_over(run.run_id)
                taken.append(run.run_id)
        return taken

    def _may_try(self, run_id: str) -> bool:
        with self._lock:
            _, again_at = self._failed.get(run_id, (0, 0))
            now = self._parts.clock.monotonic()
            return run_id not in self._going and len(self._going) < AT_ONCE and again_at <= now

    def _needs_a_driver(self, run: Run) -> bool:
        """Makes the moves that are due by themselves first."""
        now = self._parts.ledger.clock.now()
        if run.engine not in self._engines:
            return False
        if run.status in {"waiting", "paused"}:
            look(self._parts.ledger, run.run_id)
            return self._parts.ledger.run(run.run_id).status == "queued"
        if run.nonce is not None:
            assert run.owner is not None
            return run.lease_until <= now or self._parts.owner.is_dead(run.owner)
        if run.status == "queued":
            return run.last_activity_at + GRACE_MS <= now
        return run.wake_at is None or run.wake_at <= now

    def _hand_over(self, run_id: str) -> None:
        with self._lock:
            self._going.add(run_id)
        try:
            self._pool.submit(self._drive, run_id)
        except RuntimeError:  # the pool was closed meanwhile
            self._done(run_id, failed=False)

    def _drive(self, run_id: str) -> None:
        failed = True
        try:
            run = self._parts.ledger.run(run_id)
            with acting_as(REMIT):
                self._engines[run.engine].drive(run_id)
            failed = False
        except DriverError:
            failed = False  # somebody else has it, or we are going away
        except Exception as error:  # a bug of a tool or of ours; the run stays, and is tried again later
            _log.warning("Run %s could not be driven (%s); trying again later.", run_id, _said(error))
        finally:
            self._done(run_id, failed)

    def _done(self, run_id: str, failed: bool) -> None:
        with self._lock:
            self._going.discard(run_id)
            times, _ = self._failed.pop(run_id, (0, 0))
            if failed:
                pause = min(FIRST_PAUSE_MS * 2**times, LONGEST_PAUSE_MS)
                self._failed[run_id] = (times + 1, self._parts.clock.monotonic() + pause)


def _said(error: Exception) -> str:
    """Our own errors say what they may; of others only the kind is told, since nobody knows what they hold."""
    return str(error) if isinstance(error, RemitError) else type(error).__name__
