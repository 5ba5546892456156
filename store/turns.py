"""The ledger's statements about turns: recorded once, charged with their record, refused with the reason (L2, L7)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select, update

from state.digest import Json
from store.database import Connection, Row, Statement, decode, encode, inserting, param
from store.tables import turns
from store.transaction import RunTransaction

_INSERT_TURN = inserting(turns, or_ignore=True)
_TURNS = Statement(
    select(turns)
    .where(
        turns.c.tenant_id == param("tenant"),
        turns.c.run_id == param("run"),
        turns.c.turn >= param("first"),
    )
    .order_by(turns.c.turn)
)
_REFUSE = Statement(
    update(turns)
    .where(
        turns.c.tenant_id == param("tenant"),
        turns.c.run_id == param("run"),
        turns.c.turn == param("number"),
        turns.c.refusal.is_(None),
    )
    .values(refusal=param("why"), denied=param("denied"))
)


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One row of `turns`; `refusal` is what the decider is told when its proposal was refused."""

    turn: int
    source: str
    proposal: Json
    refusal: str | None
    denied: bool


def record_turn(tx: RunTransaction, source: str, proposal: Json, duration_ms: int, usage: Json) -> bool:
    """Record the next turn and charge it (L2, L7); False if somebody recorded it first."""
    number = tx.run["turn"] + 1
    written = tx.connection.execute(
        _INSERT_TURN,
        {
            "tenant_id": tx.tenant,
            "run_id": tx.run_id,
            "turn": number,
            "source": source,
            "proposal": encode(proposal),
            "refusal": None,
            "denied": 0,
            "usage": encode(usage),
            "decided_at": tx.now,
            "duration_ms": duration_ms,
        },
    )
    if written != 1:
        return False
    tx.set(turn=number)
    tx.add(used_turns=1, **{f"used_{measure}": amount for measure, amount in usage.items()})
    return True


def refuse_turn(tx: RunTransaction, turn: int, why: str, denied: bool) -> bool:
    """Write down why the recorded proposal was refused; False if that was written before."""
    done = tx.connection.execute(_REFUSE, tx.key(number=turn, why=why, denied=int(denied))) == 1
    if done:
        tx.add(repairs=1)
    return done


def turns_from(connection: Connection, tenant: str, run_id: str, first: int) -> list[TurnRecord]:
    """The recorded turns of a run from number `first` on, in order."""
    rows = connection.all(_TURNS, {"tenant": tenant, "run": run_id, "first": first})
    return [turn_of(row) for row in rows]


def turn_of(row: Row) -> TurnRecord:
    return TurnRecord(
        turn=row["turn"],
        source=row["source"],
        proposal=decode(row["proposal"]),
        refusal=row["refusal"],
        denied=bool(row["denied"]),
    )
