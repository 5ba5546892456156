"""Everything that the ledger holds about one run, as the lines of an evidence document (docs/evidence.md).

Read in one transaction, so that the lines belong together. Times are milliseconds since 1970 UTC. Left out is what is
of the moment (lease, owner, nonce) and what a read gave: of that only digest, name and content hash.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from sqlalchemy import Select, Table, and_, or_, select

from state.actor import RULE
from state.budget import MEASURES
from state.digest import Json, digest_of
from store.audit_search import about_run
from store.database import Connection, Row, Statement, decode, param
from store.prune import pruned
from store.tables import (
    agent_versions,
    approvals,
    attempts,
    decisions,
    effects,
    events,
    operations,
    runs,
    standing_rules,
    tasks,
    tries,
    turns,
)

# In the order in which they are chained.
SECTIONS = (
    "run",
    "agent",
    "task",
    "attempts",
    "turns",
    "operations",
    "approvals",
    "decisions",
    "standing_rules",
    "effects",
    "tries",
    "events",
    "audit",
    "pruned",
)
_RUN = (
    "run_id",
    "session_id",
    "task_id",
    "agent_id",
    "agent_version",
    "state_version",
    "engine",
    "requester",
    "status",
    "reason",
    "status_version",
    "desired_action",
    "turn",
    "seq",
    "last_hash",
    "deadline",
    "created_at",
    "started_at",
    "ended_at",
)
_JSON = frozenset({"arguments", "preview", "proposal", "usage", "payload", "bounds", "definition", "input"})
_JSON_MAX = 2**53 - 1


def _of_run(table: Table, *order: str) -> Select[Any]:
    of_run = and_(table.c.tenant_id == param("tenant"), table.c.run_id == param("run"))
    return select(table).where(of_run).order_by(*[table.c[name] for name in order])


def _of_its(table: Table, parent: Table, key: str, *order: str) -> Select[Any]:
    its = select(parent.c[key]).where(parent.c.tenant_id == param("tenant"), parent.c.run_id == param("run"))
    of_its = and_(table.c.tenant_id == param("tenant"), table.c[key].in_(its))
    return select(table).where(of_its).order_by(*[table.c[name] for name in order])


_keys = select(operations.c.operation_key).where(
    operations.c.tenant_id == param("tenant"), operations.c.run_id == param("run"), operations.c.effect == "write"
)
_EFFECTS = (
    select(effects)
    .where(
        effects.c.tenant_id == param("tenant"),
        or_(effects.c.operation_key.in_(_keys), effects.c.run_id == param("run")),
    )
    .order_by(effects.c.operation_key)
)
_TASK = select(tasks).where(tasks.c.tenant_id == param("tenant"), tasks.c.task_id == param("task"))
_AGENT = select(agent_versions).where(
    agent_versions.c.tenant_id == param("tenant"), agent_versions.c.version_id == param("version")
)
_RULE = Statement(
    select(standing_rules).where(
        standing_rules.c.tenant_id == param("tenant"),
        standing_rules.c.name == param("name"),
        standing_rules.c.version == param("version"),
    )
)
_ROWS: dict[str, Statement] = {
    "agent": Statement(_AGENT),
    "task": Statement(_TASK),
    "attempts": Statement(_of_run(attempts, "fence")),
    "turns": Statement(_of_run(turns, "turn")),
    "operations": Statement(_of_run(operations, "turn", "idx", "generation")),
    "approvals": Statement(_of_run(approvals, "created_at", "approval_id")),
    "decisions": Statement(_of_its(decisions, approvals, "approval_id", "approval_id", "at", "approver", "number")),
    "effects": Statement(_EFFECTS),
    "tries": Statement(_of_its(tries, operations, "operation_id", "operation_id", "number")),
    "events": Statement(_of_run(events, "seq")),
}
_GET_RUN = Statement(_of_run(runs))


def lines_of(connection: Connection, tenant: str, run_id: str) -> dict[str, list[Json]] | None:
    """The lines of each section, or None for a run that never was there. Of a pruned run there are few."""
    run = connection.one(_GET_RUN, {"tenant": tenant, "run": run_id})
    gone = pruned(connection, tenant, run_id) if run is None else None
    if run is None and gone is None:
        return None
    named = {"tenant": tenant, "run": run_id}
    if run is not None:
        named |= {"task": run["task_id"], "version": run["agent_version"]}
    rows = {
        name: [_line(name, row) for row in connection.all(statement, named)]
        for name, statement in _ROWS.items()
        if run is not None or name == "effects"
    }
    rows["run"] = [] if run is None else [_run_line(run)]
    rows["standing_rules"] = _rules(connection, tenant, rows.get("decisions", []))
    rows["audit"] = [plain(each) for each in about_run(connection, tenant, run_id)]
    rows["pruned"] = [] if gone is None else [gone]
    return {name: rows.get(name, []) for name in SECTIONS}


def _run_line(row: Row) -> Json:
    return plain(
        {name: row[name] for name in _RUN}
        | {"limits": {each: row[f"max_{each}"] for each in MEASURES}}
        | {"used": {each: row[f"used_{each}"] for each in MEASURES}}
        | {"result": decode(row["result"]), "failure": decode(row["failure"])}
    )


def _line(section: str, row: Row) -> Json:
    given = {name: decode(each) if name in _JSON else each for name, each in row.items() if name != "tenant_id"}
    shaped = _SHAPED.get(section)
    if shaped is not None:
        given = shaped(given)
    return given if section == "events" else plain(given)  # an event is as it was hashed


def _agent(row: Row) -> Json:
    return {**row, "digest": digest_of(row["definition"])}


def _operation(row: Row) -> Json:
    """What a read gave is named, not told."""
    result = decode(row.pop("result"))
    read = None
    if result is not None:
        read = {name: result[name] for name in ("material", "name", "sha256") if isinstance(result.get(name), str)}
        read["digest"] = digest_of(result)
    row["verified"] = None if row["verified"] is None else bool(row["verified"])
    row.pop("next_at")
    return {**row, "read": read}


def _approval(row: Row) -> Json:
    return {**row, "escalated": bool(row["escalated"])}


def _turn(row: Row) -> Json:
    return {**row, "denied": bool(row["denied"])}


def _effect(row: Row) -> Json:
    """Its tool and its principal are the operation's and the run's."""
    return {name: each for name, each in row.items() if name not in {"tool", "principal"}}


_SHAPED: dict[str, Callable[[Row], Json]] = {
    "agent": _agent,
    "effects": _effect,
    "operations": _operation,
    "approvals": _approval,
    "turns": _turn,
}


def _rules(connection: Connection, tenant: str, made: list[Json]) -> list[Json]:
    """The standing rules that decided something, each in the version that did."""
    found: list[Json] = []
    for approver in sorted({each["approver"] for each in made if each["approver"].startswith(RULE)}):
        name, _, version = approver.removeprefix(RULE).rpartition("@")
        named = {
            "tenant": tenant,
            "name": name,
            "version": int(version) if version.isascii() and version.isdecimal() else 0,
        }
        row = connection.one(_RULE, named)
        if row is not None:
            found.append({**_line("standing_rules", row), "approver": approver})
    return found


def plain(value: Any) -> Any:
    """JSON as RFC 8785 can write it: whole numbers beyond 2^53 - 1 become text."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in cast(Json, value).items()}
    if isinstance(value, list):
        return [plain(each) for each in cast(list[Any], value)]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _JSON_MAX:
        return str(value)
    return value
