"""The ledger's statements about effects, each owned by one operation key (L3), and about the tries made for them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import and_, case, exists, func, null, or_, select, update

from state.digest import Json
from state.errors import OperationMismatch
from state.operation import Operation
from store.database import Connection, Row, Statement, inserting, param
from store.tables import attempts, effects, tries
from store.transaction import RunTransaction

_INSERT_EFFECT = inserting(effects, or_ignore=True)
_INSERT_TRY = inserting(tries)

NOT_FOUND = "not_found"  # the outcome of a lookup that proves that nothing was done

_EFFECT = Statement(
    select(effects).where(effects.c.tenant_id == param("tenant"), effects.c.operation_key == param("operation_key"))
)
_CLAIM = Statement(
    select(effects.c.fence, effects.c.claimed_at, effects.c.dedups_until, attempts.c.driver)
    .join_from(
        effects,
        attempts,
        and_(
            attempts.c.tenant_id == effects.c.tenant_id,
            attempts.c.run_id == effects.c.run_id,
            attempts.c.fence == effects.c.fence,
        ),
    )
    .where(effects.c.tenant_id == param("tenant"), effects.c.operation_key == param("operation_key"))
)
_OF_OPERATION = and_(tries.c.tenant_id == param("tenant"), tries.c.operation_id == param("operation"))
_TRIES_MADE = Statement(select(func.count().label("made")).where(_OF_OPERATION))
_CALLS_MADE = Statement(select(func.count().label("made")).where(_OF_OPERATION, tries.c.kind == "call"))
_last = tries.alias("last_try")
_of_last = and_(_last.c.tenant_id == param("tenant"), _last.c.operation_id == param("operation"))
_last_call = (
    select(func.coalesce(func.max(_last.c.number), 0)).where(_of_last, _last.c.kind == "call").scalar_subquery()
)
_LOOKUPS_MADE = Statement(
    select(func.count().label("made")).where(_OF_OPERATION, tries.c.kind == "lookup", tries.c.number > _last_call)
)
_last_proof = (
    select(func.coalesce(func.max(_last.c.number), 0)).where(_of_last, _last.c.outcome == NOT_FOUND).scalar_subquery()
)
_IN_DOUBT = Statement(
    select(func.count().label("made")).where(
        _OF_OPERATION,
        tries.c.kind == "call",
        tries.c.outcome.in_(["unknown", "lost"]),
        tries.c.number > _last_proof,
    )
)
_OF_THE_LAST = Statement(
    select(func.count().label("made")).where(
        effects.c.tenant_id == param("tenant"),
        effects.c.status != "failed",
        effects.c.claimed_at > param("since"),
        effects.c.operation_id != param("operation"),
        effects.c.tool == param("tool"),
        effects.c.principal == param("principal"),
    )
)
# A lookup after the last call said, with proof, that nothing was done.
_proven = exists().where(_OF_OPERATION, tries.c.outcome == NOT_FOUND, tries.c.number > _last_call)
_PROVEN = Statement(select(_proven.label("proven")))
_RECLAIM = Statement(
    update(effects)
    .where(
        effects.c.tenant_id == param("tenant"),
        effects.c.operation_key == param("operation_key"),
        or_(
            effects.c.status == "failed",
            and_(  # (L9)
                effects.c.status.in_(["dispatched", "unknown"]),
                effects.c.operation_id == param("operation"),
                or_(effects.c.dedups_until > param("now"), _proven),
            ),
        ),
    )
    .values(
        status="dispatched",
        digest=param("new_digest"),
        operation_id=param("operation"),
        run_id=param("run"),
        tool=param("new_tool"),
        principal=param("new_principal"),
        fence=param("fence_held"),
        claimed_at=param("now"),
        settled_at=null(),
        dedups_until=func.coalesce(
            case((effects.c.status == "failed", null()), else_=effects.c.dedups_until), param("new_dedups_until")
        ),
    )
)
_SETTLE_EFFECT = Statement(
    update(effects)
    .where(
        effects.c.tenant_id == param("tenant"),
        effects.c.operation_key == param("operation_key"),
        effects.c.operation_id == param("operation"),
        effects.c.status.in_(["dispatched", "unknown"]),
    )
    .values(status=param("new_status"), object_id=param("new_object_id"), settled_at=param("now"))
)
_END_TRY = Statement(
    update(tries)
    .where(
        tries.c.tenant_id == param("tenant"),
        tries.c.operation_id == param("operation"),
        tries.c.number == param("number"),
        tries.c.ended_at.is_(None),
    )
    .values(
        ended_at=param("now"),
        outcome=param("outcome"),
        error_class=param("class"),
        detail=param("words"),
    )
)
_LOSE_CALLS = Statement(
    update(tries)
    .where(_OF_OPERATION, tries.c.kind == "call", tries.c.ended_at.is_(None))
    .values(ended_at=param("now"), outcome="lost", detail="nobody heard of it again")
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """The last claim of an effect: under which fence, by which driver. Times are milliseconds since 1970 UTC.

    `dedups_until` is until when the target itself makes one object under the key; None if it does not.
    """

    fence: int
    owner: str
    claimed_at: int
    dedups_until: int | None


def claim_of(connection: Connection, tenant: str, operation_key: str) -> Claimed | None:
    row = connection.one(_CLAIM, {"tenant": tenant, "operation_key": operation_key})
    return None if row is None else Claimed(row["fence"], row["driver"], row["claimed_at"], row["dedups_until"])


def effect(connection: Connection, tenant: str, operation_key: str) -> Row | None:
    """The effect that owns this key, or None."""
    return connection.one(_EFFECT, {"tenant": tenant, "operation_key": operation_key})


def own_effect(tx: RunTransaction, operation: Operation, fence: int, dedups_until: int | None) -> bool:
    """Become the one claimer of a key nobody owns (L3); False if there is an effect under it already."""
    row = {
        "tenant_id": tx.tenant,
        "operation_key": operation.operation_key,
        "digest": operation.digest,
        "operation_id": operation.operation_id,
        "run_id": tx.run_id,
        "fence": fence,
        "status": "dispatched",
        "object_id": None,
        "claimed_at": tx.now,
        "settled_at": None,
        "dedups_until": dedups_until,
        "tool": operation.tool,
        "principal": tx.run["requester"],
    }
    return tx.connection.execute(_INSERT_EFFECT, row) == 1


def reclaim_effect(tx: RunTransaction, operation: Operation, fence: int, dedups_until: int | None) -> None:
    """Claim a key again whose effect is proven not done, or whose target dedups by key (L9). Raises OperationMismatch.

    A key that a target dedups is valid from its first claim on, however often it is claimed.
    """
    values = tx.key(
        operation_key=operation.operation_key,
        new_digest=operation.digest,
        operation=operation.operation_id,
        fence_held=fence,
        new_dedups_until=dedups_until,
        new_tool=operation.tool,
        new_principal=tx.run["requester"],
    )
    if tx.connection.execute(_RECLAIM, values) != 1:
        raise OperationMismatch(
            f"The effect under {operation.operation_key!r} may have happened: it is looked up before it is repeated."
        )


def settle_effect(tx: RunTransaction, operation: Operation, status: str, object_id: str | None) -> None:
    """Record an effect's outcome. Raises OperationMismatch unless this operation holds the claim."""
    values = tx.key(
        operation_key=operation.operation_key,
        operation=operation.operation_id,
        new_status=status,
        new_object_id=object_id,
    )
    if tx.connection.execute(_SETTLE_EFFECT, values) != 1:
        raise OperationMismatch(
            f"The effect under {operation.operation_key!r} does not await an outcome from {operation.operation_id}."
        )


def start_call(tx: RunTransaction, operation_id: str, fence: int) -> int:
    """Number and open one call; an earlier one that nobody heard of again is closed as lost."""
    lose_calls(tx, operation_id)
    return _insert_try(tx, operation_id, "call", fence, {})


def looked_up(tx: RunTransaction, operation_id: str, outcome: str, error_class: str | None, detail: str | None) -> None:
    """Record one lookup: a try of its own. `not_found` is for the one that proves that nothing was done."""
    lose_calls(tx, operation_id)
    ended = {"ended_at": tx.now, "outcome": outcome, "error_class": error_class, "detail": detail}
    _insert_try(tx, operation_id, "lookup", tx.run["fence"], ended)


def lose_calls(tx: RunTransaction, operation_id: str) -> None:
    """Close a call that nobody heard of again."""
    tx.connection.execute(_LOSE_CALLS, tx.key(operation=operation_id))


def _insert_try(tx: RunTransaction, operation_id: str, kind: str, fence: int, ended: Json) -> int:
    number = tries_made(tx.connection, tx.tenant, operation_id) + 1
    row = {
        "tenant_id": tx.tenant,
        "operation_id": operation_id,
        "number": number,
        "kind": kind,
        "fence": fence,
        "started_at": tx.now,
        "ended_at": None,
        "outcome": None,
        "error_class": None,
        "detail": None,
    }
    tx.connection.execute(_INSERT_TRY, {**row, **ended})
    return number


def end_call(tx: RunTransaction, operation_id: str, outcome: str, error_class: str | None, detail: str | None) -> int:
    """Close the last try, which is the call that has just come back; answers its number."""
    number = tries_made(tx.connection, tx.tenant, operation_id)
    values = {"number": number, "outcome": outcome, "class": error_class, "words": detail}
    tx.connection.execute(_END_TRY, tx.key(operation=operation_id, **values))
    return number


def tries_made(connection: Connection, tenant: str, operation_id: str) -> int:
    """How many tries there are, which is the number of the last one."""
    return _count(connection, _TRIES_MADE, tenant, operation_id)


def calls_made(connection: Connection, tenant: str, operation_id: str) -> int:
    """How often the tool was called, lookups not counted."""
    return _count(connection, _CALLS_MADE, tenant, operation_id)


def lookups_made(connection: Connection, tenant: str, operation_id: str) -> int:
    """How often its outcome was looked up since the last call."""
    return _count(connection, _LOOKUPS_MADE, tenant, operation_id)


def may_have_happened(connection: Connection, tenant: str, operation_id: str) -> bool:
    """Is there a call, before the one that has just come back, of which nobody knows what it did?"""
    return _count(connection, _IN_DOUBT, tenant, operation_id) > 0


def proven_not_done(connection: Connection, tenant: str, operation_id: str) -> bool:
    """Did a lookup after the last call prove that nothing was done?"""
    row = connection.one(_PROVEN, {"tenant": tenant, "operation": operation_id})
    return row is not None and bool(row["proven"])


def of_the_last(tx: RunTransaction, operation: Operation, period_ms: int) -> int:
    """How many other effects of this tool the run's requester has claimed in this time, without those not done."""
    principal, since = tx.run["requester"], tx.now - period_ms
    values = tx.key(operation=operation.operation_id, tool=operation.tool, principal=principal, since=since)
    row = tx.connection.one(_OF_THE_LAST, values)
    return 0 if row is None else row["made"]


def _count(connection: Connection, statement: Statement, tenant: str, operation_id: str) -> int:
    row = connection.one(statement, {"tenant": tenant, "operation": operation_id})
    return row["made"] if row else 0
