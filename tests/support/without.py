"""Rules taken out, one at a time, to show that they bite: subclasses that override one public method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from state.acceptance import Expectation
from store.business import BusinessStore, Found, Write
from store.operations import Source
from tools.agent_rules import AgentRules


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
