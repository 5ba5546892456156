"""Holding a run while driving it: claim, keep, heed wishes, let go.

While a node works, a keeper renews its lease and looks four times a second whether it is to stop. Where no node works,
the keeper sleeps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any

from nodes.owner import Owner
from state.errors import Drained, RemitError
from state.run import DRIVABLE, Lease
from store import runs
from store.guard import LEASE_TTL_MS
from store.ledger import Driver, Ledger
from tools.contract import CancelToken

_RENEW_EVERY_S = LEASE_TTL_MS / 1000 / 3
_LOOK_EVERY_S = 0.25

# Leases claimed by the invocation that is going on, so that whoever started it can let go of them in the end. It never
# decides who holds a run: that is the lease in the graph's untracked channel.
_claimed: ContextVar[list[Lease] | None] = ContextVar("remit_claimed", default=None)


@dataclass(frozen=True, slots=True)
class _Inside:
    """One node at work."""

    lease: Lease
    token: CancelToken
    at_its_end: bool


class Driving:
    """Drives runs of one ledger for one engine; shared by all nodes of that engine."""

    def __init__(self, ledger: Ledger, owner: Owner, engine: str) -> None:
        self.ledger = ledger
        self.driver = Driver(owner.name, engine, owner.is_dead)
        self._inside: dict[str, _Inside] = {}
        self._changed = threading.Condition()  # guards what follows
        self._keeper: threading.Thread | None = None
        self._keeper_sleeps = False
        self._draining: str | None = None
        self._stop = threading.Event()

    def claim(self, run_id: str) -> Lease:
        """Raises RunBusy, RunNotFound, RunAlreadyTerminal."""
        return self.claimed(self.ledger.claim(run_id, self.driver))

    def claimed(self, lease: Lease) -> Lease:
        held = _claimed.get()
        if held is not None:
            held.append(lease)
        return lease

    @contextmanager
    def invocation(self) -> Generator[None]:
        """Around one drive of a run: whatever it claimed and did not give back is released, also after an error."""
        held: list[Lease] = []
        try:
            with self.noting(held):
                yield
        finally:
            self.release(held)

    @contextmanager
    def noting(self, held: list[Lease]) -> Generator[None]:
        """While this block runs, what is claimed in its context is also written down in `held`."""
        before = _claimed.set(held)
        try:
            yield
        finally:
            _claimed.reset(before)

    def release(self, held: list[Lease]) -> None:
        """Give back what is still held of these."""
        for lease in held:
            self._release(lease)

    def _release(self, lease: Lease) -> None:
        try:
            if self.ledger.run(lease.run_id).nonce == lease.nonce:
                self.ledger.release(lease)
        except RemitError:
            return  # it runs out by itself; the error that led here is the one to show

    # --- inside a node --------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, lease: Lease, *, at_its_end: bool = False, begins: bool = True) -> Generator[CancelToken]:
        """While a node works: the lease is renewed by a thread of its own, and wishes trip the token.

        Where a run is `at_its_end`, what its node does (looking up, recording) is what the wish asks for, and only the
        loss of the lease stops it. Raises Drained for a node that `begins` something in a process that is going away.
        """
        entered = _Inside(lease, CancelToken(), at_its_end)
        with self._changed:
            if begins and self._draining is not None:
                raise Drained(self._draining)
            self._inside[lease.nonce] = entered
            self._wake_keeper()
        try:
            yield entered.token
        finally:
            with self._changed:
                self._inside.pop(lease.nonce, None)

    def drain(self, why: str = "drain") -> None:
        """Trip every token and begin nothing any more: what is going on stops or is finished, then its run is let go.

        Takes locks: not to be called from a signal handler.
        """
        with self._changed:
            self._draining = why
            inside = list(self._inside.values())
        for each in inside:
            each.token.trip(why)

    @property
    def draining(self) -> str | None:
        """Why nothing is begun any more, or None."""
        return self._draining

    def must_stop(self, lease: Lease) -> bool:
        """Is there a reason to trip this lease's token, whoever tripped it? A decider is handed its own, and could."""
        try:
            run = self.ledger.run(lease.run_id)
        except RemitError:
            return True
        held = run.nonce == lease.nonce and run.status in DRIVABLE
        return self._draining is not None or self._reason(asdict(run) if held else None) is not None

    # --- the keeper -----------------------------------------------------------------------------------------

    def _wake_keeper(self) -> None:
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep, name="remit-keeper", daemon=True)
            self._keeper.start()
        elif self._keeper_sleeps:
            self._changed.notify()

    def _keep(self) -> None:
        renewed = time.monotonic()
        while not self._stop.wait(_LOOK_EVERY_S):
            if self._slept_while_idle():
                renewed = time.monotonic()  # whoever came in has just written, and so renewed
            elif time.monotonic() - renewed >= _RENEW_EVERY_S:
                renewed = time.monotonic()
                self.beat()
            else:
                self.look()

    @property
    def idle(self) -> bool:
        """Does the keeper sleep, because no node works?"""
        return self._keeper_sleeps

    def _slept_while_idle(self) -> bool:
        with self._changed:
            slept = not self._inside
            while not self._inside and not self._stop.is_set():
                self._keeper_sleeps = True
                self._changed.wait()
            self._keeper_sleeps = False
        return slept

    def beat(self) -> None:
        """Renew every lease that a node works under now, and trip the token of a run that is to stop."""
        for each in self._now_inside():
            try:
                self._heed(each, self.ledger.renew(each.lease))
            except RemitError:
                continue  # tried again at the next beat; the guard of the next write decides

    def look(self) -> None:
        """Trip the token of each run that is to stop: one read for all of them, and no write."""
        inside = self._now_inside()
        if not inside:
            return
        try:
            with self.ledger.database.read() as connection:
                rows = {row["nonce"]: row for row in runs.driven(connection, self.ledger.tenant)}
        except RemitError:
            return
        for each in inside:
            self._heed(each, rows.get(each.lease.nonce))

    def _now_inside(self) -> list[_Inside]:
        with self._changed:
            return list(self._inside.values())

    def _heed(self, inside: _Inside, row: Mapping[str, Any] | None) -> None:
        why = self._reason(row)
        if why is not None and (row is None or not inside.at_its_end):
            inside.token.trip(why)

    def _reason(self, row: Mapping[str, Any] | None) -> str | None:
        """Why a driver is to stop, by its run's row; None for the row means that it holds the run no more."""
        if row is None:
            return "lease lost"
        if row["desired_action"] == "take_over":
            return "take over"
        if row["status"] == "cancelling" or row["desired_action"] == "cancel":
            return "cancel"
        if row["deadline"] is not None and row["deadline"] <= self.ledger.clock.now():
            return "deadline"
        return None

    def close(self) -> None:
        """Stop the keeper."""
        self._stop.set()
        with self._changed:
            self._changed.notify()
        if self._keeper is not None:
            self._keeper.join()
