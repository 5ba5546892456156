"""Who is doing something to Remit, as trusted code knows it.

An actor never comes from a payload, from graph state, from `configurable` or from a model. In Python it is set with
`acting_as`; the command line uses the user of the operating system; a server uses what it has authenticated.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

# What a row of the ledger can permit somebody to do. To write is a grant at the target.
PERMITTED = ("start", "approve", "settle", "budget", "prune", "control", "see", "evidence", "audit", "stop", "rule")
# The roles that both shipped policy sets know.
ROLES = ("user", "lead", "builder", "operator", "approver", "auditor")


@dataclass(frozen=True, slots=True)
class Actor:
    """A subject of one tenant. `via` says which trusted side named it: python, cli, server, local, remit."""

    subject: str
    tenant: str = "local"
    via: str = "python"


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
