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

from store.columns import metadata, number, of_run, one_of, text

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
    PrimaryKeyConstraint("tenant_id", "approval_id", "approver"),  # (L4) one person, one answer
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
    one_of("action", ["start", "approve", "settle", "budget", "prune"]),
)
