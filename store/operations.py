"""The ledger's statements about operations: validated proposals with an identity."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import and_, func, null, select, update

from state.approval import Needs
from state.digest import Json
from state.errors import OperationMismatch
from state.operation import Operation, check_operation_move
from state.run import effects_of
from store.database import Connection, Row, Statement, decode, encode, inserting, param
from store.tables import operations
from store.transaction import RunTransaction

_INSERT = inserting(operations, or_ignore=True)

_OP = and_(operations.c.tenant_id == param("tenant"), operations.c.operation_id == param("operation"))
_OF_RUN = and_(operations.c.tenant_id == param("tenant"), operations.c.run_id == param("run"))
_GET = Statement(select(operations).where(_OP))
_ALL = Statement(
    select(operations)
    .where(_OF_RUN, operations.c.turn >= param("first"))
    .order_by(operations.c.turn, operations.c.idx, operations.c.generation)
)
_SOURCES = Statement(
    select(operations.c.operation_id, operations.c.turn, operations.c.tool, operations.c.result)
    .where(
        _OF_RUN,
        operations.c.turn >= param("first"),
        operations.c.effect == "read",
        operations.c.status == "committed",
    )
    .order_by(operations.c.turn, operations.c.idx)
)
_EFFECTS = Statement(
    select(
        operations.c.operation_id,
        operations.c.tool,
        operations.c.operation_key,
        operations.c.effect,
        operations.c.status,
        operations.c.object_id,
    )
    .where(_OF_RUN, operations.c.effect == "write")
    .order_by(operations.c.turn, operations.c.idx, operations.c.generation)
)
_MOVE = Statement(
    update(operations)
    .where(_OP, operations.c.status == param("status_seen"))
    .values(
        status=param("new_status"),
        error_class=param("new_error_class"),
        detail=param("new_detail"),
        result=param("new_result"),
        object_id=param("new_object_id"),
        next_at=param("new_next_at"),
        policy_version=func.coalesce(param("new_policy_version"), operations.c.policy_version),
        policy_rule=func.coalesce(param("new_policy_rule"), operations.c.policy_rule),
        updated_at=param("now"),
    )
)
_KEEP = Statement(
    update(operations)
    .where(_OP, operations.c.status == param("status_seen"))
    .values(
        error_class=param("new_error_class"),
        detail=param("new_detail"),
        next_at=param("new_next_at"),
        updated_at=param("now"),
    )
)
_VERIFY = Statement(
    update(operations)
    .where(_OP, operations.c.status == "committed")
    .values(verified=param("agrees"), next_at=null(), updated_at=param("now"))
)


@dataclass(frozen=True, slots=True)
class Planned:
    """An operation about to be written down: what a validated action becomes."""

    operation_id: str
    turn: int
    index: int
    generation: int
    operation_key: str
    digest: str
    tool: str
    tool_version: str
    effect: str
    arguments: Json
    source: str
    resource: str | None
    resource_version: int | None
    policy_version: str | None
    policy_rule: str | None
    status: str
    detail: str | None = None
    result: Json | None = None
    error_class: str | None = None
    needs: Needs | None = None  # what the ruling asks for besides its yes; kept with the approval
    amount: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What a read of this run gave: the tool's name and its recorded result."""

    operation_id: str
    turn: int
    tool: str
    result: Json


def insert(tx: RunTransaction, planned: Planned) -> bool:
    """Write an operation down; False if the same turn, index and generation was written before."""
    row = {
        "tenant_id": tx.tenant,
        "run_id": tx.run_id,
        "operation_id": planned.operation_id,
        "turn": planned.turn,
        "idx": planned.index,
        "generation": planned.generation,
        "operation_key": planned.operation_key,
        "digest": planned.digest,
        "tool": planned.tool,
        "tool_version": planned.tool_version,
        "effect": planned.effect,
        "arguments": encode(planned.arguments),
        "source": planned.source,
        "resource": planned.resource,
        "resource_version": planned.resource_version,
        "principal": tx.run["requester"],
        "agent_id": tx.run["agent_id"],
        "policy_version": planned.policy_version,
        "policy_rule": planned.policy_rule,
        "status": planned.status,
        "error_class": planned.error_class,
        "detail": planned.detail,
        "result": None if planned.result is None else encode(planned.result),
        "object_id": None,
        "verified": None,
        "created_at": tx.now,
        "updated_at": tx.now,
        "next_at": None,
    }
    return tx.connection.execute(_INSERT, row) == 1


def move(
    tx: RunTransaction,
    operation: Operation,
    status: str,
    *,
    error_class: str | None = None,
    detail: str | None = None,
    result: Json | None = None,
    object_id: str | None = None,
    next_at: int | None = None,
    policy_version: str | None = None,
    policy_rule: str | None = None,
) -> None:
    """Compare-and-set on the status that was read. Raises IllegalMove, or OperationMismatch if it changed meanwhile.

    `policy_version` and `policy_rule` are of the ruling that leads to this move; None keeps those of the last one.
    """
    check_operation_move(operation.effect, operation.status, status)
    values = tx.key(
        operation=operation.operation_id,
        status_seen=operation.status,
        new_status=status,
        new_error_class=error_class,
        new_detail=detail,
        new_result=None if result is None else encode(result),
        new_object_id=object_id,
        new_next_at=next_at,
        new_policy_version=policy_version,
        new_policy_rule=policy_rule,
    )
    _changed(tx, _MOVE, values, operation)


def keep(
    tx: RunTransaction,
    operation: Operation,
    *,
    error_class: str | None,
    detail: str | None,
    next_at: int | None = None,
) -> None:
    """The status stays; what is known of it, and what is to come, changes. Raises OperationMismatch."""
    values = tx.key(
        operation=operation.operation_id,
        status_seen=operation.status,
        new_error_class=error_class,
        new_detail=detail,
        new_next_at=next_at,
    )
    _changed(tx, _KEEP, values, operation)


def _changed(tx: RunTransaction, statement: Statement, values: Json, operation: Operation) -> None:
    if tx.connection.execute(statement, values) != 1:
        raise OperationMismatch(f"Operation {operation.operation_id} is no longer {operation.status}; read it again.")


def set_verified(tx: RunTransaction, operation_id: str, agrees: bool) -> None:
    tx.connection.execute(_VERIFY, tx.key(operation=operation_id, agrees=int(agrees)))


def get(connection: Connection, tenant: str, operation_id: str) -> Operation | None:
    row = connection.one(_GET, {"tenant": tenant, "operation": operation_id})
    return None if row is None else operation_of(row)


def of_run(connection: Connection, tenant: str, run_id: str, first_turn: int = 1) -> list[Operation]:
    """Every operation of a run from a turn on, in order, all generations."""
    rows = connection.all(_ALL, {"tenant": tenant, "run": run_id, "first": first_turn})
    return [operation_of(row) for row in rows]


def with_results(
    connection: Connection, tenant: str, run_id: str, first_turn: int
) -> list[tuple[Operation, Json | None]]:
    """As `of_run`, each with its result."""
    rows = connection.all(_ALL, {"tenant": tenant, "run": run_id, "first": first_turn})
    return [(operation_of(row), decode(row["result"])) for row in rows]


def effects(connection: Connection, tenant: str, run_id: str) -> dict[str, list[Json]]:
    """The writes of a run, in order, by what is known of them: see `state.run.effects_of`."""
    return effects_of(connection.all(_EFFECTS, {"tenant": tenant, "run": run_id}))


def sources(connection: Connection, tenant: str, run_id: str, first_turn: int) -> list[Source]:
    """What the reads of this run really gave, from a turn on, in order."""
    rows = connection.all(_SOURCES, {"tenant": tenant, "run": run_id, "first": first_turn})
    return [Source(row["operation_id"], row["turn"], row["tool"], decode(row["result"])) for row in rows]


def operation_of(row: Row) -> Operation:
    return Operation(
        operation_id=row["operation_id"],
        run_id=row["run_id"],
        turn=row["turn"],
        index=row["idx"],
        generation=row["generation"],
        operation_key=row["operation_key"],
        digest=row["digest"],
        tool=row["tool"],
        tool_version=row["tool_version"],
        effect=row["effect"],
        arguments=decode(row["arguments"]),
        resource=row["resource"],
        resource_version=row["resource_version"],
        status=row["status"],
        error_class=row["error_class"],
        detail=row["detail"],
        object_id=row["object_id"],
        verified=None if row["verified"] is None else bool(row["verified"]),
        next_at=row["next_at"],
    )
