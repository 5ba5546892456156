"""Who is doing something to Remit, as trusted code knows it.

An actor never comes from a payload, from graph state, from `configurable` or from a model. In Python it is set with
`acting_as`; the command line uses the user of the operating system; a server uses what it has authenticated.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from state.errors import InputInvalid

# What a row of the ledger can permit somebody to do. To write is a grant at the target.
PERMITTED = ("start", "approve", "settle", "budget", "prune", "control", "see", "evidence", "audit", "stop", "rule")
# The roles that both shipped policy sets know.
ROLES = ("user", "lead", "builder", "operator", "approver", "auditor")


MAX_SUBJECT = 200
REMIT_ITSELF = "remit"
RULE = "rule:"  # how a standing rule is named as an approver
SUBJECTS = (
    f"give 1 to {MAX_SUBJECT} printable characters without spaces around them, and not {REMIT_ITSELF!r}, or {RULE!r} at"
    " the beginning"
)


def is_a_subject(name: object) -> bool:
    """Can somebody be called so? Not as Remit itself or a standing rule is, whose decisions are told by their names."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_SUBJECT:
        return False
    is_ours = name.casefold() == REMIT_ITSELF or name.casefold().startswith(RULE)
    return name.isprintable() and name.strip() == name and not is_ours


@dataclass(frozen=True, slots=True)
class Actor:
    """A subject of one tenant. `via` says which trusted side named it: python, cli, server, local, remit.

    Raises InputInvalid for a name that nobody can have, unless Remit itself (via remit) acts.
    """

    subject: str
    tenant: str = "local"
    via: str = "python"

    def __post_init__(self) -> None:
        if self.via != REMIT_ITSELF and not is_a_subject(self.subject):
            raise InputInvalid(f"Nobody can be called {self.subject[:MAX_SUBJECT]!r} here: {SUBJECTS}.")


_acting: ContextVar[Actor | None] = ContextVar("remit_actor", default=None)


@contextmanager
def acting_as(actor: Actor | str) -> Generator[Actor]:
    """Everything inside the block is done by this actor (a subject's name is enough)."""
    named = Actor(actor) if isinstance(actor, str) else actor
    token = _acting.set(named)
    try:
        yield named
    finally:
        _acting.reset(token)


def acting() -> Actor | None:
    """The actor set by `acting_as`, or None."""
    return _acting.get()
