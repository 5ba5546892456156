"""P12: A document about a run that broke a rule does not verify, however well it is chained; nor does a longer one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.scenarios.test_p12_evidence import SealedLetter
from tests.support.auditor import Document, evidence, problems, retold, signer_of
from tests.support.target import Box, letters
from tests.support.world import World, final

Change = Callable[[Document], None]
QUORUM = (
    '@id("two") @quorum("2") permit (principal, action == Action::"use", resource == Tool::"create_note")'
    " when { context.granted };"
)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Document]:
    """Evidence of a note that a standing rule and a person agreed to, one after the other."""
    world = World(tmp_path_factory.mktemp("audited"), "loop")
    for subject, action in (("bob", "approve"), ("mia", "approve"), ("mia", "rule")):
        world.permit(subject, action)
    world.policy_also_says(QUORUM)
    world.restart()
    world.rules("minor", by="mia", agent="noter")
    world.clock.passes(seconds=10)
    run = world.noter()
    world.clock.passes(seconds=10)
    run.approve("bob")
    yield evidence(world, run.run_id)
    world.close()


def first(document: Document, section: str, **like: Any) -> dict[str, Any]:
    lines: list[dict[str, Any]] = document["sections"][section]
    return next(each for each in lines if all(each[name] == value for name, value in like.items()))


def claim(document: Document) -> dict[str, Any]:
    return first(document, "events", type="tool.call.started")


def rule(**fields: Any) -> Change:
    return lambda document: document["sections"]["standing_rules"][0].update(fields)


def rule_in_the_audit_too(**fields: Any) -> Change:
    def change(document: Document) -> None:
        rule(**fields)(document)
        first(document, "audit", actor="rule:minor@1")["detail"]["rule"].update(fields)

    return change


def another_digest_was_seen(document: Document) -> None:
    for each in document["sections"]["decisions"]:
        each["digest_seen"] = "f" * 64
    for each in document["sections"]["events"]:
        if each["type"] == "approval.decided":
            each["payload"]["digest"] = "f" * 64


def the_rule_was_ended(document: Document) -> None:
    rule(ended_at=claim(document)["at"] - 1, ended_by="mia")(document)


def the_rule_ran_out(document: Document) -> None:
    line = document["sections"]["standing_rules"][0]
    line["until"] = claim(document)["at"]


def it_is_there_twice(document: Document) -> None:
    document["sections"]["standing_rules"] *= 2


def it_is_not_there(document: Document) -> None:
    document["sections"]["standing_rules"] = []


def a_refusal_let_it_be_decided(document: Document) -> None:
    said = "no rule permits: bob approve create_note"
    first(document, "decisions", approver="bob")["policy_rule"] = said
    first(document, "events", type="approval.decided", actor="bob")["payload"]["policy"]["rule"] = said


def it_was_claimed_under_a_stop(document: Document) -> None:
    first(document, "operations", effect="write")["policy_rule"] = "stop: tenant *"
    claim(document)["payload"]["policy"]["rule"] = "stop: tenant *"


def it_was_claimed_after_a_cancel(document: Document) -> None:
    lines, at = document["sections"]["events"], claim(document)
    lines.insert(lines.index(at), {**at, "type": "run.cancel_requested", "event_id": "x", "payload": {}})


def it_was_claimed_before_it_was_decided(document: Document) -> None:
    at = claim(document)["at"] - 5_000
    claim(document)["at"] = first(document, "tries", kind="call")["started_at"] = at
    first(document, "effects")["claimed_at"] = at


NAMED = {
    "approvals does not say so": [another_digest_was_seen],
    "its rule was over by then": [the_rule_was_ended, the_rule_ran_out],
    "its standing rule was not in force": [rule(made_at=2**42), rule(until=1)],
    "its rule does not cover it": [
        rule_in_the_audit_too(tool="create_ticket"),
        rule_in_the_audit_too(bounds={"agent": "other"}),
        rule_in_the_audit_too(bounds={"requester": "eve"}),
        rule_in_the_audit_too(bounds={"resource": "record:*"}),
        rule_in_the_audit_too(bounds={"arguments": {"subject": "something else"}}),
        rule_in_the_audit_too(bounds={"arguments": {"nothing": None}}),
        rule_in_the_audit_too(bounds={"anything": 1}),
    ],
    "audit:approval.decide does not say so": [
        rule(maker="zoe"),
        rule(why="because"),
        rule(bounds={"requester": "ada"}),
    ],
    "its standing rule is not there, or twice": [
        it_is_there_twice,
        it_is_not_there,
        rule_in_the_audit_too(name="other"),
        rule_in_the_audit_too(version=2),
    ],
    "the rule it names is a refusal": [a_refusal_let_it_be_decided, it_was_claimed_under_a_stop],
    "it was claimed after somebody asked to cancel": [it_was_claimed_after_a_cancel],
    "it was claimed before it was decided": [it_was_claimed_before_it_was_decided],
}


@pytest.mark.parametrize(("said", "change"), [(said, each) for said, changes in NAMED.items() for each in changes])
def test_a_run_that_broke_a_rule_does_not_verify_in_a_chain_that_fits(
    document: Document, said: str, change: Change
) -> None:
    broken = copy.deepcopy(document)
    change(broken)

    assert problems(document) == []
    assert [each for each in problems(retold(broken)) if said in each]


def test_what_an_honest_timeline_says_holds_when_it_is_told_again(document: Document) -> None:
    wider = copy.deepcopy(document)
    rule_in_the_audit_too(bounds={"agent": "noter", "requester": "ada", "max_amount": 3})(wider)

    assert [each for each in problems(retold(wider)) if not each.startswith("document: it is not signed")] == []


def spaced(document: Document) -> None:
    value = document["signature"]["value"]
    document["signature"]["value"] = f"{value[:64]} {value[64:]}"


def in_capitals(document: Document) -> None:
    document["signature"] = {name: each.upper() for name, each in document["signature"].items()}


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(note="approved"),
        lambda document: document.pop("tenant_id"),
        lambda document: document["sections"].update(reviews=[{"by": "eve"}]),
        lambda document: document["chain"].update(reviews=[]),
        lambda document: document["signature"].update(signed_by="eve"),
        spaced,
        in_capitals,
    ],
)
def test_nothing_can_be_added_to_a_document_or_written_otherwise(loop_world: World, change: Change) -> None:
    exported = evidence(loop_world, loop_world.check().run_id)
    changed = copy.deepcopy(exported)
    change(changed)

    assert problems(exported, signer_of(loop_world).key) == []
    assert problems(changed)


def test_a_rule_about_what_is_sensitive_is_masked_like_it_and_holds(loop_world: World) -> None:
    loop_world.sends_letters(Box(), letters("bob"), arguments=SealedLetter)
    letter = {"tool": "send_letter", "arguments": {"to": "bob", "text": "meet at noon"}}
    loop_world.decider_says({"kind": "actions", "actions": [letter]}, final())
    for action in ("approve", "rule"):
        loop_world.permit("mia", action)
    loop_world.rules("dates", "send_letter", by="mia", arguments={"text": "meet at noon"})

    found = evidence(loop_world, loop_world.noter().run_id)

    assert [each["bounds"] for each in found["sections"]["standing_rules"]] == [{"arguments": {"text": "***"}}]
    assert ("noon" in str(found), problems(found)) == (False, [])
