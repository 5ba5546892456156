"""One transaction about one run: facts, the run's row and its timeline become true together, or not at all."""

from __future__ import annotations

import uuid
from typing import Any

from sqlalchemy import update

from state.errors import StaleVersion
from state.events import EVENT_TYPES, FIRST_HASH, end_event, event_hash
from state.run import DRIVABLE, TERMINAL, check_move
from store.database import Connection, Row, Statement, encode, inserting, param
from store.outbox import Outbox
from store.tables import events, runs

_INSERT_EVENTS = inserting(events)
_CLOSE: dict[tuple[str, ...], Statement] = {}


def _closing(columns: tuple[str, ...]) -> Statement:
    """UPDATE of the given columns, compare-and-set on `status_version`; compiled once per set of columns."""
    if columns not in _CLOSE:
        _CLOSE[columns] = Statement(
            update(runs)
            .where(
                runs.c.tenant_id == param("tenant"),
                runs.c.run_id == param("run"),
                runs.c.status_version == param("version_seen"),
            )
            .values({column: param(f"new_{column}") for column in columns})
        )
    return _CLOSE[columns]


class RunTransaction:
    """Open on a locked run row. `run` is the row as it will be at the end; facts are written through `connection`."""

    def __init__(
        self, connection: Connection, tenant: str, run: Row, now: int, actor: str, outbox: Outbox | None = None
    ) -> None:
        self.connection = connection
        self.tenant = tenant
        self.run = run
        self.now = now
        self._actor = actor
        self._outbox = outbox
        self._version_seen = run["status_version"]
        self._changes: dict[str, Any] = {}
        self._events: list[tuple[str, str, dict[str, Any]]] = []

    @property
    def run_id(self) -> str:
        return self.run["run_id"]

    def key(self, **more: Any) -> dict[str, Any]:
        """Values every statement about this run needs: tenant, run, now."""
        return {"tenant": self.tenant, "run": self.run_id, "now": self.now, **more}

    def set(self, **changes: Any) -> None:
        """Change columns of the run's row at the end of the transaction."""
        self._changes.update(changes)
        self.run.update(changes)

    def add(self, **amounts: int) -> None:
        """Count up columns of the run's row; safe, because the row is locked."""
        self.set(**{column: self.run[column] + amount for column, amount in amounts.items() if amount})

    def event(self, type_: str, payload: dict[str, Any] | None = None, *, actor: str | None = None) -> None:
        """One line of the timeline; its number is taken when the transaction closes (L6)."""
        assert type_ in EVENT_TYPES, type_
        self._events.append((type_, actor or self._actor, payload or {}))

    def move(self, status: str, reason: str | None = None, payload: dict[str, Any] | None = None) -> None:
        """Change the run's status and say so on the timeline; raises IllegalMove, RunAlreadyTerminal."""
        check_move(self.run["status"], status, reason)
        self.set(status=status, reason=reason, status_version=self._version_seen + 1)
        if status in TERMINAL:
            self.set(ended_at=self.now, desired_action="none", wake_at=None)
        if status not in DRIVABLE:
            self.let_go()
        if status == "waiting" and reason != "takeover":  # which has a line of its own
            self.event(f"run.waiting_{reason}", payload)
        elif status in {"queued", "paused"}:
            self.event(f"run.{status}", payload)
        elif status in TERMINAL:
            self.event(end_event(status), {"reason": reason, **(payload or {})})

    def let_go(self) -> None:
        """Nobody drives the run any more."""
        self.set(nonce=None, owner=None, lease_until=0, active_at=None)

    def close(self) -> None:
        """Write the run's row and the events; raises StaleVersion if the row is not the one that was locked."""
        if self._events:
            self._append()
        if self._changes:
            columns = tuple(sorted(self._changes))
            values = {f"new_{column}": self._changes[column] for column in columns}
            written = self.connection.execute(_closing(columns), self.key(version_seen=self._version_seen, **values))
            if written != 1:
                raise StaleVersion(f"Run {self.run_id} changed under its own lock; nothing was written.")

    def _append(self) -> None:
        seq = self.run["seq"]
        previous = self.run["last_hash"] or FIRST_HASH
        rows: list[Row] = []
        for type_, actor, payload in self._events:
            seq += 1
            event = {
                "run_id": self.run_id,
                "seq": seq,
                "event_id": str(uuid.uuid4()),
                "type": type_,
                "at": self.now,
                "actor": actor,
            }
            previous = event_hash(previous, {**event, "payload": payload})
            rows.append({**event, "payload": encode(payload), "tenant_id": self.tenant, "hash": previous})
        self.connection.execute_many(_INSERT_EVENTS, rows)
        if self._outbox is not None:
            payloads = [payload for _, _, payload in self._events]
            self._outbox.write(self.connection, self.tenant, self.run, list(zip(rows, payloads, strict=True)))
        self.set(seq=seq, last_hash=previous)
