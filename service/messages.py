"""Messages as people see them: which there are, another chance for a dead one, and none any more for one that waits."""

from __future__ import annotations

from dataclasses import dataclass

from graphs.wiring import Parts
from nodes.refusals import noted
from service.sight import Sight
from state.actor import Actor
from state.clock import iso
from state.digest import Json
from state.errors import Conflict, NotFound
from store import audit, outbox
from store.database import Connection
from store.outbox import Message


@dataclass(frozen=True, slots=True)
class Messages:
    """For one actor, whom trusted code named; changes are in the audit."""

    parts: Parts
    actor: Actor

    def all(self, status: str | None, limit: int) -> list[Json]:
        """The newest first; `status` is pending, sent, dead, or None for any. Raises NotAllowed."""
        ledger = self.parts.ledger
        Sight(self.parts, self.actor).must("watch", "list messages")
        with ledger.database.read() as connection:
            return [message_view(each) for each in outbox.listed(connection, ledger.tenant, status, limit)]

    def retry(self, message_id: str) -> Json:
        """A dead message gets all its tries anew. Raises NotFound, Conflict, NotAllowed."""
        ledger = self.parts.ledger
        self._must_control("message.retry", message_id)
        with ledger.database.write() as connection:
            message, now = self._message(connection, message_id), ledger.clock.now()
            if not outbox.again(connection, ledger.tenant, message_id, now):
                when = f", and is tried again at {iso(message.next_at)}" if message.status == "pending" else ""
                raise Conflict(f"Message {message_id} is {message.status}{when}: only a dead one is given more tries.")
            self._note(connection, "message.retry", message_id, now)
            return message_view(self._message(connection, message_id))

    def drop(self, message_id: str) -> Json:
        """A pending message is sent no more. Raises NotFound, Conflict, NotAllowed."""
        ledger = self.parts.ledger
        self._must_control("message.drop", message_id)
        with ledger.database.write() as connection:
            message, now = self._message(connection, message_id), ledger.clock.now()
            if not outbox.drop(connection, ledger.tenant, message_id, f"Dropped by {self.actor.subject}.", now):
                raise Conflict(f"Message {message_id} is {message.status} already: only a pending one can be dropped.")
            self._note(connection, "message.drop", message_id, now)
            return message_view(self._message(connection, message_id))

    def _must_control(self, action: str, message_id: str) -> None:
        with noted(self.parts.ledger, self.actor, action, f"message:{message_id}"):
            Sight(self.parts, self.actor).must("control", "retry or drop messages")

    def _message(self, connection: Connection, message_id: str) -> Message:
        found = outbox.get(connection, self.parts.ledger.tenant, message_id)
        if found is None:
            raise NotFound(f"There is no message {message_id!r}. `remit messages` lists those that there are.")
        return found

    def _note(self, connection: Connection, action: str, message_id: str, now: int) -> None:
        tenant = self.parts.ledger.tenant
        audit.append(connection, tenant, now, self.actor, action, f"message:{message_id}", "done")


def message_view(message: Message) -> Json:
    """A message without what it says."""
    return {
        "message_id": message.message_id,
        "target": message.target,
        "type": message.type,
        "run_id": message.run_id,
        "status": message.status,
        "tries": message.tries,
        "created_at": iso(message.created_at),
        "next_at": iso(message.next_at) if message.status == "pending" else None,
        "done_at": iso(message.done_at),
        "last_error": message.last_error,
    }
