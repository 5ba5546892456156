"""Whatever the policy, and whoever is given or loses what, says yes, takes it back or makes a rule, and whenever: an
effect happens only if it was allowed at that moment, and approved by whoever had to, where that was asked for.

What is allowed is worked out here a second time, from the rows and from what the generated rules mean, without Cedar.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodes.deciders.decider import View
from state.actor import Actor
from state.budget import Usage
from state.errors import RemitError
from store.standing_rules import StandingRule
from tests.support.run_in_world import RunInWorld
from tests.support.target import Box, letters
from tests.support.world import USER, World, final
from tools.contract import Call, CancelToken

PEOPLE = (USER, "bob", "cy")
ROLES = ("user", "approver", "lead")
STOPPED = {"tool": "send_letter", "agent": "noter", "tenant": "*"}
NAMES = ("al", "bea", "charles")  # a letter's amount is the length of its receiver's name
STARTS, APPROVES = frozenset({"user", "lead"}), frozenset({"approver", "lead"})


@dataclass(frozen=True)
class Policy:
    """What the generated rules mean."""

    separated: bool = False
    quorum: int = 1
    approver: str | None = None
    most: int | None = None
    banned_role: str | None = None
    per_hour: int | None = None

    def rules(self) -> list[str]:
        asks = [f'@quorum("{self.quorum}")']
        asks += [f'@approver("{self.approver}")'] if self.approver else []
        asks += [f'@per_hour("{self.per_hour}")'] if self.per_hour else []
        use = 'action == Action::"use", resource'
        rules = [f'@id("asks") {" ".join(asks)} permit (principal, {use}) when {{ context.granted }};']
        if self.most is not None:
            rules.append(
                f'@id("most") forbid (principal, {use}) when {{ context has amount && context.amount > {self.most} }};'
            )
        if self.banned_role is not None:
            rules.append(f'@id("banned") forbid (principal in Role::"{self.banned_role}", {use});')
        return rules


policies = st.builds(
    Policy,
    separated=st.booleans(),
    quorum=st.sampled_from([1, 1, 2]),
    approver=st.sampled_from([None, None, "approver", "lead"]),
    most=st.sampled_from([None, None, 2, 3]),
    banned_role=st.sampled_from([None, None, None, "user"]),
    per_hour=st.sampled_from([None, None, 1, 2]),
)
person, role = st.sampled_from(PEOPLE), st.sampled_from(ROLES)
changes = st.one_of(
    st.tuples(st.sampled_from(["joins", "leaves"]), person, role),
    st.tuples(st.sampled_from(["permit", "forbid"]), person, st.sampled_from(["start", "approve"])),
    st.tuples(st.just("stops"), st.sampled_from(["tool", "agent", "tenant"])),
    st.tuples(st.just("policy"), policies),
    st.tuples(st.just("withdraws"), person),
    st.tuples(st.just("rules"), person, st.sampled_from([2, 3, 9])),
    st.tuples(st.just("ends"), person),
    st.tuples(st.just("passes"), st.sampled_from([1.0, 1900.0, 90_000.0])),
)
# Who asks, what changes then, who says yes, and what changes before the effect.
answers = st.sampled_from([[USER, "bob"], [USER, "bob"], ["bob", USER], [USER], ["bob"], ["cy", "bob"]])
losses = st.one_of(
    st.sampled_from([("leaves", USER, "lead"), ("leaves", "bob", "approver"), ("leaves", "bob", "user")]),
    st.sampled_from([("stops", "tool"), ("stops", "agent"), ("passes", 90_000.0), ("withdraws", "bob")]),
    changes,
)
rounds = st.tuples(person, st.lists(changes, max_size=1), answers, st.lists(losses, max_size=1))
Round = tuple[str, list[Any], list[str], list[Any]]


@dataclass
class Watched(Box):
    """A box that looks at what holds whenever a letter comes."""

    look: Callable[[Call], None] = field(default=lambda call: None)

    def called(self, call: Call) -> None:
        self.look(call)
        super().called(call)


class OneLetter:
    """Wants one letter for each run, to the next name in turn, and then is content."""

    name = "scripted"

    def __init__(self, runs: list[RunInWorld]) -> None:
        self._runs = runs

    def propose(self, view: View, token: CancelToken) -> Any:
        return final() if view.turn > 1 else letters(NAMES[len(self._runs) % len(NAMES)])

    def worst_case(self) -> Usage:
        return Usage()


class Office:
    """One world, the policy that it has now, and the second opinion about it."""

    def __init__(self, folder: Path) -> None:
        self.box = Watched(look=self._looks)
        self.world = World(folder, "loop")
        self.policy = Policy()
        self.runs: list[RunInWorld] = []
        self.wrong: list[str] = []
        amount: Any = lambda tool, given: len(given["to"])  # noqa: E731
        key: Any = lambda tool, given: None  # noqa: E731
        self.world.sends_letters(self.box, amount=amount, operation_key=key)
        self.world.agent_has(on_rejection="tell", on_denial="tell")
        self.world.decider = OneLetter(self.runs)

    # --- steps ----------------------------------------------------------------------------------------------

    def opens(self) -> None:
        """Everybody may start, ada and bob approve, ada makes rules."""
        self.world.forbid(USER, "start")
        self.world.forbid(USER, "approve")
        for subject in PEOPLE:
            self.world.has_role(subject, "user")
        self.world.has_role(USER, "lead")
        self.world.has_role("bob", "approver")

    def plays(self, round_: Round) -> None:
        requester, before, approvers, after = round_
        self.opens()
        self.does("starts", requester)
        for change in before:
            self.does(*change)
        for approver in approvers:
            self.does("approves", approver)
        for change in after:
            self.does(*change)
        for run in self.runs:
            with suppress(RemitError):
                run.goes_on()
        for kind in ("tool", "agent", "tenant"):
            self.world.lifts(kind, STOPPED[kind])

    def does(self, what: str, *more: Any) -> None:
        with suppress(RemitError):  # whoever may not is refused
            getattr(self, f"_{what}")(*more)

    def _joins(self, subject: str, role: str) -> None:
        self.world.has_role(subject, role)

    def _leaves(self, subject: str, role: str) -> None:
        self.world.loses_role(subject, role)

    def _permit(self, subject: str, action: str) -> None:
        self.world.permit(subject, action)

    def _forbid(self, subject: str, action: str) -> None:
        self.world.forbid(subject, action)

    def _stops(self, kind: str) -> None:
        self.world.stops(kind, STOPPED[kind])

    def _policy(self, policy: Policy) -> None:
        self.policy = policy
        self.world.policy_also_says(*policy.rules(), base="service" if policy.separated else "local")
        self.world.restart(healed=False)

    def _starts(self, subject: str) -> None:
        self.runs.append(self.world.start("noter", {}, by=subject))

    def _approves(self, subject: str) -> None:
        self.runs[-1].approve(by=subject, drive=False)

    def _withdraws(self, subject: str) -> None:
        for approval in self.runs[-1].facts.approvals.values():
            self.world.parts.answers.withdraw(Actor(subject), approval.approval_id)

    def _rules(self, subject: str, most: int) -> None:
        self.world.rules(f"rule-of-{subject}", "send_letter", by=subject, max_amount=most)

    def _ends(self, subject: str) -> None:
        self.world.parts.rules.end(Actor(subject), f"rule-of-{subject}")

    def _passes(self, seconds: float) -> None:
        self.world.clock.passes(seconds=seconds)

    # --- the second opinion -----------------------------------------------------------------------------------

    def _looks(self, call: Call) -> None:
        """What is wrong is kept: to raise it would be just another answer of the target."""
        try:
            self._must_be_allowed(call)
        except (AssertionError, ValueError) as error:
            self.wrong.append(f"{call.principal} to {call.arguments['to']}: {error}")

    def _must_be_allowed(self, call: Call) -> None:
        roles = self._roles(call.principal)
        stops = {(each["kind"], each["name"]) for each in self.world.rows("stops")}
        assert not stops & set(STOPPED.items()), "behind a stop"
        assert self._has_row(call.principal, "start") or roles & STARTS, "for somebody who may not start"
        amount = len(call.arguments["to"])
        assert self.policy.most is None or amount <= self.policy.most, "above the limit"
        assert self.policy.banned_role not in roles, "for a banned role"
        self._must_be_approved(call)
        self._must_not_be_too_many(call)

    def _must_be_approved(self, call: Call) -> None:
        (asked,) = [each for each in self.world.rows("approvals") if each["operation_id"] == call.operation_id]
        assert (asked["status"], asked["digest"]) == ("approved", call.digest)
        assert asked["expires_at"] > self.world.clock.now(), "after its expiry"
        answers = [each for each in self.world.rows("decisions") if each["approval_id"] == asked["approval_id"]]
        people = {self._person(each["approver"], call) for each in answers if each["withdrawn_at"] is None}
        assert len(people) >= self.policy.quorum, "by too few"
        for each in people:
            assert each != call.principal or not self.policy.separated, "by who asked for it"
            assert self._has_row(each, "approve") or self._roles(each) & APPROVES, "by who may not"
            assert self.policy.approver in {None, *self._roles(each)}, "by a role that was not asked"

    def _person(self, approver: str, call: Call) -> str:
        if not approver.startswith("rule:"):
            return approver
        name, _, version = approver.removeprefix("rule:").rpartition("@")
        (rule,) = [each for each in self.world.parts.rules.all() if (each.name, str(each.version)) == (name, version)]
        assert self._in_force(rule), "by a rule that has ended"
        assert len(call.arguments["to"]) <= rule.bounds["max_amount"], "by a rule that does not cover it"
        return rule.maker

    def _in_force(self, rule: StandingRule) -> bool:
        return rule.ended_at is None and self.world.clock.now() < rule.until

    def _must_not_be_too_many(self, call: Call) -> None:
        since = self.world.clock.now() - 3_600_000
        mine = {each["operation_id"] for each in self.world.rows("operations") if each["principal"] == call.principal}
        claimed = [
            each
            for each in self.world.rows("effects")
            if each["operation_id"] in mine and each["claimed_at"] > since and each["status"] != "failed"
        ]
        assert self.policy.per_hour is None or len(claimed) <= self.policy.per_hour, "too often"

    def _roles(self, subject: str) -> set[str]:
        return {each["role"] for each in self.world.rows("role_members") if each["subject"] == subject}

    def _has_row(self, subject: str, action: str) -> bool:
        rows = self.world.rows("permissions")
        return any((each["subject"], each["action"]) == (subject, action) for each in rows)


def played(policy: Policy, taken: list[Round]) -> int:
    """How many letters came, each of them looked at."""
    with tempfile.TemporaryDirectory() as folder:
        office = Office(Path(folder))
        with closing(office.world):
            office.does("policy", policy)
            for each in taken:
                office.plays(each)
            for run in office.runs:
                assert run.timeline  # gap-free, and chained
            assert office.wrong == []
        return len(office.box.letters)


USUAL: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
letters_that_came: list[int] = []


@settings(max_examples=40, derandomize=True, **USUAL)
@given(policies, st.lists(rounds, min_size=2, max_size=4))
def an_effect_is_allowed_and_approved(policy: Policy, taken: list[Round]) -> None:
    letters_that_came.append(played(policy, taken))


def test_an_effect_happens_only_if_it_is_allowed_and_approved_at_that_moment() -> None:
    letters_that_came.clear()

    an_effect_is_allowed_and_approved()

    assert sum(letters_that_came) >= 20  # else it would hold of a program that does nothing


def test_what_is_allowed_does_happen() -> None:
    by_two = Policy(separated=True, quorum=2, approver="approver", most=7, per_hour=1)

    came = played(by_two, [("cy", [("joins", USER, "approver")], [USER, "bob"], []), ("bob", [], [USER], [])])

    assert (came, played(Policy(), [(USER, [("rules", USER, 9)], [], []), (USER, [], [], [])])) == (1, 1)


@pytest.mark.soak
@settings(max_examples=1000, **USUAL)
@given(policies, st.lists(rounds, min_size=1, max_size=8))
def test_effects_are_allowed_and_approved_in_many_more_orders(policy: Policy, taken: list[Round]) -> None:
    played(policy, taken)
