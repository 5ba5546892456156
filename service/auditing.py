"""The audit, for whoever may read it: who did what, on which object, with what result, by which rule, when."""

from __future__ import annotations

from dataclasses import dataclass

from graphs.wiring import Parts
from state.actor import Actor
from state.digest import Json
from state.errors import NotAllowed
from store import audit, audit_search
from store.audit_search import EVERYTHING, Wanted


@dataclass(frozen=True, slots=True)
class Auditing:
    """Reads for one actor, whom trusted code named."""

    parts: Parts
    actor: Actor

    def entries(self, wanted: Wanted = EVERYTHING, *, after: int = 0, limit: int = 1000) -> list[Json]:
        """Entries after a number, oldest first. Raises NotAllowed, with a line in the audit."""
        ledger = self.parts.ledger
        with ledger.database.read() as connection:
            ruling = self.parts.policy.may(connection, ledger.tenant, self.actor.subject, "audit", "*")
            if ruling.allowed:
                return audit_search.search(connection, ledger.tenant, wanted, after=after, limit=limit)
        with ledger.database.write() as connection:
            now = ledger.clock.now()
            audit.append(connection, ledger.tenant, now, self.actor, "audit.read", "audit", "denied", rule=ruling.rule)
        raise NotAllowed(
            f"{self.actor.subject} may not read the audit. Somebody who may can say:"
            f" remit grants give {self.actor.subject} audit"
        )
