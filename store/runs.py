"""The ledger's statements about runs: opened once, driven by one, read by many."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, select, update

from state.actor import Actor
from state.agent import AgentDefinition
from state.budget import MEASURES, Budget
from state.digest import Json, digest_of
from state.errors import Conflict, RunBusy, RunNotFound
from state.run import DRIVABLE, STATE_VERSION, TERMINAL, Lease, Run, check_move
from store.database import Connection, Row, Statement, decode, encode, inserting, param
from store.guard import LEASE_TTL_MS, elapsed
from store.tables import agent_versions, attempts, idempotency_keys, runs, tasks
from store.transaction import RunTransaction

_INSERT_TASK = inserting(tasks)
_INSERT_RUN = inserting(runs)
_INSERT_VERSION = inserting(agent_versions, or_ignore=True)
_INSERT_KEY = inserting(idempotency_keys, or_ignore=True)
_INSERT_ATTEMPT = inserting(attempts)

_RUN = and_(runs.c.tenant_id == param("tenant"), runs.c.run_id == param("run"))
_GET = Statement(select(runs).where(_RUN))
_LIST = Statement(
    select(runs)
    .where(runs.c.tenant_id == param("tenant"))
    .order_by(runs.c.created_at.desc(), runs.c.run_id)
    .limit(param("limit"))
)
_TASK = Statement(select(tasks).where(tasks.c.tenant_id == param("tenant"), tasks.c.task_id == param("task")))
_VERSION = Statement(
    select(agent_versions.c.definition).where(
        agent_versions.c.tenant_id == param("tenant"), agent_versions.c.version_id == param("version")
    )
)
_KEY = Statement(
    select(idempotency_keys).where(
        idempotency_keys.c.tenant_id == param("tenant"),
        idempotency_keys.c.request_key == param("request_key"),
    )
)
_END_ATTEMPT = Statement(
    update(attempts)
    .where(
        attempts.c.tenant_id == param("tenant"),
        attempts.c.run_id == param("run"),
        attempts.c.fence == param("fence_held"),
        attempts.c.ended_at.is_(None),
    )
    .values(ended_at=param("now"), ended_how=param("how"))
)
_RENEW = Statement(
    update(runs)
    .where(
        _RUN,
        runs.c.fence == param("fence_held"),
        runs.c.nonce == param("nonce_held"),
        runs.c.status.in_(sorted(DRIVABLE)),
    )
    .values(lease_until=param("until"), used_active_ms=runs.c.used_active_ms + elapsed, active_at=param("now"))
    .returning(runs.c.desired_action, runs.c.status, runs.c.deadline)
)
_DRIVEN = Statement(
    select(runs.c.nonce, runs.c.status, runs.c.desired_action, runs.c.deadline).where(
        runs.c.tenant_id == param("tenant"), runs.c.status.in_(sorted(DRIVABLE)), runs.c.nonce.is_not(None)
    )
)
_DEFAULTS: Row = {column.name: None for column in runs.columns if column.nullable} | {
    column.name: 0 for column in runs.columns if column.server_default is not None
}


@dataclass(frozen=True, slots=True)
class NewRun:
    """Everything a run is opened with. `request_key` makes opening it again answer the same run."""

    run_id: str
    input: Json
    definition: AgentDefinition
    requester: Actor
    engine: str
    deadline: int | None = None
    request_key: str | None = None
    state_version: int = STATE_VERSION
    rule: str | None = None  # by which the requester may start it


def run_of(row: Row) -> Run:
    names = Run.__dataclass_fields__
    values: dict[str, Any] = {name: row[name] for name in names if name in row}
    values["result"], values["failure"] = decode(row["result"]), decode(row["failure"])
    values["limits"], values["used"] = budget_of(row)
    return Run(**values)


def budget_of(row: Row) -> tuple[dict[str, int | None], dict[str, int]]:
    """Limits and use of a run's row, keyed by measure."""
    limits = {measure: row[f"max_{measure}"] for measure in MEASURES}
    return dict(limits), {measure: row[f"used_{measure}"] for measure in MEASURES}


def insert_run(connection: Connection, tenant: str, new: NewRun, now: int) -> Row | None:
    """Write task, agent snapshot and run; the run's row, or None if this run id is there already."""
    if connection.one(_GET, {"tenant": tenant, "run": new.run_id}) is not None:
        return None
    definition = new.definition.model_dump(mode="json")
    version_id = new.definition.version_id
    base = {"tenant_id": tenant, "agent_id": new.definition.agent_id, "created_at": now}
    connection.execute(_INSERT_VERSION, {**base, "version_id": version_id, "definition": encode(definition)})
    task_id = str(uuid.uuid4())
    connection.execute(
        _INSERT_TASK,
        {
            **base,
            "task_id": task_id,
            "input": encode(new.input),
            "input_digest": digest_of(new.input),
            "requester": new.requester.subject,
        },
    )
    row = {
        **_DEFAULTS,
        **base,
        **_limits(new.definition.budget),
        "run_id": new.run_id,
        "project_id": "default",
        "session_id": new.run_id,
        "task_id": task_id,
        "agent_version": version_id,
        "state_version": new.state_version,
        "engine": new.engine,
        "requester": new.requester.subject,
        "status": "queued",
        "status_version": 1,
        "desired_action": "none",
        "deadline": new.deadline,
        "last_activity_at": now,
    }
    connection.execute(_INSERT_RUN, row)
    return row


def _limits(budget: Budget) -> dict[str, int | None]:
    return {f"max_{measure}": getattr(budget, measure) for measure in MEASURES}


def known_by_key(connection: Connection, tenant: str, new: NewRun) -> str | None:
    """The run that this request key already stands for, or None.

    Raises Conflict when the key came with another request before.
    """
    if new.request_key is None:
        return None
    known = connection.one(_KEY, {"tenant": tenant, "request_key": new.request_key})
    if known is None:
        return None
    if known["request_digest"] != _request_digest(new):
        raise Conflict(
            f"The request key {new.request_key!r} was used for another request (run {known['run_id']}): take a new key."
        )
    return known["run_id"]


def remember_key(connection: Connection, tenant: str, new: NewRun, now: int) -> None:
    """From now on the request key stands for this run."""
    if new.request_key is None:
        return
    values = {
        "tenant_id": tenant,
        "request_key": new.request_key,
        "request_digest": _request_digest(new),
        "run_id": new.run_id,
        "created_at": now,
    }
    connection.execute(_INSERT_KEY, values)


def _request_digest(new: NewRun) -> str:
    return digest_of({"agent": new.definition.agent_id, "input": new.input})


def take_lease(tx: RunTransaction, owner: str, engine: str, is_dead: Callable[[str], bool]) -> Lease:
    """Make this owner the driver (L1). Raises RunBusy while another driver lives, RunAlreadyTerminal after the end."""
    run = tx.run
    if run["status"] in TERMINAL:
        check_move(run["status"], "running", None)
    if run["nonce"] is not None:
        if run["lease_until"] > tx.now and not is_dead(run["owner"]):
            raise RunBusy(
                f"Run {tx.run_id} is being driven by {run['owner']}; wait for it, or for its lease to run out."
            )
        tx.connection.execute(_END_ATTEMPT, tx.key(fence_held=run["fence"], how="died"))
        tx.event("attempt.ended", {"attempt": run["fence"], "how": "died"}, actor="remit")
        tx.add(takeovers=1)
    first = run["started_at"] is None
    if run["status"] not in DRIVABLE:
        tx.move("running")
    lease = Lease(tx.run_id, run["fence"] + 1, uuid.uuid4().hex)
    tx.set(
        fence=lease.fence,
        nonce=lease.nonce,
        owner=owner,
        engine=engine,
        lease_until=tx.now + LEASE_TTL_MS,
        active_at=tx.now,
        started_at=run["started_at"] or tx.now,
        wake_at=None,
    )
    tx.event("run.started" if first else "run.resumed", {"attempt": lease.fence, "engine": engine})
    attempt = {"driver": owner, "engine": engine, "started_at": tx.now, "ended_at": None, "ended_how": None}
    tx.connection.execute(
        _INSERT_ATTEMPT, {"tenant_id": tx.tenant, "run_id": tx.run_id, "fence": lease.fence, **attempt}
    )
    return lease


def end_attempt(tx: RunTransaction, fence: int, how: str) -> None:
    """Close the book on one hold of the run; `how` is parked, ended or released."""
    tx.connection.execute(_END_ATTEMPT, tx.key(fence_held=fence, how=how))


def renew(connection: Connection, tenant: str, lease: Lease, now: int) -> Row | None:
    """Prolong a lease; the wish, status and deadline of the run, or None if the lease is lost."""
    held = {"fence_held": lease.fence, "nonce_held": lease.nonce, "until": now + LEASE_TTL_MS, "now": now}
    return connection.one(_RENEW, {"tenant": tenant, "run": lease.run_id, **held})


def driven(connection: Connection, tenant: str) -> list[Row]:
    """Nonce, status, wish and deadline of every run that somebody drives now."""
    return connection.all(_DRIVEN, {"tenant": tenant})


def get(connection: Connection, tenant: str, run_id: str) -> Run:
    """Raises RunNotFound."""
    row = connection.one(_GET, {"tenant": tenant, "run": run_id})
    if row is None:
        raise RunNotFound(run_id)
    return run_of(row)


def recent(connection: Connection, tenant: str, limit: int) -> list[Run]:
    return [run_of(row) for row in connection.all(_LIST, {"tenant": tenant, "limit": limit})]


def task_input(connection: Connection, tenant: str, task_id: str) -> Json:
    row = connection.one(_TASK, {"tenant": tenant, "task": task_id})
    assert row is not None
    return decode(row["input"])


def definition(connection: Connection, tenant: str, version_id: str) -> AgentDefinition:
    """The snapshot that a run keeps, whatever the code says by now (P11)."""
    row = connection.one(_VERSION, {"tenant": tenant, "version": version_id})
    assert row is not None
    return AgentDefinition.model_validate_json(row["definition"])
