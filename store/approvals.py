"""The ledger's statements about approvals and decisions. A decision counts only once it is a row (L4)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import fields

from sqlalchemy import and_, func, select, update

from state.approval import Approval, Decision, Needs
from state.digest import Json
from store.database import Connection, Row, Statement, decode, encode, inserting, param
from store.operations import Planned
from store.tables import approvals, decisions
from store.transaction import RunTransaction

NOBODY_IN_PARTICULAR = Needs(approval=True)

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
_ESCALATE = Statement(
    update(approvals).where(_BY_ID, approvals.c.status == "pending", approvals.c.escalated == 0).values(escalated=1)
)
_OF_APPROVAL = and_(decisions.c.tenant_id == param("tenant"), decisions.c.approval_id == param("approval"))
_DECISIONS = Statement(
    select(decisions)
    .where(_OF_APPROVAL, decisions.c.withdrawn_at.is_(None))
    .order_by(decisions.c.at, decisions.c.approver)
)
_ANSWERS = Statement(
    select(func.count().label("answers")).where(_OF_APPROVAL, decisions.c.approver == param("approver"))
)
_WITHDRAW = Statement(
    update(decisions)
    .where(_OF_APPROVAL, decisions.c.approver == param("approver"), decisions.c.withdrawn_at.is_(None))
    .values(withdrawn_at=param("now"))
)


def request(
    tx: RunTransaction, planned: Planned, preview: Json, expires_at: int, needs: Needs = NOBODY_IN_PARTICULAR
) -> Approval:
    """Put the question about one planned operation; answers it, also when it was put before."""
    known = of_operation(tx.connection, tx.tenant, planned.operation_id)
    if known is not None:
        return known
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
        "quorum": needs.quorum,
        "status": "pending",
        "expires_at": expires_at,
        "created_at": tx.now,
        "decided_at": None,
        "role": needs.role,
        "escalate_to": needs.escalate_to,
        "escalate_at": None if needs.escalate_after_s is None else tx.now + needs.escalate_after_s * 1000,
        "escalated": 0,
    }
    tx.connection.execute(_INSERT, row)
    return approval_of(row)


def decide(tx: RunTransaction, approval: Approval, decision: Decision) -> bool:
    """Write one person's answer; False if an answer of this person stands (L4)."""
    named = tx.key(approval=approval.approval_id, approver=decision.approver)
    before = tx.connection.one(_ANSWERS, named)
    row = {
        "tenant_id": tx.tenant,
        "approval_id": approval.approval_id,
        "approver": decision.approver,
        "answer": decision.answer,
        "comment": decision.comment,
        "digest_seen": decision.digest_seen,
        "at": decision.at,
        "number": 1 if before is None else before["answers"] + 1,
        "policy_version": decision.policy_version,
        "policy_rule": decision.policy_rule,
        "withdrawn_at": None,
    }
    return tx.connection.execute(_INSERT_DECISION, row) == 1


def withdraw(tx: RunTransaction, approval: Approval, approver: str) -> bool:
    """Take back the standing answer of one person; False if there is none."""
    return tx.connection.execute(_WITHDRAW, tx.key(approval=approval.approval_id, approver=approver)) == 1


def escalate(tx: RunTransaction, approval: Approval) -> bool:
    """From now on the second role may decide too; False if it may already, or the question is closed."""
    return tx.connection.execute(_ESCALATE, tx.key(approval=approval.approval_id)) == 1


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
    """The answers that stand."""
    names = [each.name for each in fields(Decision)]
    rows = connection.all(_DECISIONS, {"tenant": tenant, "approval": approval_id})
    return [Decision(**{name: row[name] for name in names}) for row in rows]


def decided_so_far(connection: Connection, tenant: str, asked: Iterable[Approval]) -> dict[str, list[Decision]]:
    """The answers that stand to questions that are open, by approval id.

    Only a question that asks more than one person can have an answer and be open, so only of those it is looked for.
    """
    several = [each.approval_id for each in asked if each.quorum > 1]
    return {each: decisions_of(connection, tenant, each) for each in several}


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
        role=row["role"],
        escalate_to=row["escalate_to"],
        escalate_at=row["escalate_at"],
        escalated=bool(row["escalated"]),
    )
