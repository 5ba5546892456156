"""Rules taken out, one at a time, to show that they bite: subclasses that override one public method."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from graphs.wiring import Parts
from nodes.answers import Answers, Recorded, nothing_shown
from nodes.judge import Judge, Judged
from state.acceptance import Expectation
from state.actor import Actor
from state.operation import RESERVED_NAMES
from state.run import STATE_VERSION, Lease
from store.business import BusinessStore, Found, Write
from store.ledger import REMIT, Facts, Ledger
from store.operations import Source
from store.transaction import RunTransaction
from tools.agent_rules import AgentRules

Rule = Callable[[Parts], Parts]


def without_key_check() -> type[BusinessStore]:
    """The target answers the first object for a key, whatever the digest."""

    class Forgiving(BusinessStore):
        def create(self, write: Write) -> Found:
            known = self.lookup(write.key)
            return known if known is not None else super().create(write)

    return Forgiving


def without_stable_key() -> type[BusinessStore]:
    """Every call to the target gets a key of its own, and the first response is lost."""

    class NewKeys(BusinessStore):
        calls = 0

        def create(self, write: Write) -> Found:
            self.calls += 1
            found = super().create(
                Write(write.kind, f"{write.key}#{self.calls}", write.digest, write.fields, write.principal, None, None)
            )
            if self.calls == 1:
                raise ConnectionError("the connection was lost")
            return found

    return NewKeys


def without_grant_in_the_write() -> type[BusinessStore]:
    """The grant is looked at before the write only, not inside its transaction."""

    class Trusting(BusinessStore):
        def create(self, write: Write) -> Found:
            self.give("nobody", write.principal, f"write:{write.kind}")
            return super().create(write)

    return Trusting


def reads_back_what_was_approved(approved: dict[str, Any]) -> type[BusinessStore]:
    """A reader that repeats what was approved instead of looking."""

    class Parrot(BusinessStore):
        def read(self, kind: str, object_id: str) -> dict[str, Any] | None:
            return dict(approved)

    return Parrot


class AnythingIsCalledFor:
    """Rules that admit every proposal, as if acceptance had never been worked out."""

    def __init__(self, rules: AgentRules) -> None:
        self._rules = rules

    def accept_input(self, given: dict[str, Any]) -> dict[str, Any]:
        return self._rules.accept_input(given)

    def expectation(self, task: dict[str, Any], sources: Sequence[Source]) -> Expectation:
        return Expectation("open", self._rules.expectation(task, sources).explanation)


# --- rules of the ledger, as its drivers see it ---------------------------------------------------------------


class _Unlimited(Ledger):
    def facts(self, run_id: str) -> Facts:
        facts = super().facts(run_id)
        return replace(facts, run=replace(facts.run, limits=dict.fromkeys(facts.run.limits)))


class _OfAnyVersion(Ledger):
    def facts(self, run_id: str) -> Facts:
        facts = super().facts(run_id)
        return replace(facts, run=replace(facts.run, state_version=STATE_VERSION))


class _Unfenced(Ledger):
    @contextmanager
    def settling(self, lease: Lease) -> Generator[RunTransaction]:
        with self.control(lease.run_id, REMIT) as tx:
            yield tx


class _Timeless(Ledger):
    @contextmanager
    def acting(self, lease: Lease) -> Generator[RunTransaction]:
        with super().acting(lease) as tx:
            tx.now = tx.run["created_at"]
            yield tx


def _with_ledger(kind: type[Ledger]) -> Rule:
    return lambda parts: replace(parts, ledger=kind(parts.ledger.database, parts.clock, parts.ledger.tenant))


without_budget_check = _with_ledger(_Unlimited)
"""Nothing is held against the budget before it is done."""
without_version_guard = _with_ledger(_OfAnyVersion)
"""Whatever state version wrote a run, it is taken for ours."""
without_lease_fence = _with_ledger(_Unfenced)
"""Whoever settles is believed to hold the run."""
without_expiry_at_the_claim = _with_ledger(_Timeless)
"""A claim judges as if no time had passed since the run was accepted."""


# --- rules of other parts -----------------------------------------------------------------------------------------


class _Overlooks(Judge):
    def judge(self, facts: Facts) -> Judged:
        assert facts.turn is not None
        proposal = dict(facts.turn.proposal)
        actions = [{**each, "arguments": _harmless(each["arguments"])} for each in proposal.get("actions", [])]
        return super().judge(replace(facts, turn=replace(facts.turn, proposal={**proposal, "actions": actions})))


def _harmless(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name.lower() not in RESERVED_NAMES}


def without_validation_of_proposals(parts: Parts) -> Parts:
    """What a proposal must not say is overlooked."""
    return replace(parts, judge=_Overlooks(parts.ledger, parts.agents))


class _Believes(Answers):
    def record(self, actor: Actor, run_id: str, value: Any, shown: Any = nothing_shown) -> Recorded:
        given = [dict(each) for each in value["decisions"]]
        named = [each.pop("approver", actor.subject) for each in given]
        return super().record(Actor(named[0]), run_id, {"decisions": given}, shown)


def without_the_trusted_side(parts: Parts) -> Parts:
    """Who approves is taken from the answer itself."""
    return replace(parts, answers=_Believes(parts.ledger, parts.agents, parts.judge, parts.policy))


def without_version_in_the_write() -> type[BusinessStore]:
    """The resource's version is looked at before the write only, not inside its transaction."""

    class Blind(BusinessStore):
        def create(self, write: Write) -> Found:
            return super().create(replace(write, resource_version=None))

    return Blind


def without_digest_under_the_key() -> type[BusinessStore]:
    """The target answers whatever it has under a key as if it were what is asked for now."""

    class Obliging(BusinessStore):
        def create(self, write: Write) -> Found:
            known = self.lookup(write.key)
            return super().create(write) if known is None else Found(known.object_id, write.digest)

    return Obliging
