"""Roles, stops, standing rules, withdrawn answers, messages to send. A record of one day: never edited again."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_NEW = ("control", "see", "evidence", "audit", "stop", "rule")
_KEPT = "tenant_id, approval_id, approver, answer, comment, digest_seen, at"


def upgrade() -> None:
    op.add_column("effects", sa.Column("tool", sa.Text(), nullable=True))
    op.add_column("effects", sa.Column("principal", sa.Text(), nullable=True))
    _questions()
    _answers()
    _permissions()
    _rules()
    _outbox()


def _questions() -> None:
    op.add_column("approvals", sa.Column("role", sa.Text(), nullable=True))
    op.add_column("approvals", sa.Column("escalate_to", sa.Text(), nullable=True))
    op.add_column("approvals", sa.Column("escalate_at", sa.BigInteger(), nullable=True))
    op.add_column("approvals", sa.Column("escalated", sa.BigInteger(), server_default="0", nullable=False))


def _answers() -> None:
    op.create_table(
        "decisions_0003",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("approver", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("digest_seen", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=True),
        sa.Column("policy_rule", sa.Text(), nullable=True),
        sa.Column("withdrawn_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("answer IN ('approve', 'reject', 'edit')", name="answer_known"),
        sa.ForeignKeyConstraint(["tenant_id", "approval_id"], ["approvals.tenant_id", "approvals.approval_id"]),
        sa.PrimaryKeyConstraint("tenant_id", "approval_id", "approver", "number"),
    )
    op.execute(f"INSERT INTO decisions_0003 ({_KEPT}) SELECT {_KEPT} FROM decisions")
    op.drop_table("decisions")
    op.rename_table("decisions_0003", "decisions")
    standing = sa.text("withdrawn_at IS NULL")
    op.create_index(
        "decisions_standing",
        "decisions",
        ["tenant_id", "approval_id", "approver"],
        unique=True,
        sqlite_where=standing,
        postgresql_where=standing,
    )


def _permissions() -> None:
    op.create_table(
        "permissions_0003",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("granted_by", sa.Text(), nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "action IN ('start', 'approve', 'settle', 'budget', 'prune', 'control', 'see', 'evidence', 'audit',"
            " 'stop', 'rule')",
            name="action_known",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "subject", "action", "resource"),
    )
    op.execute("INSERT INTO permissions_0003 SELECT * FROM permissions")
    for action in _NEW:  # whoever was given every right there was is given the new ones too
        op.execute(
            f"INSERT INTO permissions_0003 SELECT tenant_id, subject, '{action}', resource, granted_by, granted_at"
            " FROM permissions WHERE action = 'start' AND resource = '*' AND granted_by = 'remit'"
        )
    op.drop_table("permissions")
    op.rename_table("permissions_0003", "permissions")
    op.create_table(
        "role_members",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("granted_by", sa.Text(), nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "subject", "role"),
    )


def _rules() -> None:
    op.create_table(
        "stops",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("kind IN ('tool', 'agent', 'tenant')", name="kind_known"),
        sa.PrimaryKeyConstraint("tenant_id", "kind", "name"),
    )
    op.create_table(
        "standing_rules",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("bounds", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("maker", sa.Text(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("tenant_id", "name", "version"),
    )
    op.create_index("standing_rules_by_tool", "standing_rules", ["tenant_id", "tool", "until"])
    in_force = sa.text("ended_at IS NULL")
    op.create_index(
        "standing_rules_in_force",
        "standing_rules",
        ["tenant_id", "name"],
        unique=True,
        sqlite_where=in_force,
        postgresql_where=in_force,
    )


def _outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("tenant_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), server_default="pending", nullable=False),
        sa.Column("tries", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("done_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("status IN ('pending', 'sent', 'dead')", name="status_known"),
        sa.CheckConstraint("tries >= 0", name="tries_count"),
        sa.PrimaryKeyConstraint("tenant_id", "message_id"),
    )
    op.create_index("outbox_by_status", "outbox", ["tenant_id", "status", "next_at"])
