"""A refusal is a fact too: what somebody was not let do is in the audit, with the reason."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from state.actor import Actor
from state.digest import Json
from state.errors import Conflict, Denied, InputInvalid, RemitError
from store import audit
from store.ledger import Ledger

MAX_WHY = 1_000


@contextmanager
def noted(ledger: Ledger, actor: Actor, action: str, name: str, **detail: str) -> Generator[None]:
    """Whatever is refused inside is noted about the object `name`, and raised on.

    In a transaction of its own: that of the refused wish leaves nothing behind.
    """
    try:
        yield
    except (Conflict, InputInvalid, Denied) as error:
        _note(ledger, actor, action, name, error, dict(detail))
        raise


def _note(ledger: Ledger, actor: Actor, action: str, name: str, error: RemitError, detail: Json) -> None:
    result = "denied" if isinstance(error, Denied) else "refused"
    said = {**detail, "code": error.code, "why": str(error)[:MAX_WHY]}
    with ledger.database.write() as connection:
        audit.append(connection, ledger.tenant, ledger.clock.now(), actor, action, name, result, detail=said)
