"""The ledger's statements about approvals and decisions. A decision counts only once it is a row (L4)."""

from __future__ import annotations

import uuid

from sqlalchemy import and_, select, update

from state.approval import Approval, Decision
from state.digest import Json
from store.database import Connection, Row, Statement, decode, encode, inserting, param
from store.operations import Planned
from store.tables import approvals, decisions
from store.transaction import RunTransaction

_INSERT = inserting(approvals, or_ignore=True)
_INSERT_DECISION = inserting(decisions, or_ignore=True)

_BY_ID = and_(approvals.c.tenant_id == param("tenant"), approvals.c.approval_id == param("approval"))
_GET = Statement(select(approvals).where(_BY_ID))
_OF_RUN = Statement(
    select(approvals)
    .where(approvals.c.tenant_id == param("tenant"), approvals.c.run_id == param("run"))
    .order_by(approvals.c.created_at, approvals.c.approval_id)
)
_OF_OPERATION = Statement(
    select(approvals).where(approvals.c.tenant_id == param("tenant"), approvals.c.operation_id == param("operation"))
)
_PENDING = Statement(
    select(approvals)
    .where(
        approvals.c.tenant_id == param("tenant"),
        approvals.c.status == "pending",
    )
    .order_by(approvals.c.created_at, approvals.c.approval_id)
    .limit(param("limit"))
)
_MOVE = Statement(
    update(approvals)
    .where(_BY_ID, approvals.c.status == param("status_seen"))
    .values(status=param("new_status"), decided_at=param("now"))
)
_DECISIONS = Statement(
    select(decisions)
    .where(decisions.c.tenant_id == param("tenant"), decisions.c.approval_id == param("approval"))
    .order_by(decisions.c.at, decisions.c.approver)
)


def request(tx: RunTransaction, planned: Planned, preview: Json, expires_at: int, *, quorum: int = 1) -> str:
    """Put the question about one planned operation; answers the approval's id, also when it was put before."""
    known = of_operation(tx.connection, tx.tenant, planned.operation_id)
    if known is not None:
        return known.approval_id
    approval_id = str(uuid.uuid4())
    row = {
        "tenant_id": tx.tenant,
        "approval_id": approval_id,
        "run_id": tx.run_id,
        "operation_id": planned.operation_id,
        "digest": planned.digest,
        "tool": planned.tool,
        "arguments": encode(planned.arguments),
        "preview": encode(preview),
        "resource": planned.resource,
        "resource_version": planned.resource_version,
        "policy_version": planned.policy_version,
        "policy_rule": planned.policy_rule,
        "requester": tx.run["requester"],
        "quorum": quorum,
        "status": "pending",
        "expires_at": expires_at,
        "created_at": tx.now,
        "decided_at": None,
    }
    tx.connection.execute(_INSERT, row)
    return approval_id


def decide(tx: RunTransaction, approval: Approval, decision: Decision) -> bool:
    """Write one person's answer; False if this person answered before."""
    row = {
        "tenant_id": tx.tenant,
        "approval_id": approval.approval_id,
        "approver": decision.approver,
        "answer": decision.answer,
        "comment": decision.comment,
        "digest_seen": decision.digest_seen,
        "at": decision.at,
    }
    return tx.connection.execute(_INSERT_DECISION, row) == 1


def move(tx: RunTransaction, approval: Approval, status: str) -> bool:
    """Compare-and-set on the status that was read; False if it changed meanwhile."""
    values = tx.key(approval=approval.approval_id, status_seen=approval.status, new_status=status)
    return tx.connection.execute(_MOVE, values) == 1


def get(connection: Connection, tenant: str, approval_id: str) -> Approval | None:
    row = connection.one(_GET, {"tenant": tenant, "approval": approval_id})
    return None if row is None else approval_of(row)


def of_run(connection: Connection, tenant: str, run_id: str) -> list[Approval]:
    return [approval_of(row) for row in connection.all(_OF_RUN, {"tenant": tenant, "run": run_id})]


def of_operation(connection: Connection, tenant: str, operation_id: str) -> Approval | None:
    row = connection.one(_OF_OPERATION, {"tenant": tenant, "operation": operation_id})
    return None if row is None else approval_of(row)


def pending(connection: Connection, tenant: str, limit: int) -> list[Approval]:
    return [approval_of(row) for row in connection.all(_PENDING, {"tenant": tenant, "limit": limit})]


def decisions_of(connection: Connection, tenant: str, approval_id: str) -> list[Decision]:
    rows = connection.all(_DECISIONS, {"tenant": tenant, "approval": approval_id})
    return [Decision(row["approver"], row["answer"], row["comment"], row["digest_seen"], row["at"]) for row in rows]


def approval_of(row: Row) -> Approval:
    return Approval(
        approval_id=row["approval_id"],
        run_id=row["run_id"],
        operation_id=row["operation_id"],
        digest=row["digest"],
        tool=row["tool"],
        arguments=decode(row["arguments"]),
        preview=decode(row["preview"]),
        resource=row["resource"],
        resource_version=row["resource_version"],
        policy_version=row["policy_version"],
        policy_rule=row["policy_rule"],
        requester=row["requester"],
        quorum=row["quorum"],
        status=row["status"],
        expires_at=row["expires_at"],
        created_at=row["created_at"],
    )
