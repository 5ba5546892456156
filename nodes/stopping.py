"""The door for emergency stops: nothing more with a tool, by an agent, or at all, until somebody lifts it.

A stop is a row that every claim reads: it holds for runs that were approved before. What a stopped run had in flight is
still looked up; nothing is undone.
"""

from __future__ import annotations

from typing import Literal, get_args

from nodes.agent import Agents
from state.actor import Actor
from state.digest import plain_text
from state.errors import InputInvalid, NotAllowed
from store import audit, permissions
from store.ledger import Ledger
from tools.policy import Policy

Kind = Literal["tool", "agent", "tenant"]
EVERYTHING = "*"
MAX_WHY = 1_000


class Stopping:
    """Stops and lifts, each on the record."""

    def __init__(self, ledger: Ledger, agents: Agents, policy: Policy) -> None:
        self._ledger = ledger
        self._agents = agents
        self._policy = policy

    def stop(self, actor: Actor, kind: Kind, name: str, why: str) -> bool:
        """False if it was stopped before. Raises InputInvalid for a name that there is not, NotAllowed."""
        self._check(kind, name)
        if not why.strip() or len(why) > MAX_WHY or why != plain_text(why):
            raise InputInvalid(f"Say why, in plain text of at most {MAX_WHY} characters; who meets the stop reads it.")
        return self._change(actor, "stop.make", kind, name, why)

    def lift(self, actor: Actor, kind: Kind, name: str) -> bool:
        """False if it was not stopped. Raises NotAllowed."""
        return self._change(actor, "stop.lift", kind, name, "")

    def in_force(self) -> list[dict[str, str]]:
        """Each with `kind, name, why, made_by, made_at`, the oldest first."""
        with self._ledger.database.read() as connection:
            return list(permissions.stops_in_force(connection, self._ledger.tenant))

    def _change(self, actor: Actor, change: str, kind: Kind, name: str, why: str) -> bool:
        ledger, changed = self._ledger, False
        with ledger.database.write() as connection:
            now, tenant = ledger.clock.now(), ledger.tenant
            ruling = self._policy.may(connection, tenant, actor.subject, "stop", "*")
            if ruling.allowed and change == "stop.make":
                changed = permissions.stop(connection, tenant, now, actor.subject, kind, name, why)
            elif ruling.allowed:
                changed = permissions.let_go_on(connection, tenant, kind, name)
            result = ("done" if changed else "unchanged") if ruling.allowed else "denied"
            said = {"why": why} if why else {}
            audit.append(
                connection, tenant, now, actor, change, f"{kind}:{name}", result, rule=ruling.rule, detail=said
            )
        if not ruling.allowed:
            raise NotAllowed(f"{actor.subject} may not stop or lift a stop ({ruling.rule}).")
        return changed

    def _check(self, kind: Kind, name: str) -> None:
        if kind not in get_args(Kind):
            raise InputInvalid(f"A stop is for a {', a '.join(get_args(Kind))}, not for {kind!r}.")
        if kind == "tenant" and name != EVERYTHING:
            raise InputInvalid("A stop of everything has the name *.")
        if kind == "agent":
            self._agents.get(name)
        if kind == "tool" and not self._agents.registered(name):
            raise InputInvalid(f"There is no tool {name!r}; there are {', '.join(self._agents.tool_names())}.")
