"""Lookups and tries to come, keys that outlive their runs, new permissions. A record of one day: never edited again."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_KEPT = "tenant_id, operation_key, digest, operation_id, run_id, fence, status, object_id, claimed_at, settled_at"


def upgrade() -> None:
    op.add_column("operations", sa.Column("next_at", sa.BigInteger(), nullable=True))
    op.add_column("runs", sa.Column("budget_refused", sa.BigInteger(), server_default="0", nullable=False))
    op.create_table(
        "effects_0002",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("operation_key", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("object_id", sa.Text(), nullable=True),
        sa.Column("claimed_at", sa.BigInteger(), nullable=False),
        sa.Column("settled_at", sa.BigInteger(), nullable=True),
        sa.Column("dedups_until", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("status <> 'committed' OR object_id IS NOT NULL", name="committed_has_a_receipt"),
        sa.CheckConstraint("status IN ('dispatched', 'committed', 'failed', 'unknown')", name="status_known"),
        sa.PrimaryKeyConstraint("tenant_id", "operation_key"),
    )
    op.execute(f"INSERT INTO effects_0002 ({_KEPT}) SELECT {_KEPT} FROM effects")
    op.drop_table("effects")
    op.rename_table("effects_0002", "effects")
    op.create_index("effects_by_status", "effects", ["tenant_id", "status", "claimed_at"])
    op.create_table(
        "permissions_0002",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("granted_by", sa.Text(), nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "action IN ('start', 'approve', 'settle', 'budget', 'prune')",
            name="action_known",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "subject", "action", "resource"),
    )
    op.execute("INSERT INTO permissions_0002 SELECT * FROM permissions")
    op.drop_table("permissions")
    op.rename_table("permissions_0002", "permissions")
    op.create_index("runs_by_task", "runs", ["tenant_id", "task_id"])
    op.create_index("request_keys_by_run", "idempotency_keys", ["tenant_id", "run_id"])
