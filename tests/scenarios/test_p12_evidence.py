"""P12: The timeline is complete, ordered and gap-free per run, holds no secret, and is enough to explain every effect.

Evidence is what an auditor takes away of it: one document that holds without the database, or says which line is wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import jsonschema_rs
import pytest
from pydantic import Field

from service import evidence_check, evidence_signature
from service.retention import Retention
from service.signing import Signer, signer
from state.actor import Actor
from state.errors import InputInvalid, NotAllowed, RunNotFound
from tests.support.auditor import changed, effects, evidence, problems, rechained, signer_of
from tests.support.faults import LosesTheResponse
from tests.support.target import Box, LetterArguments, letters
from tests.support.world import USER, RunInWorld, World, final, note, notes

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/evidence-schema.json").read_text("utf-8"))


def pruned(world: World, run: RunInWorld) -> RunInWorld:
    world.clock.passes(seconds=1)
    Retention(world.parts, Actor(USER)).prune(0)
    return run


# --- what it tells -------------------------------------------------------------------------------------------------


def test_evidence_of_an_effect_says_what_was_shown_who_decided_and_how_it_ended(world: World) -> None:
    run = world.check().approve()

    document = evidence(world, run.run_id)

    shown, answer = document["sections"]["approvals"][0], document["sections"]["decisions"][0]
    assert (shown["preview"]["difference"][0]["observed"], shown["resource"], shown["quorum"]) == (
        "2026-03-01",
        "record:r1",
        1,
    )
    assert (answer["approver"], answer["answer"], answer["digest_seen"]) == (USER, "approve", shown["digest"])
    assert problems(document, signer_of(world).key) == []
    assert [each.split()[0] for each in effects(document)] == ["holds"]


def test_evidence_fits_its_schema(loop_world: World) -> None:
    run = loop_world.check().approve()
    checks = jsonschema_rs.validator_for(SCHEMA)

    there, gone = evidence(loop_world, run.run_id), evidence(loop_world, pruned(loop_world, run).run_id)

    assert [checks.is_valid(each) for each in (there, gone)] == [True, True]
    assert not checks.is_valid({**there, "format": "remit-evidence/2"})
    assert not checks.is_valid(changed(there, "events", 1, hash=None))


def test_every_answer_there_ever_was_is_in_it_and_a_withdrawn_one_does_not_count(world: World) -> None:
    world.permit("bob", "approve")
    run = world.check()
    run.approve("bob", drive=False)
    world.parts.answers.withdraw(Actor("bob"), run.facts.approvals[run.operations[-1].operation_id].approval_id)
    run.approve()

    document = evidence(world, run.run_id)

    answers = [(each["approver"], each["withdrawn_at"] is not None) for each in document["sections"]["decisions"]]
    assert sorted(answers) == [(USER, False), ("bob", True)]
    assert problems(document) == []
    assert "approved by ada;" in effects(document)[0]


def test_a_lost_answer_a_refusal_and_a_run_that_still_waits_hold_too(world: World) -> None:
    world.target(LosesTheResponse)
    lost = world.check().approve()
    world.restart()
    refused = world.ticket().reject()
    waits = world.ticket(source="gazette 8")

    documents = [evidence(world, each.run_id) for each in (lost, refused, waits)]

    assert [problems(each) for each in documents] == [[], [], []]
    assert [len(effects(each)) for each in documents] == [1, 0, 0]


def test_what_another_run_had_made_is_told_as_such(loop_world: World) -> None:
    loop_world.check().approve()

    document = evidence(loop_world, loop_world.check().approve().run_id)

    assert problems(document) == []
    assert document["sections"]["effects"][0]["run_id"] != document["run_id"]


def test_the_audit_knows_what_was_exported_and_who_was_not_let(loop_world: World) -> None:
    run = loop_world.check()
    document = evidence(loop_world, run.run_id)

    with pytest.raises(NotAllowed, match="remit grants give eve evidence"):
        evidence(loop_world, run.run_id, by="eve")

    said = [(each["actor"], each["result"], each["detail"].get("head")) for each in loop_world.audit[-2:]]
    assert said == [(USER, "exported", document["head"]), ("eve", "denied", None)]


def test_there_is_no_evidence_of_a_run_that_never_was(loop_world: World) -> None:
    with pytest.raises(RunNotFound):
        evidence(loop_world, "nobody")


# --- what is wrong is named ----------------------------------------------------------------------------------------


def forged(world: World, section: str, number: int, **fields: Any) -> list[str]:
    document = evidence(world, world.check().approve().run_id)
    return evidence_check.Check(rechained(changed(document, section, number, **fields))).problems


@pytest.mark.parametrize(
    ("section", "number", "fields", "said"),
    [
        ("operations", 3, {"arguments": {"subject": "x"}}, "operations[3]: its digest is not of tool and arguments"),
        ("approvals", 1, {"expires_at": 1}, "approvals[1]: its approval had expired when it was claimed"),
        ("approvals", 1, {"quorum": 2}, "approvals[1]: 1 of 2 approvals when it was claimed"),
        ("approvals", 1, {"status": "rejected"}, "approvals[1]: its approval is not approved"),
        ("operations", 3, {"verified": None}, "operations[3]: the timeline knows another read-back"),
        ("operations", 3, {"policy_rule": "x"}, "operations[3]: it was claimed under another rule"),
        ("effects", 1, {"object_id": "ticket_2"}, "effects[1]: it is another effect"),
        ("run", 1, {"status": "cancelled"}, "run[1]: it has another end"),
        ("agent", 1, {"definition": {"budget": {}}}, "agent[1]: its digest is not of its definition"),
    ],
)
def test_a_forged_line_is_named_with_what_is_wrong_about_it(
    loop_world: World, section: str, number: int, fields: dict[str, Any], said: str
) -> None:
    assert said in forged(loop_world, section, number, **fields)


def test_a_document_of_another_key_is_not_this_installations(loop_world: World) -> None:
    document = evidence(loop_world, loop_world.check().run_id)
    stranger = Signer("01" * 32)
    head = {name: document[name] for name in ("format", "run_id", "head")}

    signed = {**document, **stranger.signed(head)}

    assert problems(signed) == []
    assert problems(signed, signer_of(loop_world).key) == [f"document: it is signed with another key, {stranger.key}"]
    assert problems(rechained(changed(document, "task", 1, created_at=1)))[-1].startswith("document: it is not signed")


# --- pruned --------------------------------------------------------------------------------------------------------


def test_of_a_pruned_run_one_signed_line_stays_with_its_count_and_head(loop_world: World) -> None:
    run = loop_world.check().approve()
    end = evidence(loop_world, run.run_id)["sections"]["run"][0]

    document = evidence(loop_world, pruned(loop_world, run).run_id)

    (line,) = document["sections"]["pruned"]
    assert (line["events"], line["head"], line["by"]) == (end["seq"], end["last_hash"], USER)
    assert problems(document, signer_of(loop_world).key) == []
    assert document["sections"]["events"] == []


def test_whoever_writes_to_the_database_alone_cannot_forge_that_line(loop_world: World) -> None:
    document = evidence(loop_world, pruned(loop_world, loop_world.check().approve()).run_id)

    forged = rechained(changed(document, "pruned", 1, events=3))

    assert "pruned[1]: it is not signed, or was changed after it was" in evidence_signature.wrong(forged)


# --- keys ----------------------------------------------------------------------------------------------------------


def test_the_key_is_made_once_and_for_its_owner_alone(loop_world: World) -> None:
    settings = loop_world.parts.settings
    first, second = signer(settings, {}), signer(settings, {})
    path = settings.data_dir / "signing.key"

    assert (first.key, path.stat().st_mode & 0o777) == (second.key, 0o600)
    path.chmod(0o644)
    with pytest.raises(InputInvalid, match="chmod 600"):
        signer(settings, {})


# --- alone ---------------------------------------------------------------------------------------------------------


def test_the_checkers_need_nothing_but_python_and_are_short(loop_world: World, tmp_path: Path) -> None:
    file = tmp_path / "evidence.json"
    file.write_text(json.dumps(evidence(loop_world, loop_world.check().approve().run_id)), "utf-8")

    for module in (evidence_check, evidence_signature):
        alone = tmp_path / "alone.py"
        alone.write_text(Path(str(module.__file__)).read_text("utf-8"), "utf-8")
        said = subprocess.run([sys.executable, "-I", "-S", alone, file], capture_output=True, text=True, check=False)
        assert (said.returncode, said.stderr) == (0, "")
    assert evidence_check.main([str(tmp_path / "none.json")]) == 1


# --- masked --------------------------------------------------------------------------------------------------------


class SealedLetter(LetterArguments):
    """A letter whose text is nobody's business."""

    text: Annotated[str, Field(json_schema_extra={"x-sensitive": True})] = ""


def test_what_a_schema_marks_as_sensitive_is_masked_and_the_rest_is_checked(loop_world: World) -> None:
    loop_world.sends_letters(Box(), letters("bob"), arguments=SealedLetter)
    loop_world.decider_says(
        {"kind": "actions", "actions": [{"tool": "send_letter", "arguments": {"to": "bob", "text": "meet at noon"}}]},
        final(),
    )
    run = loop_world.noter().approve()

    document = evidence(loop_world, run.run_id)

    assert "noon" not in json.dumps(document)
    assert document["sections"]["operations"][0]["arguments"] == {"to": "bob", "text": "***"}
    assert document["sections"]["operations"][0]["masked"] == ["/arguments/text"]
    assert problems(document) == []


def test_what_nobody_knows_the_schema_of_any_more_is_masked_altogether(loop_world: World) -> None:
    loop_world.decider_says(note(text="all is well"), final())
    run = loop_world.noter().approve()
    loop_world.loses_its_agents()
    loop_world.restart()

    document = evidence(loop_world, run.run_id)

    assert [each["masked"] for each in document["sections"]["operations"]] == [["/arguments"]]
    assert "all is well" not in json.dumps(document)
    assert problems(document) == []


def test_two_effects_of_one_turn_have_a_line_each(world: World) -> None:
    world.decider_says(notes("one", "two"), final())
    run = world.noter().approve()

    document = evidence(world, run.run_id)

    assert (problems(document), len(effects(document))) == ([], 2)
