"""The ledger's tables: keys and CHECKs are the guarantees.

Every table has `tenant_id` first in its primary key, and every foreign key includes it. Times are milliseconds since
1970 UTC, JSON is text, cost is in millionths of a US dollar. Numbers like (L3) are those of `store/ledger.py`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from state.budget import MEASURES
from state.operation import OPERATION_MOVES
from state.run import REASONS

metadata = MetaData()
OPERATION_STATUSES = sorted(
    {*OPERATION_MOVES, "committed", "rejected", "expired", "superseded"} | {"denied", "cancelled", "skipped"}
)


def _text(name: str, *, null: bool = False, default: str | None = None) -> Column[Any]:
    return Column(name, Text, nullable=null, server_default=default)


def _number(name: str, *, null: bool = False, default: str | None = None) -> Column[Any]:
    return Column(name, BigInteger, nullable=null, server_default=default)


def _one_of(column: str, values: Any) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def _reasons() -> CheckConstraint:
    """A reason is always set where a status has reasons, and never where it has none (spec: run statuses)."""
    cases: list[str] = []
    for status, reasons in REASONS.items():
        listed = ", ".join(f"'{reason}'" for reason in sorted(reasons))
        # A CHECK that comes out as NULL passes, hence IS NOT NULL.
        test = f"reason IS NOT NULL AND reason IN ({listed})" if reasons else "reason IS NULL"
        cases.append(f"(status = '{status}' AND {test})")
    return CheckConstraint(" OR ".join(cases), name="status_has_its_reason")


def _of_run(*more: ForeignKeyConstraint) -> tuple[ForeignKeyConstraint, ...]:
    return (ForeignKeyConstraint(["tenant_id", "run_id"], ["runs.tenant_id", "runs.run_id"]), *more)


tasks = Table(
    "tasks",
    metadata,
    _text("tenant_id"),
    _text("task_id"),
    _text("agent_id"),
    _text("input"),
    _text("input_digest"),
    _text("requester"),
    _number("created_at"),
    PrimaryKeyConstraint("tenant_id", "task_id"),
)

agent_versions = Table(
    "agent_versions",
    metadata,
    _text("tenant_id"),
    _text("version_id"),
    _text("agent_id"),
    _text("definition"),
    _number("created_at"),
    PrimaryKeyConstraint("tenant_id", "version_id"),
)

runs = Table(
    "runs",
    metadata,
    _text("tenant_id"),
    _text("run_id"),
    _text("project_id", default="default"),
    _text("session_id"),
    _text("workflow_run_id", null=True),
    _text("parent_run_id", null=True),
    _text("correlation_id", null=True),
    _text("task_id"),
    _text("agent_id"),
    _text("agent_version"),
    _number("state_version"),
    _text("engine"),
    _text("requester"),
    _text("status"),
    _text("reason", null=True),
    _number("status_version", default="1"),
    _text("desired_action", default="none"),
    _number("inflight", default="0"),
    _number("turn", default="0"),
    _number("repairs", default="0"),
    _number("takeovers", default="0"),
    _number("seq", default="0"),
    _number("fence", default="0"),
    _text("nonce", null=True),
    _text("owner", null=True),
    _number("lease_until", default="0"),
    _number("active_at", null=True),
    _number("priority", default="0"),
    _number("wake_at", null=True),
    _number("deadline", null=True),
    *[_number(f"max_{measure}", null=True) for measure in MEASURES],
    *[_number(f"used_{measure}", default="0") for measure in MEASURES],
    _number("created_at"),
    _number("started_at", null=True),
    _number("ended_at", null=True),
    _number("last_activity_at"),
    _text("result", null=True),
    _text("failure", null=True),
    PrimaryKeyConstraint("tenant_id", "run_id"),
    ForeignKeyConstraint(["tenant_id", "task_id"], ["tasks.tenant_id", "tasks.task_id"]),
    ForeignKeyConstraint(["tenant_id", "agent_version"], ["agent_versions.tenant_id", "agent_versions.version_id"]),
    _one_of("desired_action", ["none", "pause", "cancel", "take_over"]),
    _reasons(),
    CheckConstraint("inflight >= 0", name="inflight_counts"),
    *[CheckConstraint(f"used_{m} >= 0", name=f"used_{m}_counts") for m in MEASURES],
    # Hard limits (L7); tokens, cost and time may end slightly above, because they are known only afterwards.
    *[
        CheckConstraint(f"max_{m} IS NULL OR used_{m} <= max_{m}", name=f"{m}_within_budget")
        for m in ("turns", "tool_calls")
    ],
    Index("runs_by_time", "tenant_id", "created_at", "run_id"),
    Index("runs_by_status", "tenant_id", "status", "wake_at"),
)

attempts = Table(
    "attempts",
    metadata,
    _text("tenant_id"),
    _text("run_id"),
    _number("fence"),
    _text("driver"),
    _text("engine"),
    _number("started_at"),
    _number("ended_at", null=True),
    _text("ended_how", null=True),
    PrimaryKeyConstraint("tenant_id", "run_id", "fence"),
    *_of_run(),
)

turns = Table(
    "turns",
    metadata,
    _text("tenant_id"),
    _text("run_id"),
    _number("turn"),
    _text("source"),
    _text("proposal"),
    _text("refusal", null=True),
    _number("denied", default="0"),  # 1: refused because the agent may not use the tool
    _text("usage"),
    _number("decided_at"),
    _number("duration_ms"),
    PrimaryKeyConstraint("tenant_id", "run_id", "turn"),  # (L2) one record of a turn, whoever comes second
    *_of_run(),
    _one_of("source", ["decider", "input", "human", "remit"]),
)

operations = Table(
    "operations",
    metadata,
    _text("tenant_id"),
    _text("operation_id"),
    _text("run_id"),
    _number("turn"),
    _number("idx"),
    _number("generation", default="1"),
    _text("operation_key"),
    _text("digest"),
    _text("tool"),
    _text("tool_version"),
    _text("effect"),
    _text("arguments"),
    _text("source"),
    _text("resource", null=True),
    _number("resource_version", null=True),
    _text("principal"),
    _text("agent_id"),
    _text("policy_version", null=True),
    _text("policy_rule", null=True),
    _text("status"),
    _text("error_class", null=True),
    _text("detail", null=True),
    _text("result", null=True),
    _text("object_id", null=True),
    Column("verified", Integer, nullable=True),
    _number("created_at"),
    _number("updated_at"),
    PrimaryKeyConstraint("tenant_id", "operation_id"),
    UniqueConstraint("tenant_id", "run_id", "turn", "idx", "generation"),
    *_of_run(),
    _one_of("effect", ["read", "write"]),
    _one_of("status", OPERATION_STATUSES),
    _one_of("source", ["decider", "input", "human"]),
)

effects = Table(
    "effects",
    metadata,
    _text("tenant_id"),
    _text("operation_key"),
    _text("digest"),
    _text("operation_id"),
    _text("run_id"),
    _number("fence"),
    _text("status"),
    _text("object_id", null=True),
    _number("claimed_at"),
    _number("settled_at", null=True),
    PrimaryKeyConstraint("tenant_id", "operation_key"),  # (L3) one key, one effect
    ForeignKeyConstraint(["tenant_id", "operation_id"], ["operations.tenant_id", "operations.operation_id"]),
    _one_of("status", ["dispatched", "committed", "failed", "unknown"]),
    CheckConstraint("status <> 'committed' OR object_id IS NOT NULL", name="committed_has_a_receipt"),
)

tries = Table(
    "tries",
    metadata,
    _text("tenant_id"),
    _text("operation_id"),
    _number("number"),
    _text("kind"),
    _number("fence"),
    _number("started_at"),
    _number("ended_at", null=True),
    _text("outcome", null=True),
    _text("error_class", null=True),
    _text("detail", null=True),
    PrimaryKeyConstraint("tenant_id", "operation_id", "number"),
    ForeignKeyConstraint(["tenant_id", "operation_id"], ["operations.tenant_id", "operations.operation_id"]),
    _one_of("kind", ["call", "lookup"]),
)

approvals = Table(
    "approvals",
    metadata,
    _text("tenant_id"),
    _text("approval_id"),
    _text("run_id"),
    _text("operation_id"),
    _text("digest"),
    _text("tool"),
    _text("arguments"),
    _text("preview"),
    _text("resource", null=True),
    _number("resource_version", null=True),
    _text("policy_version"),
    _text("policy_rule"),
    _text("requester"),
    _number("quorum", default="1"),
    _text("status"),
    _number("expires_at"),
    _number("created_at"),
    _number("decided_at", null=True),
    PrimaryKeyConstraint("tenant_id", "approval_id"),
    UniqueConstraint("tenant_id", "operation_id"),
    *_of_run(ForeignKeyConstraint(["tenant_id", "operation_id"], ["operations.tenant_id", "operations.operation_id"])),
    _one_of("status", ["pending", "approved", "rejected", "expired", "superseded", "cancelled"]),
    CheckConstraint("quorum >= 1", name="quorum_asks_somebody"),
    Index("approvals_by_status", "tenant_id", "status", "created_at"),
    Index("approvals_by_run", "tenant_id", "run_id", "status"),
)

decisions = Table(
    "decisions",
    metadata,
    _text("tenant_id"),
    _text("approval_id"),
    _text("approver"),
    _text("answer"),
    _text("comment"),
    _text("digest_seen"),
    _number("at"),
    PrimaryKeyConstraint("tenant_id", "approval_id", "approver"),  # (L4) one person, one answer
    ForeignKeyConstraint(["tenant_id", "approval_id"], ["approvals.tenant_id", "approvals.approval_id"]),
    _one_of("answer", ["approve", "reject", "edit"]),
)

events = Table(
    "events",
    metadata,
    _text("tenant_id"),
    _text("run_id"),
    _number("seq"),
    _text("event_id"),
    _text("type"),
    _number("at"),
    _text("actor"),
    _text("payload"),
    _text("hash"),
    PrimaryKeyConstraint("tenant_id", "run_id", "seq"),  # (L6) gap-free per run
    *_of_run(),
)

audit = Table(
    "audit",
    metadata,
    Column("entry", Integer, primary_key=True, autoincrement=True),
    _text("tenant_id"),
    _number("at"),
    _text("actor"),
    _text("via"),
    _text("action"),
    _text("object"),
    _text("result"),
    _text("rule", null=True),
    _text("detail"),
    Index("audit_by_tenant", "tenant_id", "entry"),
)

permissions = Table(
    "permissions",
    metadata,
    _text("tenant_id"),
    _text("subject"),
    _text("action"),
    _text("resource"),
    _text("granted_by"),
    _number("granted_at"),
    PrimaryKeyConstraint("tenant_id", "subject", "action", "resource"),
    _one_of("action", ["start", "approve"]),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    _text("tenant_id"),
    _text("request_key"),
    _text("request_digest"),
    _text("run_id"),
    _number("created_at"),
    PrimaryKeyConstraint("tenant_id", "request_key"),
    *_of_run(),
)
