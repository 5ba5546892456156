"""The ledger's tables about people: what they are asked, what they decide, what they may do, and what is noted."""

from __future__ import annotations

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

from state.actor import PERMITTED
from store.columns import metadata, number, of_run, one_of, text, where

approvals = Table(
    "approvals",
    metadata,
    text("tenant_id"),
    text("approval_id"),
    text("run_id"),
    text("operation_id"),
    text("digest"),
    text("tool"),
    text("arguments"),
    text("preview"),
    text("resource", null=True),
    number("resource_version", null=True),
    text("policy_version"),
    text("policy_rule"),
    text("requester"),
    number("quorum", default="1"),
    text("status"),
    number("expires_at"),
    number("created_at"),
    number("decided_at", null=True),
    text("role", null=True),  # whose question it is: holders of this role; NULL: whoever the policy lets decide
    text("escalate_to", null=True),  # the role that may decide from `escalate_at` on
    number("escalate_at", null=True),
    number("escalated", default="0"),
    PrimaryKeyConstraint("tenant_id", "approval_id"),
    UniqueConstraint("tenant_id", "operation_id"),
    *of_run(ForeignKeyConstraint(["tenant_id", "operation_id"], ["operations.tenant_id", "operations.operation_id"])),
    one_of("status", ["pending", "approved", "rejected", "expired", "superseded", "cancelled"]),
    CheckConstraint("quorum >= 1", name="quorum_asks_somebody"),
    Index("approvals_by_status", "tenant_id", "status", "created_at"),
    Index("approvals_by_run", "tenant_id", "run_id", "status"),
)

decisions = Table(
    "decisions",
    metadata,
    text("tenant_id"),
    text("approval_id"),
    text("approver"),
    text("answer"),
    text("comment"),
    text("digest_seen"),
    number("at"),
    number("number", default="1"),  # which of this person's answers; all but the last are withdrawn
    text("policy_version", null=True),  # by what this person might decide
    text("policy_rule", null=True),
    number("withdrawn_at", null=True),
    PrimaryKeyConstraint("tenant_id", "approval_id", "approver", "number"),
    Index(  # (L4) one person, one standing answer
        "decisions_standing", "tenant_id", "approval_id", "approver", unique=True, **where("withdrawn_at IS NULL")
    ),
    ForeignKeyConstraint(["tenant_id", "approval_id"], ["approvals.tenant_id", "approvals.approval_id"]),
    one_of("answer", ["approve", "reject", "edit"]),
)

audit = Table(
    "audit",
    metadata,
    Column("entry", Integer, primary_key=True, autoincrement=True),
    text("tenant_id"),
    number("at"),
    text("actor"),
    text("via"),
    text("action"),
    text("object"),
    text("result"),
    text("rule", null=True),
    text("detail"),
    Index("audit_by_tenant", "tenant_id", "entry"),
)

permissions = Table(
    "permissions",
    metadata,
    text("tenant_id"),
    text("subject"),
    text("action"),
    text("resource"),
    text("granted_by"),
    number("granted_at"),
    PrimaryKeyConstraint("tenant_id", "subject", "action", "resource"),
    one_of("action", PERMITTED),
)

role_members = Table(
    "role_members",
    metadata,
    text("tenant_id"),
    text("subject"),
    text("role"),
    text("granted_by"),
    number("granted_at"),
    PrimaryKeyConstraint("tenant_id", "subject", "role"),
)

stops = Table(
    "stops",
    metadata,
    text("tenant_id"),
    text("kind"),
    text("name"),  # of a tool or an agent; * for the tenant
    text("why"),
    text("made_by"),
    number("made_at"),
    PrimaryKeyConstraint("tenant_id", "kind", "name"),
    one_of("kind", ["tool", "agent", "tenant"]),
)

standing_rules = Table(
    "standing_rules",
    metadata,
    text("tenant_id"),
    text("name"),
    number("version"),
    text("tool"),
    text("bounds"),  # JSON: what an operation has to be within
    text("why"),
    text("maker"),
    number("made_at"),
    number("until"),
    number("ended_at", null=True),
    text("ended_by", null=True),
    PrimaryKeyConstraint("tenant_id", "name", "version"),
    Index("standing_rules_by_tool", "tenant_id", "tool", "until"),
    Index("standing_rules_in_force", "tenant_id", "name", unique=True, **where("ended_at IS NULL")),
)

outbox = Table(
    "outbox",
    metadata,
    text("tenant_id"),
    text("message_id"),
    text("type"),
    text("run_id", null=True),
    text("payload"),
    number("created_at"),
    text("status", default="pending"),
    number("tries", default="0"),
    number("next_at"),
    text("last_error", null=True),
    number("done_at", null=True),
    PrimaryKeyConstraint("tenant_id", "message_id"),
    Index("outbox_by_status", "tenant_id", "status", "next_at"),
    one_of("status", ["pending", "sent", "dead"]),
    CheckConstraint("tries >= 0", name="tries_count"),
)
