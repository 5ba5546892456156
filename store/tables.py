"""The ledger's tables: keys and CHECKs are the guarantees.

Every table has a `tenant_id`, first in its primary key (the audit counts by itself), and every foreign key includes it.
Times are milliseconds since 1970 UTC, JSON is text, cost is in millionths of a US dollar. Numbers like (L3) are those
of `store/ledger.py`.
"""

from __future__ import annotations

from typing import get_args

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
)

from state.budget import MEASURES
from state.operation import OperationStatus
from state.run import Wish
from store.columns import metadata, number, of_run, one_of, reasons, text
from store.tables_people import (
    approvals,
    audit,
    decisions,
    outbox,
    permissions,
    role_members,
    standing_rules,
    stops,
)

__all__ = [
    "agent_versions",
    "approvals",
    "attempts",
    "audit",
    "decisions",
    "effects",
    "events",
    "idempotency_keys",
    "metadata",
    "operations",
    "outbox",
    "permissions",
    "role_members",
    "runs",
    "standing_rules",
    "stops",
    "tasks",
    "tries",
    "turns",
]

tasks = Table(
    "tasks",
    metadata,
    text("tenant_id"),
    text("task_id"),
    text("agent_id"),
    text("input"),
    text("input_digest"),
    text("requester"),
    number("created_at"),
    PrimaryKeyConstraint("tenant_id", "task_id"),
)

agent_versions = Table(
    "agent_versions",
    metadata,
    text("tenant_id"),
    text("version_id"),
    text("agent_id"),
    text("definition"),
    number("created_at"),
    PrimaryKeyConstraint("tenant_id", "version_id"),
)

runs = Table(
    "runs",
    metadata,
    text("tenant_id"),
    text("run_id"),
    text("project_id", default="default"),
    text("session_id"),
    text("workflow_run_id", null=True),
    text("parent_run_id", null=True),
    text("correlation_id", null=True),
    text("task_id"),
    text("agent_id"),
    text("agent_version"),
    number("state_version"),
    text("engine"),
    text("requester"),
    text("status"),
    text("reason", null=True),
    number("status_version", default="1"),
    text("desired_action", default="none"),
    number("inflight", default="0"),
    number("turn", default="0"),
    number("repairs", default="0"),
    number("takeovers", default="0"),
    number("seq", default="0"),
    text("last_hash", null=True),  # of the timeline's last line
    number("fence", default="0"),
    text("nonce", null=True),
    text("owner", null=True),
    number("lease_until", default="0"),
    number("active_at", null=True),
    number("priority", default="0"),
    number("wake_at", null=True),
    number("deadline", null=True),
    *[number(f"max_{measure}", null=True) for measure in MEASURES],
    *[number(f"used_{measure}", default="0") for measure in MEASURES],
    number("created_at"),
    number("started_at", null=True),
    number("ended_at", null=True),
    number("last_activity_at"),
    text("result", null=True),
    text("failure", null=True),
    number("budget_refused", default="0"),  # 1: somebody who was asked for more budget said no
    PrimaryKeyConstraint("tenant_id", "run_id"),
    ForeignKeyConstraint(["tenant_id", "task_id"], ["tasks.tenant_id", "tasks.task_id"]),
    ForeignKeyConstraint(["tenant_id", "agent_version"], ["agent_versions.tenant_id", "agent_versions.version_id"]),
    one_of("desired_action", get_args(Wish)),
    reasons(),
    CheckConstraint("inflight >= 0", name="inflight_counts"),
    *[CheckConstraint(f"used_{m} >= 0", name=f"used_{m}_counts") for m in MEASURES],
    # Hard limits (L7); tokens, cost and time may end slightly above, because they are known only afterwards.
    *[
        CheckConstraint(f"max_{m} IS NULL OR used_{m} <= max_{m}", name=f"{m}_within_budget")
        for m in ("turns", "tool_calls")
    ],
    Index("runs_by_time", "tenant_id", "created_at", "run_id"),
    Index("runs_by_status", "tenant_id", "status", "wake_at"),
    Index("runs_by_task", "tenant_id", "task_id"),
)

attempts = Table(
    "attempts",
    metadata,
    text("tenant_id"),
    text("run_id"),
    number("fence"),
    text("driver"),
    text("engine"),
    number("started_at"),
    number("ended_at", null=True),
    text("ended_how", null=True),
    PrimaryKeyConstraint("tenant_id", "run_id", "fence"),
    *of_run(),
)

turns = Table(
    "turns",
    metadata,
    text("tenant_id"),
    text("run_id"),
    number("turn"),
    text("source"),
    text("proposal"),
    text("refusal", null=True),
    number("denied", default="0"),  # 1: refused because the agent may not use the tool
    text("usage"),
    number("decided_at"),
    number("duration_ms"),
    PrimaryKeyConstraint("tenant_id", "run_id", "turn"),  # (L2) one record of a turn, whoever comes second
    *of_run(),
    one_of("source", ["decider", "input", "human", "remit"]),
)

operations = Table(
    "operations",
    metadata,
    text("tenant_id"),
    text("operation_id"),
    text("run_id"),
    number("turn"),
    number("idx"),
    number("generation", default="1"),
    text("operation_key"),
    text("digest"),
    text("tool"),
    text("tool_version"),
    text("effect"),
    text("arguments"),
    text("source"),
    text("resource", null=True),
    number("resource_version", null=True),
    text("principal"),
    text("agent_id"),
    text("policy_version", null=True),
    text("policy_rule", null=True),
    text("status"),
    text("error_class", null=True),
    text("detail", null=True),
    text("result", null=True),
    text("object_id", null=True),
    Column("verified", Integer, nullable=True),
    number("created_at"),
    number("updated_at"),
    number("next_at", null=True),  # when the next try or lookup may be made; NULL: none is to come
    PrimaryKeyConstraint("tenant_id", "operation_id"),
    UniqueConstraint("tenant_id", "run_id", "turn", "idx", "generation"),
    *of_run(),
    one_of("effect", ["read", "write"]),
    one_of("status", sorted(get_args(OperationStatus))),
    one_of("source", ["decider", "input", "human"]),
)

effects = Table(
    "effects",
    metadata,
    text("tenant_id"),
    text("operation_key"),
    text("digest"),
    text("operation_id"),
    text("run_id"),
    number("fence"),
    text("status"),
    text("object_id", null=True),
    number("claimed_at"),
    number("settled_at", null=True),
    number("dedups_until", null=True),  # until when the target itself makes one object per key; NULL: it does not
    text("tool", null=True),  # with `principal`: what is counted by the hour, also when the run has been pruned
    text("principal", null=True),
    # No reference to the operation: the key of an effect outlives the run that made it.
    PrimaryKeyConstraint("tenant_id", "operation_key"),  # (L3) one key, one effect
    Index("effects_by_status", "tenant_id", "status", "claimed_at"),
    one_of("status", ["dispatched", "committed", "failed", "unknown"]),
    CheckConstraint("status <> 'committed' OR object_id IS NOT NULL", name="committed_has_a_receipt"),
)

tries = Table(
    "tries",
    metadata,
    text("tenant_id"),
    text("operation_id"),
    number("number"),
    text("kind"),
    number("fence"),
    number("started_at"),
    number("ended_at", null=True),
    text("outcome", null=True),
    text("error_class", null=True),
    text("detail", null=True),
    PrimaryKeyConstraint("tenant_id", "operation_id", "number"),
    ForeignKeyConstraint(["tenant_id", "operation_id"], ["operations.tenant_id", "operations.operation_id"]),
    one_of("kind", ["call", "lookup"]),
)

events = Table(
    "events",
    metadata,
    text("tenant_id"),
    text("run_id"),
    number("seq"),
    text("event_id"),
    text("type"),
    number("at"),
    text("actor"),
    text("payload"),
    text("hash"),
    PrimaryKeyConstraint("tenant_id", "run_id", "seq"),  # (L6) gap-free per run
    *of_run(),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    text("tenant_id"),
    text("request_key"),
    text("request_digest"),
    text("run_id"),
    number("created_at"),
    PrimaryKeyConstraint("tenant_id", "request_key"),
    Index("request_keys_by_run", "tenant_id", "run_id"),
    *of_run(),
)
