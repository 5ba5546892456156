"""Messages to send: written with the fact that they tell of, and sent later, at least once.

A message is a row in the transaction that makes its fact true: none is lost, and none tells of what never happened.
There is one for each event and target, under an id that stays the same however often it is sent.

    claim ── send ── record      killed before the record: sent again, under the same id, when the claim has run out

A claim is a compare-and-set that counts a try and keeps others away until its time has passed. What a message holds is
chosen here by name: ids, types, names of tools and roles, statuses, times and counts, and nothing that somebody wrote.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, and_, func, literal, null, or_, select, update

from state.budget import MEASURES
from state.clock import iso
from state.digest import Json
from state.events import end_event
from state.run import TERMINAL
from store.database import Connection, Row, Statement, decode, encode, inserting, param
from store.tables import approvals, outbox

_STATUS = {end_event(status): status for status in TERMINAL}
# What somebody may have to do something about, or waits for.
NOTIFIED = frozenset(
    [
        "approval.requested",
        "approval.escalated",
        "approval.withdrawn",
        "approval.expired",
        "run.waiting_input",
        "run.waiting_approval",
        "run.waiting_external",
        "run.waiting_reconciliation",
        "run.waiting_migration",
        "run.waiting_budget",
        "run.taken_over",
        *_STATUS,
    ]
)
LONGEST_WAIT_MS = 24 * 3600 * 1000
PAGE = 100

_TOLD = ("effect", "again_at", "approvals", "operations", "cancelled", "needs")  # of an event about a run, by name

_INSERT = inserting(outbox)
_APPROVAL = Statement(
    select(approvals).where(approvals.c.tenant_id == param("tenant"), approvals.c.approval_id == param("approval"))
)
_ID = and_(outbox.c.tenant_id == param("tenant"), outbox.c.message_id == param("message"))
_PENDING = and_(outbox.c.tenant_id == param("tenant"), outbox.c.status == "pending")
# Nothing waits so long: what seems to was written before the clock was set back.
_TOO_FAR: ColumnElement[bool] = outbox.c.next_at > param("now") + literal(LONGEST_WAIT_MS)
_DUE = Statement(
    select(outbox)
    .where(
        _PENDING,
        or_(outbox.c.next_at <= param("now"), _TOO_FAR),
        or_(
            outbox.c.next_at > param("after_at"),
            and_(outbox.c.next_at == param("after_at"), outbox.c.message_id > param("after_id")),
        ),
    )
    .order_by(outbox.c.next_at, outbox.c.message_id)
    .limit(param("limit"))
)
_NEXT = Statement(select(func.min(outbox.c.next_at).label("next_at")).where(_PENDING))
_CLAIM = Statement(
    update(outbox)
    .where(_ID, _PENDING, outbox.c.tries == param("tries_seen"), outbox.c.next_at == param("next_seen"))
    .values(tries=outbox.c.tries + 1, next_at=param("until"))
)
_RECORD = Statement(
    update(outbox)
    .where(_ID, _PENDING, outbox.c.tries == param("tries_seen"))
    .values(status=param("new_status"), next_at=param("new_next"), last_error=param("error"), done_at=param("done"))
)
_AGAIN = Statement(
    update(outbox)
    .where(_ID, outbox.c.status == "dead")
    .values(status="pending", tries=0, next_at=param("now"), done_at=null())
)
_DROP = Statement(
    update(outbox).where(_ID, _PENDING).values(status="dead", last_error=param("error"), done_at=param("now"))
)
_GET = Statement(select(outbox).where(_ID))
_LIST = Statement(
    select(outbox)
    .where(outbox.c.tenant_id == param("tenant"), or_(param("any") == 1, outbox.c.status == param("status")))
    .order_by(outbox.c.created_at.desc(), outbox.c.message_id)
    .limit(param("limit"))
)


@dataclass(frozen=True, slots=True)
class Message:
    """One row. `payload` is the JSON text that is sent; times are milliseconds since 1970 UTC."""

    message_id: str
    type: str
    run_id: str | None
    payload: str
    created_at: int
    status: str
    tries: int
    next_at: int
    last_error: str | None
    done_at: int | None

    @property
    def target(self) -> str:
        return self.message_id.rpartition("_")[0]

    @property
    def seq(self) -> int:
        """The number of the event in its run's timeline."""
        return decode(self.payload)["data"]["seq"]


def _message(row: Row) -> Message:
    return Message(**{each.name: row[each.name] for each in fields(Message)})


class Outbox:
    """Which types of events are told to which targets. `used`: has any timeline grown through it?"""

    def __init__(self, routes: Mapping[str, frozenset[str]]) -> None:
        self._routes = routes
        self.used = False

    def write(self, connection: Connection, tenant: str, run: Row, events: Sequence[tuple[Row, Json]]) -> None:
        """Inside the transaction of these events, which are given with their payloads; `run` is the run's row."""
        self.used = True
        for event, payload in events:
            targets = [target for target, types in self._routes.items() if event["type"] in types]
            if targets:
                told = _data(connection, tenant, run, event, payload)
                connection.execute_many(_INSERT, [_row(tenant, target, event, told) for target in targets])


def _row(tenant: str, target: str, event: Row, told: Json) -> Row:
    message_id = f"{target}_{event['event_id'].replace('-', '')}"
    body = {"message_id": message_id, "type": event["type"], "timestamp": iso(event["at"]), "data": told}
    return {
        "tenant_id": tenant,
        "message_id": message_id,
        "type": event["type"],
        "run_id": event["run_id"],
        "payload": encode(body),
        "created_at": event["at"],
        "status": "pending",
        "tries": 0,
        "next_at": event["at"],
        "last_error": None,
        "done_at": None,
    }


def _data(connection: Connection, tenant: str, run: Row, event: Row, payload: Json) -> Json:
    named = {name: event[name] for name in ("event_id", "run_id", "seq")}
    named |= {"tenant_id": tenant, "agent_id": run["agent_id"]}
    approval_id = payload.get("approval_id")
    if approval_id is not None:
        row = connection.one(_APPROVAL, {"tenant": tenant, "approval": approval_id})
        return named if row is None else {**named, "approval": _asked(row)}
    return {**named, **_stands(run, event["type"], payload)}


def _asked(row: Row) -> Json:
    """No roles: whoever the policy lets decide."""
    roles = [row["role"], row["escalate_to"] if row["escalated"] else None]
    return {
        **{name: row[name] for name in ("approval_id", "operation_id", "tool", "status", "quorum")},
        "roles": [each for each in roles if each is not None],
        "expires_at": iso(row["expires_at"]),
    }


def _stands(run: Row, type_: str, payload: Json) -> Json:
    """By the event, not by the row: a transaction may move a run more than once."""
    status, reason = _STATUS.get(type_), payload.get("reason")
    if status is None:
        status, reason = "waiting", "takeover" if type_ == "run.taken_over" else type_.removeprefix("run.waiting_")
    told: dict[str, Any] = {"status": status, "status_reason": reason}
    told |= {name: payload[name] for name in _TOLD if name in payload}
    if reason == "budget":
        told["limits"] = {measure: run[f"max_{measure}"] for measure in MEASURES}
        told["used"] = {measure: run[f"used_{measure}"] for measure in MEASURES}
    return told


# --- sending ------------------------------------------------------------------------------------------------


def due(connection: Connection, tenant: str, now: int, after: Message | None = None) -> list[Message]:
    """The next page of what is to be sent now, those that wait longest first, a run's in the order of its timeline."""
    after_at, after_id = (-1, "") if after is None else (after.next_at, after.message_id)
    values = {"tenant": tenant, "now": now, "after_at": after_at, "after_id": after_id, "limit": PAGE}
    return [_message(row) for row in connection.all(_DUE, values)]


def in_order(messages: Sequence[Message]) -> Generator[Message]:
    """Of one page: by time, and where that is the same, by number."""
    yield from sorted(messages, key=lambda each: (each.next_at, each.created_at, each.run_id or "", each.seq))


def next_at(connection: Connection, tenant: str) -> int | None:
    """When the next message is due, or None if none is pending."""
    row = connection.one(_NEXT, {"tenant": tenant})
    return None if row is None else row["next_at"]


def claim(connection: Connection, tenant: str, message: Message, until: int) -> bool:
    """Count a try, and keep others away until this time; False if somebody else was first."""
    seen = {"tries_seen": message.tries, "next_seen": message.next_at}
    return connection.execute(_CLAIM, {"tenant": tenant, "message": message.message_id, "until": until, **seen}) == 1


def record(
    connection: Connection, tenant: str, message: Message, status: str, next_at: int, error: str | None, now: int
) -> bool:
    """What became of the try of this number; False if another one was begun meanwhile."""
    values = {
        "tries_seen": message.tries,
        "new_status": status,
        "new_next": next_at,
        "error": error,
        "done": None if status == "pending" else now,
    }
    return connection.execute(_RECORD, {"tenant": tenant, "message": message.message_id, **values}) == 1


# --- people -------------------------------------------------------------------------------------------------


def again(connection: Connection, tenant: str, message_id: str, now: int) -> bool:
    """A dead message gets all its tries anew; False if it is not dead."""
    return connection.execute(_AGAIN, {"tenant": tenant, "message": message_id, "now": now}) == 1


def drop(connection: Connection, tenant: str, message_id: str, why: str, now: int) -> bool:
    """A pending message is sent no more; False if it is not pending."""
    return connection.execute(_DROP, {"tenant": tenant, "message": message_id, "error": why, "now": now}) == 1


def get(connection: Connection, tenant: str, message_id: str) -> Message | None:
    row = connection.one(_GET, {"tenant": tenant, "message": message_id})
    return None if row is None else _message(row)


def listed(connection: Connection, tenant: str, status: str | None, limit: int) -> list[Message]:
    """The newest first; `status` None: of any."""
    values = {"tenant": tenant, "any": int(status is None), "status": status or "", "limit": limit}
    return [_message(row) for row in connection.all(_LIST, values)]
