"""The ledger: the trusted record of what was decided, approved, claimed and settled.

Its promises, by the numbers that tables and statements name:

L1  One run has one driver. A lease is a fence that only grows and a nonce that only its holder knows; every write of a
    driver proves both in the statement that opens its transaction (`guard.py`).
L2  A turn is recorded once. Whoever comes second adopts the record; it is neither asked for nor paid for again.
L3  One operation key is one effect. Its first claimer inserts it; the same key with another digest is a conflict.
L4  A decision counts only as a row, one per person and approval, made by an actor whom trusted code named.
L5  A wish, a deadline and a claim compete on the run's row: whichever commits first, the others see.
L6  The timeline is numbered 1, 2, 3, … in the transaction that makes the fact true, and each line carries the hash of
    its predecessor.
L7  Budgets are counted with the fact that they pay for. Turns and tool calls cannot exceed their limit at all.
L8  Facts that belong together are one transaction: after a crash all of them are there, or none.
L9  An effect that may have happened is claimed again only where its target makes one object per key, or where a lookup
    after the last call has proven that nothing was done.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from state.actor import Actor
from state.agent import AgentDefinition
from state.clock import Clock
from state.digest import Json
from state.errors import OperationNotFound
from state.operation import Operation
from state.run import Lease, Run
from store import audit, effects, guard, operations, runs
from store.database import Connection, Database
from store.effects import Claimed
from store.facts import Facts, facts_of
from store.operations import Source
from store.outbox import Outbox
from store.runs import NewRun
from store.tables import metadata
from store.transaction import RunTransaction

__all__ = ["LEDGER_HEAD", "REMIT", "Driver", "Facts", "Ledger"]

LEDGER_HEAD = "0003"
MAX_KEPT_INPUTS = 256
REMIT = Actor("remit", via="remit")  # what Remit does by itself is done under its own name


@dataclass(frozen=True, slots=True)
class Driver:
    """A process (or a part of one) that drives runs. `is_dead` tells of another owner that it is proven dead."""

    owner: str
    engine: str
    is_dead: Callable[[str], bool]


class Ledger:
    """One tenant's view of a ledger database. Safe to use from several threads. With an `outbox`, what is to be told
    is written with the facts; without one, no statement is spent on it.
    """

    def __init__(self, database: Database, clock: Clock, tenant: str = "local", outbox: Outbox | None = None) -> None:
        self.database = database
        self.clock = clock
        self.tenant = tenant
        self.outbox = outbox
        self._inputs: dict[str, Json] = {}

    @staticmethod
    def database_at(path: Path) -> Database:
        """Open (or make) a ledger file; raises the errors of `Database`."""
        return Database(path, metadata, LEDGER_HEAD)

    # --- transactions about one run -------------------------------------------------------------------------

    @contextmanager
    def acting(self, lease: Lease) -> Generator[RunTransaction]:
        """A driver records something that leads on: a turn, a plan, a claim. Raises LeaseLost, GuardRefused."""
        with self._driving(guard.act, lease) as tx:
            if tx.run["takeovers"]:
                tx.set(takeovers=0)  # a fact recorded is progress
            yield tx

    @contextmanager
    def settling(self, lease: Lease) -> Generator[RunTransaction]:
        """A driver records what has happened, whatever is wished by now. Raises LeaseLost, GuardRefused."""
        with self._driving(guard.settle, lease) as tx:
            yield tx

    @contextmanager
    def control(self, run_id: str, actor: Actor) -> Generator[RunTransaction]:
        """Somebody who does not drive the run changes it. Raises RunNotFound."""
        with self.database.write() as connection:
            row = guard.lock(connection, self.tenant, run_id)
            tx = RunTransaction(connection, self.tenant, row, self.clock.now(), actor.subject, self.outbox)
            yield tx
            tx.close()

    @contextmanager
    def _driving(self, opening: guard.Guard, lease: Lease) -> Generator[RunTransaction]:
        with self.database.write() as connection:
            now = self.clock.now()  # after the lock: a deadline may pass while we wait for it
            row = opening(connection, self.tenant, lease, now)
            tx = RunTransaction(connection, self.tenant, row, now, "remit", self.outbox)
            yield tx
            tx.close()

    # --- opening and holding runs ---------------------------------------------------------------------------

    def open_run(self, new: NewRun, driver: Driver | None) -> tuple[str, Lease | None, bool]:
        """Open a run, and drive it from the same transaction on if a driver is given.

        Answers run id, lease and whether the run is new: the same run id or request key opens nothing twice.
        Raises Conflict when the request key came with another request.
        """
        with self.database.write() as connection:
            now = self.clock.now()
            known = runs.known_by_key(connection, self.tenant, new)
            if known is not None:
                return known, None, False
            row = runs.insert_run(connection, self.tenant, new, now)
            if row is None:
                return new.run_id, None, False
            runs.remember_key(connection, self.tenant, new, now)
            audit.append(
                connection,
                self.tenant,
                now,
                new.requester,
                "run.start",
                f"run:{new.run_id}",
                "accepted",
                rule=new.rule,
                detail={"agent": new.definition.version_id},
            )
            tx = RunTransaction(connection, self.tenant, row, now, new.requester.subject, self.outbox)
            tx.event("run.accepted", {"agent": new.definition.version_id})
            tx.event("run.queued")
            lease = None
            if driver is not None:
                lease = runs.take_lease(tx, driver.owner, driver.engine, driver.is_dead)
            tx.close()
            return new.run_id, lease, True

    def claim(self, run_id: str, driver: Driver) -> Lease:
        """Become the driver of a run (L1). Raises RunBusy, RunNotFound, RunAlreadyTerminal."""
        with self.control(run_id, REMIT) as tx:
            return runs.take_lease(tx, driver.owner, driver.engine, driver.is_dead)

    def release(self, lease: Lease) -> None:
        """Give a run back to the queue if this lease still holds it; otherwise nothing happens."""
        with self.control(lease.run_id, REMIT) as tx:
            if tx.run["fence"] != lease.fence or tx.run["nonce"] != lease.nonce:
                return
            runs.end_attempt(tx, lease.fence, "released")
            tx.event("attempt.ended", {"attempt": lease.fence, "how": "released"})
            if tx.run["status"] == "running":
                tx.move("queued")
            else:
                tx.let_go()

    def renew(self, lease: Lease) -> Json | None:
        """Prolong a lease and read the wish; None when the lease is lost."""
        with self.database.write() as connection:
            return runs.renew(connection, self.tenant, lease, self.clock.now())

    # --- reading --------------------------------------------------------------------------------------------

    def run(self, run_id: str) -> Run:
        """Raises RunNotFound."""
        with self.database.read() as connection:
            return runs.get(connection, self.tenant, run_id)

    def facts(self, run_id: str) -> Facts:
        """Where the run stands. Raises RunNotFound."""
        with self.database.read() as connection:
            return self.facts_in(connection, run_id)

    def facts_in(self, connection: Connection, run_id: str) -> Facts:
        """As `facts`, inside a transaction that is open."""
        return facts_of(connection, self.tenant, run_id)

    def claim_of(self, operation_key: str) -> Claimed | None:
        """Who claimed the effect under this key last, and when; None if nobody did."""
        with self.database.read() as connection:
            return effects.claim_of(connection, self.tenant, operation_key)

    def operation(self, operation_id: str) -> Operation:
        """Raises OperationNotFound."""
        with self.database.read() as connection:
            found = operations.get(connection, self.tenant, operation_id)
        if found is None:
            raise OperationNotFound(operation_id)
        return found

    def made(self, operation_key: str) -> str | None:
        """The object of the effect that is committed under this key, or None."""
        with self.database.read() as connection:
            row = effects.effect(connection, self.tenant, operation_key)
        return row["object_id"] if row is not None and row["status"] == "committed" else None

    def maker(self, operation_key: str) -> str | None:
        """The run that owns the effect under this key, or None where there is none."""
        with self.database.read() as connection:
            row = effects.effect(connection, self.tenant, operation_key)
        return None if row is None else row["run_id"]

    def sources(self, run_id: str, first_turn: int = 1) -> list[Source]:
        """What the reads of a run gave, from a turn on, in order."""
        with self.database.read() as connection:
            return operations.sources(connection, self.tenant, run_id, first_turn)

    def definition(self, version_id: str) -> AgentDefinition:
        """The agent as a run was admitted with it."""
        with self.database.read() as connection:
            return runs.definition(connection, self.tenant, version_id)

    def task_input(self, run: Run) -> Json:
        """The task as it was accepted; it never changes, so it is read once."""
        known = self._inputs.get(run.task_id)
        if known is None:
            with self.database.read() as connection:
                known = runs.task_input(connection, self.tenant, run.task_id)
            if len(self._inputs) >= MAX_KEPT_INPUTS:
                self._inputs.clear()
            self._inputs[run.task_id] = known
        return known
