"""Retention: ended runs go after their time, with everything that is only about them.

What stays: what is not over (a live, waiting or paused run, an effect in doubt, a message still to be sent); what still
protects from repetition (the effect under its key, with digest, object and outcome, for ever unless it failed; request
keys for 30 days); the audit, and in it the head of each removed timeline. A batch is one transaction: after a crash all
of it is gone, or nothing is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, delete, exists, func, not_, or_, select

from state.digest import Json
from state.errors import RunNotFound
from state.run import TERMINAL
from store import guard
from store.database import Connection, Statement, decode, param
from store.tables import (
    agent_versions,
    approvals,
    attempts,
    audit,
    decisions,
    effects,
    events,
    idempotency_keys,
    operations,
    outbox,
    runs,
    tasks,
    tries,
    turns,
)

BATCH = 100
PRUNED = "remit-pruned/1"
KEYS_KEPT_MS = 30 * 24 * 3600 * 1000
_IN_DOUBT = ["dispatched", "unknown"]

_is_over = and_(
    runs.c.tenant_id == param("tenant"),
    runs.c.status.in_(sorted(TERMINAL)),
    runs.c.ended_at < param("before"),
    runs.c.nonce.is_(None),
    runs.c.inflight == 0,
    not_(
        exists().where(
            operations.c.tenant_id == runs.c.tenant_id,
            operations.c.run_id == runs.c.run_id,
            operations.c.effect == "write",
            operations.c.status.in_(_IN_DOUBT),
        )
    ),
    runs.c.run_id.not_in(
        select(effects.c.run_id).where(effects.c.tenant_id == param("tenant"), effects.c.status.in_(_IN_DOUBT))
    ),
    runs.c.run_id.not_in(
        select(idempotency_keys.c.run_id).where(
            idempotency_keys.c.tenant_id == param("tenant"), idempotency_keys.c.created_at > param("keys_before")
        )
    ),
    runs.c.run_id.not_in(
        select(outbox.c.run_id).where(
            outbox.c.tenant_id == param("tenant"), outbox.c.status == "pending", outbox.c.run_id.is_not(None)
        )
    ),
)
_OVER = Statement(
    select(runs.c.run_id).where(_is_over, runs.c.run_id > param("after")).order_by(runs.c.run_id).limit(param("limit"))
)
_IS_OVER = Statement(select(runs.c.run_id).where(_is_over, runs.c.run_id == param("run")))


def _of_run(table: Table) -> ColumnElement[bool]:
    return and_(table.c.tenant_id == param("tenant"), table.c.run_id == param("run"))


def _of_its(table: Table, parent: Table, key: str) -> ColumnElement[bool]:
    return and_(table.c.tenant_id == param("tenant"), table.c[key].in_(select(parent.c[key]).where(_of_run(parent))))


# In the order in which they can go: what refers to something goes before it.
_PARTS: dict[str, tuple[Table, ColumnElement[bool]]] = {
    "decisions": (decisions, _of_its(decisions, approvals, "approval_id")),
    "approvals": (approvals, _of_run(approvals)),
    "tries": (tries, _of_its(tries, operations, "operation_id")),
    "operations": (operations, _of_run(operations)),
    "turns": (turns, _of_run(turns)),
    "attempts": (attempts, _of_run(attempts)),
    "events": (events, _of_run(events)),
    "request_keys": (idempotency_keys, _of_run(idempotency_keys)),
    "messages": (outbox, _of_run(outbox)),
    "failed_effects": (effects, and_(_of_run(effects), effects.c.status == "failed")),
    "runs": (runs, _of_run(runs)),
}
COUNTED = (*_PARTS, "tasks", "agent_versions")
_COUNT = {
    name: Statement(select(func.count().label("rows")).select_from(table).where(which))
    for name, (table, which) in _PARTS.items()
}
_DELETE = {name: Statement(delete(table).where(which)) for name, (table, which) in _PARTS.items()}
_DELETE_TASK = Statement(
    delete(tasks).where(
        tasks.c.tenant_id == param("tenant"),
        tasks.c.task_id == param("task"),
        not_(exists().where(runs.c.tenant_id == tasks.c.tenant_id, runs.c.task_id == tasks.c.task_id)),
    )
)
_DELETE_VERSIONS = Statement(
    delete(agent_versions).where(
        agent_versions.c.tenant_id == param("tenant"),
        not_(
            exists().where(
                runs.c.tenant_id == agent_versions.c.tenant_id, runs.c.agent_version == agent_versions.c.version_id
            )
        ),
    )
)
_PRUNED = Statement(
    select(audit.c.at, audit.c.actor, audit.c.detail).where(
        audit.c.tenant_id == param("tenant"),
        audit.c.action == "prune",
        audit.c.result == "removed",
        func.instr(audit.c.detail, param("named")) > 0,
    )
)
# An owner's file proves a death to whoever wants its runs, and to whoever looks up what it was doing. For all tenants.
_NEEDS_OWNER = Statement(
    select(
        or_(
            exists().where(runs.c.owner == param("owner"), runs.c.nonce.is_not(None)),
            exists().where(
                effects.c.status.in_(_IN_DOUBT),
                attempts.c.tenant_id == effects.c.tenant_id,
                attempts.c.run_id == effects.c.run_id,
                attempts.c.fence == effects.c.fence,
                attempts.c.driver == param("owner"),
            ),
        ).label("needed")
    )
)


@dataclass(slots=True)
class Removed:
    """How many rows of what, and of each removed run the line to be kept: how long its timeline was, and its head."""

    counts: Counter[str] = field(default_factory=Counter[str])
    heads: list[Json] = field(default_factory=list[Json])


def over(
    connection: Connection, tenant: str, now: int, before: int, *, after: str = "", limit: int = BATCH
) -> list[str]:
    """Runs that ended before this time and may go, by id, from the one after `after` on."""
    values = {**_times(tenant, now, before), "after": after, "limit": limit}
    return [row["run_id"] for row in connection.all(_OVER, values)]


def counted(connection: Connection, tenant: str, run_id: str) -> Counter[str]:
    """What would go with a run, its task and its agent's version not counted."""
    found: Counter[str] = Counter()
    for name, statement in _COUNT.items():
        row = connection.one(statement, {"tenant": tenant, "run": run_id})
        found[name] = 0 if row is None else row["rows"]
    return found


def remove(connection: Connection, tenant: str, now: int, before: int, run_ids: Sequence[str], by: str) -> Removed:
    """Remove those of these runs that are over by now, whoever said that they are; `by` does it."""
    removed = Removed()
    for run_id in run_ids:
        try:
            row = guard.lock(connection, tenant, run_id)  # first of all, as everybody does
        except RunNotFound:
            continue
        if connection.one(_IS_OVER, {**_times(tenant, now, before), "run": run_id}) is None:
            continue
        for name, statement in _DELETE.items():
            removed.counts[name] += connection.execute(statement, {"tenant": tenant, "run": run_id})
        removed.counts["tasks"] += connection.execute(_DELETE_TASK, {"tenant": tenant, "task": row["task_id"]})
        kept = {**_kept(tenant, run_id, now, by), "events": row["seq"], "head": row["last_hash"]}
        removed.heads.append(kept)
    if removed.heads:
        removed.counts["agent_versions"] += connection.execute(_DELETE_VERSIONS, {"tenant": tenant})
    return removed


def _times(tenant: str, now: int, before: int) -> dict[str, Any]:
    return {"tenant": tenant, "before": before, "keys_before": now - KEYS_KEPT_MS}


def pruned(connection: Connection, tenant: str, run_id: str) -> Json | None:
    """The line that was kept of a run that was removed, from the audit; None for one that never was there.

    `{format, tenant_id, run_id, events, head, at, by, signature}`, `at` in milliseconds since 1970 UTC; without
    signature where it was removed by a program that signed nothing.
    """
    for row in connection.all(_PRUNED, {"tenant": tenant, "named": run_id}):
        for kept in decode(row["detail"])["runs"]:
            if kept["run_id"] == run_id:
                head = {"events": kept["seq"], "head": kept["hash"]} if "seq" in kept else kept
                return {**_kept(tenant, run_id, row["at"], row["actor"]), "signature": None} | head
    return None


def _kept(tenant: str, run_id: str, now: int, by: str) -> Json:
    return {"format": PRUNED, "tenant_id": tenant, "run_id": run_id, "at": now, "by": by}


def needs_owner(connection: Connection, owner: str) -> bool:
    """Does anybody still have to prove that this owner is dead?"""
    row = connection.one(_NEEDS_OWNER, {"owner": owner})
    return row is not None and bool(row["needed"])
