"""Holding a run while driving it: claim, keep, let go, and prove that another owner is dead.

An owner is one process. It holds a `flock` on a file of its own as long as it lives, so a process on the same host can
prove its death at once; a missing file proves nothing, and then the lease has to run out.
"""

from __future__ import annotations

import fcntl
import os
import threading
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from state.errors import RemitError
from state.run import Lease
from store.guard import LEASE_TTL_MS
from store.ledger import Driver, Ledger
from tools.contract import CancelToken

_KEEP_EVERY_S = LEASE_TTL_MS / 1000 / 3

# Leases claimed by the invocation that is going on, so that whoever started it can let go of them in the end. It never
# decides who holds a run: that is the lease in the graph's untracked channel.
_claimed: ContextVar[list[Lease] | None] = ContextVar("remit_claimed", default=None)


class Owner:
    """This process as a driver of runs: a name nobody else has, and a locked file for as long as it lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.name = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._file = open(folder / self.name, "w")  # noqa: SIM115 - held open until the process ends
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def is_dead(self, other: str) -> bool:
        """Is this owner proven dead? True only if its file is here and nobody holds the lock on it."""
        if other == self.name:
            return False
        try:
            with open(self._folder / other) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
        except OSError:
            return False

    def close(self) -> None:
        """Let go of the lock and take the file away."""
        (self._folder / self.name).unlink(missing_ok=True)
        self._file.close()


class Driving:
    """Drives runs of one ledger for one engine; shared by all nodes of that engine."""

    def __init__(self, ledger: Ledger, owner: Owner, engine: str) -> None:
        self.ledger = ledger
        self.driver = Driver(owner.name, engine, owner.is_dead)
        self._inside: dict[str, tuple[Lease, CancelToken]] = {}
        self._lock = threading.Lock()
        self._keeper: threading.Thread | None = None
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

    @contextmanager
    def inside(self, lease: Lease) -> Generator[CancelToken]:
        """While a node works: the lease is renewed by a thread of its own, and wishes trip the token."""
        token = CancelToken()
        with self._lock:
            self._inside[lease.nonce] = (lease, token)
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="remit-keeper", daemon=True)
                self._keeper.start()
        try:
            yield token
        finally:
            with self._lock:
                self._inside.pop(lease.nonce, None)

    def _keep(self) -> None:
        while not self._stop.wait(_KEEP_EVERY_S):
            self.beat()

    def beat(self) -> None:
        """Renew every lease that a node works under now, and trip the token of a run that is to stop."""
        with self._lock:
            inside = list(self._inside.values())
        for lease, token in inside:
            self._keep_one(lease, token)

    def _keep_one(self, lease: Lease, token: CancelToken) -> None:
        try:
            row = self.ledger.renew(lease)
        except RemitError:
            return  # tried again at the next beat; the guard of the next write decides
        if row is None:
            token.trip("lease lost")
        elif row["status"] == "cancelling" or row["desired_action"] == "cancel":
            token.trip("cancel")
        elif row["deadline"] is not None and row["deadline"] <= self.ledger.clock.now():
            token.trip("deadline")

    def close(self) -> None:
        """Stop the keeper."""
        self._stop.set()
