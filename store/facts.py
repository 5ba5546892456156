"""Where a run stands, as the journal has it: its row, its last turn, that turn's operations and their questions.

Asked for at every step, so it is two statements and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import and_, select

from state.approval import Approval
from state.errors import RunNotFound
from state.operation import Operation
from state.run import Run
from store.approvals import approval_of
from store.database import Connection, Row, Statement, param, part_of
from store.operations import operation_of
from store.runs import run_of
from store.tables import approvals, effects, operations, runs, turns
from store.turns import TurnRecord, turn_of

_RUN_AND_TURN = Statement(
    select(
        runs,
        *[turns.c[name].label(f"turn_{name}") for name in ("turn", "source", "proposal", "refusal", "denied", "usage")],
    )
    .outerjoin_from(
        runs,
        turns,
        and_(turns.c.tenant_id == runs.c.tenant_id, turns.c.run_id == runs.c.run_id, turns.c.turn == runs.c.turn),
    )
    .where(runs.c.tenant_id == param("tenant"), runs.c.run_id == param("run"))
)
_OPERATIONS = Statement(
    select(
        operations,
        *[column.label(f"asked_{column.name}") for column in approvals.columns],
        effects.c.operation_id.label("owner_operation_id"),
        effects.c.status.label("owner_status"),
    )
    .outerjoin_from(
        operations,
        approvals,
        and_(
            approvals.c.tenant_id == operations.c.tenant_id,
            approvals.c.operation_id == operations.c.operation_id,
        ),
    )
    .outerjoin(
        effects,
        and_(
            effects.c.tenant_id == operations.c.tenant_id,
            effects.c.operation_key == operations.c.operation_key,
            effects.c.digest == operations.c.digest,
        ),
    )
    .where(
        operations.c.tenant_id == param("tenant"),
        operations.c.run_id == param("run"),
        operations.c.turn == param("turn"),
    )
    .order_by(operations.c.idx, operations.c.generation)
)


@dataclass(frozen=True, slots=True)
class Facts:
    """`operations` are in order, each in its latest generation; `approvals` are of all of them, by operation id.

    `held_elsewhere` names the operations whose effect is under way in another run: its outcome will be theirs.
    """

    run: Run
    turn: TurnRecord | None
    operations: list[Operation]
    approvals: dict[str, Approval]
    held_elsewhere: frozenset[str] = frozenset()

    @property
    def questions(self) -> list[Approval]:
        """The approvals that nobody has answered yet."""
        return [each for each in self.approvals.values() if each.status == "pending"]


def facts_of(connection: Connection, tenant: str, run_id: str) -> Facts:
    """Raises RunNotFound."""
    row = connection.one(_RUN_AND_TURN, {"tenant": tenant, "run": run_id})
    if row is None:
        raise RunNotFound(run_id)
    if row["turn_turn"] is None:
        return Facts(run_of(row), None, [], {})
    rows = connection.all(_OPERATIONS, {"tenant": tenant, "run": run_id, "turn": row["turn"]})
    latest = {each["idx"]: each for each in rows}
    return Facts(
        run_of(row),
        turn_of(part_of(row, "turn_")),
        [operation_of(each) for each in latest.values()],
        {
            each["operation_id"]: approval_of(part_of(each, "asked_"))
            for each in rows
            if each["asked_approval_id"] is not None
        },
        frozenset(each["operation_id"] for each in rows if _elsewhere(each)),
    )


def _elsewhere(row: Row) -> bool:
    return row["owner_status"] in {"dispatched", "unknown"} and row["owner_operation_id"] != row["operation_id"]
