"""Somebody who looks at ledger and targets from outside, with connections and words of its own.

`ledger_committed` and `business_committed` look at every commit, for what only that moment can show: who had authority,
which moves were made. `look` looks at what must hold between any two steps. What is wrong is noted in `wrong`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from state.digest import operation_digest
from tests.support.post import Office

LIVE = ("queued", "running", "waiting", "paused", "cancelling")
ENDS = ("succeeded", "failed", "denied", "cancelled", "timed_out", "budget_exceeded", "insufficient_evidence")
# The moves of a run, as the concept says them. A commit may make two at once (a claim that parks a run, say).
MOVES = {
    "queued": {"running", "cancelled", "timed_out", "failed", "denied", "waiting", "queued"},
    "running": {"waiting", "paused", "cancelling", "queued", "running", *ENDS},
    "waiting": {"queued", "running", "cancelling", "cancelled", "timed_out", "waiting"},
    "paused": {"queued", "running", "cancelling", "cancelled", "timed_out", "waiting", "paused"},
    "cancelling": {"cancelling", *ENDS},
}
SPENT = ("turns", "tool_calls", "model_calls")

_CALLS = """
SELECT t.rowid, t.fence, t.started_at, o.*, r.fence AS run_fence, r.status AS run_status, r.desired_action, r.deadline,
       a.approval_id, a.status AS asked_status, a.digest AS asked_digest, a.expires_at, a.quorum
FROM tries t JOIN operations o USING (operation_id) JOIN runs r USING (run_id)
     LEFT JOIN approvals a USING (operation_id)
WHERE t.kind = 'call' AND t.rowid > ? ORDER BY t.rowid
"""
_APPROVERS = """
SELECT count(*) FROM decisions d WHERE d.approval_id = ? AND d.answer = 'approve' AND d.digest_seen = ?
AND EXISTS (SELECT 1 FROM permissions p WHERE p.subject = d.approver AND p.action = 'approve'
            AND p.resource IN ('*', ?))
"""
_MAY_START = "SELECT 1 FROM permissions WHERE subject = ? AND action = 'start' AND resource IN ('*', ?)"
_GRANTED = "SELECT 1 FROM grants WHERE subject = ? AND action = ? AND resource IN ('*', ?)"


class Observer:
    """Watches one data directory and the offices."""

    def __init__(self, folder: Path, offices: Mapping[str, Office]) -> None:
        self.wrong: list[str] = []
        self._offices = offices
        self._ledger = _open(folder / "ledger.sqlite")
        self._business = _open(folder / "business.sqlite")
        self._runs: dict[str, sqlite3.Row] = {}
        self._calls = 0
        self._effects = 0

    def close(self) -> None:
        self._ledger.close()
        self._business.close()

    def says(self, holds: bool, what: str) -> None:
        if not holds and what not in self.wrong:
            self.wrong.append(what)

    # --- at every commit ------------------------------------------------------------------------------------

    def ledger_committed(self) -> None:
        for row in self._ledger.execute("SELECT * FROM runs"):
            before = self._runs.get(row["run_id"])
            if before is not None:
                self._moved(before, row)
            self._runs[row["run_id"]] = row
        for call in self._ledger.execute(_CALLS, (self._calls,)):
            self._calls = call["rowid"]
            self._claimed(call)

    def _moved(self, before: sqlite3.Row, now: sqlite3.Row) -> None:
        run, old, new = now["run_id"], before["status"], now["status"]
        if old in ENDS:
            kept = ("status", "reason", "ended_at", "turn")  # what is said of it is said anew after a settlement
            self.says(all(before[name] == now[name] for name in kept), f"{run}: an end changed: {old} -> {new}")
        else:
            self.says(new in MOVES[old], f"{run}: {old} -> {new}")
        for name in ("fence", "seq", "status_version", *[f"used_{each}" for each in SPENT]):
            self.says(before[name] <= now[name], f"{run}: {name} went back from {before[name]} to {now[name]}")

    def _claimed(self, call: sqlite3.Row) -> None:
        """The transaction that took the key: everything that allows an effect held at this moment."""
        named = f"{call['operation_key']} claimed ({call['operation_id']})"
        at, digest = call["started_at"], call["digest"]
        self.says(call["fence"] == call["run_fence"], f"{named} under a lease that was lost")
        self.says((call["run_status"], call["desired_action"]) == ("running", "none"), f"{named} against a wish")
        self.says(call["deadline"] is None or call["deadline"] > at, f"{named} after the deadline")
        self.says(call["asked_status"] == "approved", f"{named} with an approval that is {call['asked_status']}")
        meant = operation_digest(call["tool"], call["tool_version"], json.loads(call["arguments"]))
        self.says(digest == call["asked_digest"] == meant, f"{named} with other arguments than approved")
        self.says((call["expires_at"] or 0) > at, f"{named} with an approval that has expired")
        (able,) = self._ledger.execute(_APPROVERS, (call["approval_id"], digest, call["tool"])).fetchone()
        self.says(able >= (call["quorum"] or 1), f"{named} without an approver who may approve")
        may_start = self._ledger.execute(_MAY_START, (call["principal"], call["agent_id"])).fetchone()
        self.says(may_start is not None, f"{named} for a principal who may not start")
        self.says(self._granted(call), f"{named} without a grant")

    def _granted(self, call: sqlite3.Row) -> bool:
        if call["tool"] in self._offices:
            return self._offices[call["tool"]].granted
        action = f"write:{call['tool'].removeprefix('create_')}"
        return self._business.execute(_GRANTED, (call["principal"], action, call["resource"])).fetchone() is not None

    def business_committed(self) -> None:
        new = "SELECT rowid, * FROM effects WHERE rowid > ? ORDER BY rowid"
        for row in self._business.execute(new, (self._effects,)):
            self._effects = row["rowid"]
            action = f"write:{row['kind']}"
            held = "SELECT 1 FROM grants WHERE subject = ? AND action = ?"
            held_now = self._business.execute(held, (row["principal"], action)).fetchone()
            self.says(held_now is not None, f"{row['operation_key']} written without a grant")

    # --- between steps --------------------------------------------------------------------------------------

    def look(self) -> None:
        """What must hold whenever nobody is inside a transaction."""
        writes = self._ledger.execute("SELECT * FROM operations WHERE effect = 'write'").fetchall()
        for run in self._ledger.execute("SELECT * FROM runs").fetchall():
            self._one_run(run, [each for each in writes if each["run_id"] == run["run_id"]])
        self._targets(writes)

    def _one_run(self, run: sqlite3.Row, writes: list[sqlite3.Row]) -> None:
        name = run["run_id"]
        for each in SPENT:
            limit = run[f"max_{each}"]
            self.says(limit is None or run[f"used_{each}"] <= limit, f"{name}: more {each} than the budget has")
        lines = "SELECT count(*), coalesce(max(seq), 0) FROM events WHERE run_id = ?"
        self.says(tuple(self._ledger.execute(lines, (name,)).fetchone()) == (run["seq"],) * 2, f"{name}: a gap")
        flying = sum(in_flight(each) for each in writes)
        self.says(run["inflight"] == flying, f"{name}: inflight {run['inflight']}, by its operations {flying}")
        holds = self._ledger.execute("SELECT fence FROM attempts WHERE run_id = ? AND ended_at IS NULL", (name,))
        held = [run["fence"]] if run["nonce"] is not None else []
        self.says([each["fence"] for each in holds] == held, f"{name}: its attempts are not its lease")
        self.says(
            run["nonce"] is None or run["status"] in {"running", "cancelling"}, f"{name}: held, and {run['status']}"
        )
        self.says(run["reason"] not in {"verification_failed", "internal"}, f"{name}: {run['status']}/{run['reason']}")
        if run["status"] in ENDS:
            open_ = [each["status"] for each in writes if each["status"] in OPEN]
            self.says(not open_, f"{name}: ended as {run['status']}, but a write is {open_}")

    def _targets(self, writes: list[sqlite3.Row]) -> None:
        there = self.there()
        keys = [key for key, _ in there]
        for key in set(keys):
            self.says(keys.count(key) == 1, f"{key}: {keys.count(key)} effects")
        for office in self._offices.values():
            for key in set(office.handed_over) if not office.dedups else ():
                allowed = 1 + office.excused.count(key)
                self.says(office.handed_over.count(key) <= allowed, f"{key}: called again, not knowing")
        said: dict[tuple[str, str], set[str]] = {}
        for each in writes:
            said.setdefault((each["operation_key"], each["digest"]), set()).add(each["status"])
        for effect in there:
            known = said.get(effect, set())
            self.says(bool(known & {"committed", "unknown", "dispatched"}), f"{effect[0]} is there; known: {known}")
        for effect, statuses in said.items():
            self.says("committed" not in statuses or effect in there, f"{effect[0]} is committed, and not there")

    def there(self) -> list[tuple[str, str]]:
        """Key and digest of every effect that has happened."""
        rows = self._business.execute("SELECT operation_key, digest, kind FROM effects").fetchall()
        for kind in ("ticket", "note"):
            (made,) = self._business.execute(f"SELECT count(*) FROM {kind}s").fetchone()
            self.says(made == sum(row["kind"] == kind for row in rows), f"{made} {kind}s for other effects")
        letters = [(each.key, each.digest) for office in self._offices.values() for each in office.arrived]
        return [(row["operation_key"], row["digest"]) for row in rows] + letters

    def rows(self) -> dict[str, sqlite3.Row]:
        """Every run's row, by its id."""
        return {row["run_id"]: row for row in self._ledger.execute("SELECT * FROM runs").fetchall()}


OPEN = frozenset({"planned", "awaiting_approval", "approved", "dispatched"})


def in_flight(write: sqlite3.Row) -> int:
    """Dispatched, or unknown with lookups to come."""
    return int(write["status"] == "dispatched" or (write["status"] == "unknown" and write["next_at"] is not None))


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA synchronous = OFF")  # it is the last to close, and would wait for the disk
    return connection
