"""The door for standing rules: a person who may says yes beforehand, within bounds and until a date, or ends that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nodes.agent import Agents
from state.actor import Actor
from state.digest import Json, plain_text
from state.errors import InputInvalid, NotAllowed
from store import audit, standing_rules
from store.ledger import Ledger
from store.standing_rules import StandingRule
from tools.approving import checked_bounds
from tools.policy import Policy

MAX_WHY = 1_000
LONGEST_MS = 366 * 24 * 3600 * 1000
_NAME = re.compile(r"^[a-z0-9][a-z0-9-]{0,62}$")


@dataclass(frozen=True, slots=True)
class NewRule:
    """`until` is in milliseconds since 1970 UTC; `bounds` are those of `tools/approving.py`."""

    name: str
    tool: str
    bounds: Json
    until: int
    why: str


class RuleMaking:
    """What a rule approves is approved in its maker's name: only while they might approve it themselves."""

    def __init__(self, ledger: Ledger, agents: Agents, policy: Policy) -> None:
        self._ledger = ledger
        self._agents = agents
        self._policy = policy

    def make(self, actor: Actor, new: NewRule) -> StandingRule:
        """The rule with its version; one of the same name is replaced. Raises InputInvalid, NotAllowed."""
        self._check(new)
        ledger = self._ledger
        with ledger.database.write() as connection:
            now = ledger.clock.now()
            made: StandingRule | None = None
            ruling = self._policy.may(connection, ledger.tenant, actor.subject, "rule", new.tool)
            if ruling.allowed:
                self._is_free(actor, new, standing_rules.everyone(connection, ledger.tenant))
                rule = StandingRule(new.name, 0, new.tool, new.bounds, new.why, actor.subject, now, new.until)
                made = standing_rules.make(connection, ledger.tenant, rule)
            detail = {"tool": new.tool, "bounds": new.bounds} if made is None else made.shown()
            result = "denied" if made is None else "made"
            name = f"rule:{new.name}"
            audit.append(
                connection, ledger.tenant, now, actor, "rule.make", name, result, rule=ruling.rule, detail=detail
            )
        if made is None:
            raise NotAllowed(f"{actor.subject} may not make standing rules for {new.tool} ({ruling.rule}).")
        return made

    def end(self, actor: Actor, name: str) -> None:
        """The rule approves nothing more, and what it approved and is not claimed yet is asked of people.

        Its maker may, and whoever may make such a rule. Raises InputInvalid where none is in force, NotAllowed.
        """
        ledger = self._ledger
        with ledger.database.write() as connection:
            now = ledger.clock.now()
            rule = self._in_force(name, standing_rules.everyone(connection, ledger.tenant))
            ruling = self._policy.may(connection, ledger.tenant, actor.subject, "rule", rule.tool)
            allowed = ruling.allowed or rule.maker == actor.subject
            if allowed:
                standing_rules.end(connection, ledger.tenant, name, now, actor.subject)
            result, object_ = "ended" if allowed else "denied", f"rule:{name}"
            audit.append(connection, ledger.tenant, now, actor, "rule.end", object_, result, rule=ruling.rule)
        if not allowed:
            raise NotAllowed(f"{actor.subject} may not end the standing rule {name} ({ruling.rule}).")

    def all(self) -> list[StandingRule]:
        """Every rule there ever was, by name and version."""
        with self._ledger.database.read() as connection:
            return list(standing_rules.everyone(connection, self._ledger.tenant))

    @staticmethod
    def _is_free(actor: Actor, new: NewRule, rules: Sequence[StandingRule]) -> None:
        """A rule takes the place of its maker's own for the same tool. Raises InputInvalid for any other."""
        for each in rules:
            if each.name == new.name and each.ended_at is None and (each.tool, each.maker) != (new.tool, actor.subject):
                raise InputInvalid(
                    f"A rule {new.name!r} of {each.maker} for {each.tool} is in force: end it, or take another name."
                )

    @staticmethod
    def _in_force(name: str, rules: Sequence[StandingRule]) -> StandingRule:
        found = next((each for each in rules if each.name == name and each.ended_at is None), None)
        if found is None:
            raise InputInvalid(f"No standing rule {name!r} is in force; `remit rules list` shows them.")
        return found

    def _check(self, new: NewRule) -> None:
        now = self._ledger.clock.now()
        if not _NAME.match(new.name):
            raise InputInvalid(f"The name {new.name!r}: use lower-case letters, digits and '-'.")
        if not self._agents.writes(new.tool):
            raise InputInvalid(f"There is no tool {new.tool!r} with an effect that could be approved.")
        if not now < new.until <= now + LONGEST_MS:
            raise InputInvalid("A standing rule holds until a date that lies ahead, at most a year.")
        if not new.why.strip() or len(new.why) > MAX_WHY or new.why != plain_text(new.why):
            raise InputInvalid(f"Say why, in plain text of at most {MAX_WHY} characters; each approval keeps it.")
        checked_bounds(new.bounds)
