"""P6: The policy in force at the moment of the effect: roles, limits, how often, and emergency stops."""

from __future__ import annotations

import pytest

from state.errors import InputInvalid, NotAllowed
from tests.contracts.test_prune import pruned
from tests.support.faults import crashing_business, does_first
from tests.support.run_in_world import RunInWorld
from tests.support.target import Box, letters
from tests.support.world import USER, World, final, note

LIMIT = """
@id("small-amounts")
forbid (principal, action == Action::"use", resource)
when { context.effect == "write" && context has amount && context.amount > 3 };
"""


def sends(world: World, *receivers: str) -> RunInWorld:
    """A run that sends one letter to each, one a turn; the amount of a letter is the length of its receiver's name."""
    box = Box()
    world.sends_letters(box, *[letters(each) for each in receivers], amount=lambda tool, given: len(given["to"]))
    return world.noter()


def test_an_amount_above_the_policys_limit_is_denied_before_anybody_is_asked(world: World) -> None:
    world.policy_also_says(LIMIT)

    run = sends(world, "oliver")

    assert (run.status, run.questions, run.writes) == ("denied/policy", [], ["denied"])
    assert "small-amounts" in run.denied_by


def test_an_amount_within_the_limit_is_asked_and_happens(world: World) -> None:
    world.policy_also_says(LIMIT)

    run = sends(world, "ann").approve()

    assert (run.status, run.writes) == ("succeeded/completed", ["committed"])


def test_a_limit_that_comes_after_the_approval_holds_at_the_effect(world: World) -> None:
    run = sends(world, "oliver").approve(drive=False)

    world.policy_also_says(LIMIT)
    world.restart(healed=False)
    run.goes_on()

    assert (run.status, run.writes) == ("denied/permission_revoked", ["denied"])
    assert "small-amounts" in run.denied_by


def test_a_rule_that_cannot_be_evaluated_denies(world: World) -> None:
    world.policy_also_says(
        '@id("odd") forbid (principal, action == Action::"use", resource)'
        " when { context has amount && context.amount * 9223372036854775807 < 0 };"
    )

    run = sends(world, "oliver")

    assert (run.status, run.questions) == ("denied/policy", [])


def test_every_effect_keeps_the_policy_and_the_rule_by_which_it_was_claimed(world: World) -> None:  # P11
    run = world.noter().approve(drive=False)
    world.policy_also_says(
        '@id("more") permit (principal, action == Action::"use", resource) when { context.granted };'
    )
    world.restart()
    run.goes_on()

    (operation,) = [each for each in world.rows("operations") if each["effect"] == "write"]
    (approval,) = world.rows("approvals")
    assert operation["policy_version"] != approval["policy_version"]
    assert (approval["policy_rule"], operation["policy_rule"]) == (
        f"write-granted: {USER} create_note *",
        f"more+write-granted: {USER} create_note *",
    )
    (started,) = [each for each in run.events if each["type"] == "tool.call.started"]
    assert started["payload"]["policy"] == {
        "version": operation["policy_version"],
        "rule": operation["policy_rule"],
    }


# --- reads --------------------------------------------------------------------------------------------------------

SECRET_RECORDS = '@id("no-records") forbid (principal, action == Action::"use", resource == Tool::"read_record");'


def test_a_read_that_the_policy_forbids_is_not_made(world: World) -> None:
    world.policy_also_says(SECRET_RECORDS)

    run = world.check()

    assert (run.status, world.tickets) == ("denied/policy", [])
    reads = [(each["tool"], each["status"], each["result"]) for each in world.rows("operations")]
    assert ("read_record", "denied", None) in reads
    assert run.row.used["tool_calls"] == len([each for each in reads if each[1] == "committed"])


def test_an_agent_that_is_told_of_a_denied_read_may_do_something_else(world: World) -> None:
    world.policy_also_says('@id("no-notices") forbid (principal, action, resource == Tool::"read_notice");')
    world.agent_has(on_denial="tell")
    read = {"kind": "actions", "actions": [{"tool": "read_notice", "arguments": {}}]}
    world.decider_says(read, note(), final())

    run = world.noter().approve()

    assert (run.status, run.decided, len(world.notes)) == ("succeeded/completed", 3, 1)


# --- how often ----------------------------------------------------------------------------------------------------

TWICE_AN_HOUR = '@id("tickets") @per_hour("2") permit (principal, action == Action::"use", resource);'


def tickets(world: World, *by: str) -> list[str]:
    """How runs end that somebody each starts and ada approves."""
    made: list[str] = []
    for subject in by:
        given = {"source": f"gazette {len(world.rows('runs'))}", "field": "effective", "observed": "a", "recorded": "b"}
        made.append(world.start("ticket", given, by=subject).approve().status)
    return made


def test_only_so_many_effects_an_hour_happen_and_after_it_they_do_again(world: World) -> None:
    world.policy_also_says(TWICE_AN_HOUR)
    assert tickets(world, USER, USER, USER) == ["succeeded/completed"] * 2 + ["denied/policy"]

    world.clock.passes(seconds=3601)

    assert (tickets(world, USER), len(world.tickets)) == (["succeeded/completed"], 3)


def test_the_place_of_what_was_proven_not_done_is_given_back(world: World) -> None:
    world.policy_also_says(TWICE_AN_HOUR)
    world.target(does_first(lambda: world.parts.business.revoke(USER, "write:ticket")))
    assert tickets(world, USER) == ["denied/permission_revoked"]
    world.parts.business.give(USER, USER, "write:ticket")
    world.restart()

    assert (tickets(world, USER, USER), len(world.tickets)) == (["succeeded/completed"] * 2, 2)


def test_what_others_do_does_not_count(world: World) -> None:
    world.policy_also_says(TWICE_AN_HOUR)
    for subject in ("bob", "cy"):
        world.permit(subject, "start")
        world.parts.business.give(USER, subject, "write:ticket")

    made = tickets(world, USER, "bob", "cy", USER, "bob", "cy", USER)

    assert made == ["succeeded/completed"] * 6 + ["denied/policy"]


def test_pruning_makes_no_room_for_more(loop_world: World) -> None:
    loop_world.policy_also_says(TWICE_AN_HOUR)
    tickets(loop_world, USER, USER)
    loop_world.clock.passes(seconds=60)

    pruned(loop_world, 0)

    assert tickets(loop_world, USER) == ["denied/policy"]


def test_what_grows_beyond_its_rule_after_the_approval_is_asked_of_people(loop_world: World) -> None:
    amounts = [3, 3]  # at planning; from the claim on it is more
    box = Box()
    loop_world.sends_letters(box, letters("ann"), amount=lambda tool, given: amounts.pop() if amounts else 10**9)
    loop_world.rules("small", "send_letter", max_amount=5)

    run = loop_world.noter()

    assert (run.status, box.calls) == ("waiting/approval", [])


def test_an_amount_below_nothing_is_no_amount(loop_world: World) -> None:
    loop_world.sends_letters(Box(), letters("ann"), amount=lambda tool, given: -(10**15))
    loop_world.rules("small", "send_letter", max_amount=5)

    run = loop_world.noter()

    assert (run.effect, [each.status for each in run.operations]) == ("none", ["failed"])


# --- emergency stops ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), [("tool", "create_note"), ("agent", "noter"), ("tenant", "*")])
def test_a_stop_holds_for_what_was_approved_before_it(world: World, kind: str, name: str) -> None:
    run = world.noter().approve(drive=False)

    world.stops(kind, name)
    run.goes_on()

    assert (run.status, world.notes, run.writes) == ("denied/emergency_stop", [], ["denied"])


@pytest.mark.parametrize(("kind", "name"), [("agent", "noter"), ("tenant", "*")])
def test_a_stopped_agent_is_not_started_and_asks_no_decider(world: World, kind: str, name: str) -> None:
    decider = world.decider_says(note(), final())
    run = world.start("noter", {}, drive=False)
    world.stops(kind, name)

    with pytest.raises(NotAllowed, match="stop"):
        world.noter()

    assert (run.goes_on().status, decider.asked) == ("denied/emergency_stop", 0)


def test_other_tools_and_agents_go_on_behind_a_stop_and_all_do_once_it_is_lifted(world: World) -> None:
    world.stops("tool", "create_ticket")
    assert (world.noter().approve().status, world.ticket().status) == ("succeeded/completed", "denied/emergency_stop")

    world.lifts("tool", "create_ticket")

    assert world.ticket().approve().status == "succeeded/completed"


def test_what_was_in_flight_at_a_stop_is_looked_up_and_not_made_again(world: World) -> None:
    run = world.noter().approve(drive=False)
    world.dies(business=crashing_business(1, "after"))
    world.restart(healed=False)
    run.crashes()
    world.stops("tenant")
    world.restart()

    run.goes_on()

    assert (run.status, len(world.notes), run.writes) == ("denied/emergency_stop", 1, ["committed"])


def test_a_stop_is_made_and_lifted_only_by_who_may_and_on_the_record(world: World) -> None:
    world.has_role("opal", "operator")
    with pytest.raises(NotAllowed):
        world.stops("tenant", by="eve")
    with pytest.raises(InputInvalid, match="create_note"):
        world.stops("tool", "creat_note", by="opal")

    world.stops("tool", "create_note", by="opal")
    world.lifts("tool", "create_note", by="opal")

    said = [(each["actor"], each["action"], each["object"], each["result"]) for each in world.audit]
    assert said[-3:] == [
        ("eve", "stop.make", "tenant:*", "denied"),
        ("opal", "stop.make", "tool:create_note", "done"),
        ("opal", "stop.lift", "tool:create_note", "done"),
    ]


def test_a_role_that_starts_runs_is_lost_with_what_it_had_approved(world: World) -> None:
    world.has_role("bob", "user")
    world.parts.business.give(USER, "bob", "write:note")
    run = world.start("noter", {}, by="bob").approve(drive=False)

    world.loses_role("bob", "user")
    run.goes_on()

    assert (run.status, world.notes) == ("denied/permission_revoked", [])
