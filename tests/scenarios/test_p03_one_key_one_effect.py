"""P3: One operation key means one effect; the same key with other arguments is refused."""

from __future__ import annotations

import pytest

from state.errors import ToolError
from store.business import Write
from tests.support.without import without_digest_under_the_key, without_key_check
from tests.support.world import World, final, note

OTHERS = Write(
    "ticket",
    "ticket:gazette 7::effective",
    "another digest",
    {
        "source": "gazette 7",
        "source_sha256": "",
        "record": "",
        "field": "effective",
        "observed": "old",
        "recorded": "older",
    },
    "ada",
    None,
    None,
)


def test_the_same_key_with_other_arguments_is_a_conflict(world: World) -> None:  # C10, K6
    world.ticket().approve()
    before = world.tickets

    run = world.ticket(observed="2027-12-31").approve()

    assert world.tickets == before
    assert (run.status, run.effect) == ("failed/tool_failed", "none")
    assert "OperationKeyConflict" in (run.operations[-1].detail or "")


def test_asking_for_the_same_effect_again_finds_the_one_that_is_there(world: World) -> None:
    first = world.ticket().approve()

    second = world.ticket().approve()

    assert (len(world.tickets), second.status) == (1, "succeeded/completed")
    assert second.operations[-1].object_id == first.operations[-1].object_id
    assert "tool.deduplicated" in second.timeline


def test_one_note_stays_one_note(world: World) -> None:  # S2
    world.decider_says(note("text"), note("text"), final())
    run = world.noter().approve()

    run.approve()

    assert (world.notes, run.status) == (["widgets: text"], "succeeded/completed")
    world.decider_says(note("other"), final())
    world.restart()
    assert (world.noter().approve().status, world.notes) == ("failed/tool_failed", ["widgets: text"])


def test_a_key_whose_operation_was_rejected_is_free_again(world: World) -> None:
    world.ticket().reject()

    run = world.ticket(observed="2027-12-31").approve()

    assert (run.status, [each["observed"] for each in world.tickets]) == ("succeeded/completed", ["2027-12-31"])


def test_a_source_that_is_named_like_a_content_hash_takes_no_notices_key(world: World) -> None:
    asked = world.check()
    sha256 = asked.question.arguments["source_sha256"]
    world.ticket(source=sha256, record="r1").approve()

    run = asked.approve()
    run = run.approve() if run.questions else run  # the record changed, so it is asked again

    assert (run.status, len(world.tickets)) == ("succeeded/completed", 2)


def test_the_target_itself_refuses_a_key_with_another_digest(loop_world: World) -> None:  # K6, with
    fields = {"subject": "s", "text": "first"}
    write = Write("note", "k", "d1", fields, "ada", None, None)
    loop_world.parts.business.create(write)

    with pytest.raises(ToolError, match="other arguments"):
        loop_world.parts.business.create(Write("note", "k", "d2", {**fields, "text": "second"}, "ada", None, None))

    assert loop_world.notes == ["s: first"]


def test_without_the_key_bound_to_its_digest_old_values_stay_and_nobody_notices(loop_world: World) -> None:  # K6
    loop_world.target(without_key_check())
    fields = {"subject": "s", "text": "first"}
    first = loop_world.parts.business.create(Write("note", "k", "d1", fields, "ada", None, None))

    second = loop_world.parts.business.create(Write("note", "k", "d2", {**fields, "text": "second"}, "ada", None, None))

    assert (second.object_id, loop_world.notes) == (first.object_id, ["s: first"])


def test_a_key_that_the_target_has_under_another_digest_is_a_conflict_for_the_run(world: World) -> None:  # K6, with
    world.parts.business.create(OTHERS)

    run = world.ticket().approve()

    assert (run.status, run.effect) == ("failed/tool_failed", "none")
    assert [each["observed"] for each in world.tickets] == ["old"]


def test_without_the_digest_under_the_key_the_old_values_stay_and_only_the_read_back_notices(  # K6, without
    world: World,
) -> None:
    world.target(without_digest_under_the_key())
    world.parts.business.create(OTHERS)

    run = world.ticket().approve()

    assert (run.status, run.effect) == ("failed/verification_failed", "committed")
    assert [each["observed"] for each in world.tickets] == ["old"]


def test_a_request_an_answer_and_a_message_that_come_twice_have_one_effect(world: World) -> None:  # X4
    given = world.check_input()
    run, again = (world.start("catalog-check", given, request_key="r") for _ in range(2))
    answer = {"approval_id": run.question.approval_id, "digest": run.question.digest, "type": "approve"}
    run.answer({"decisions": [answer]})
    run.refused({"decisions": [answer]})

    run.goes_on().goes_on()

    (ticket,) = world.tickets
    assert (again.run_id, run.ticket_made.object_id) == (run.run_id, ticket["object_id"])
    assert [each["run_id"] for each in world.rows("idempotency_keys")] == [run.run_id]
    assert [each["object_id"] for each in world.rows("effects", "business")] == [ticket["object_id"]]
    assert (run.decisions, run.tried) == ([("ada", "approve")], [("call", "committed")])
