"""P3: One operation key means one effect; the same key with other arguments is refused. Pruning changes nothing."""

from __future__ import annotations

from service.retention import Retention
from state.actor import Actor
from tests.support.world import USER, World

YEAR_S = 365 * 24 * 3600


def a_year_later_it_is_pruned(world: World) -> None:
    world.clock.passes(seconds=YEAR_S)
    done = Retention(world.parts, Actor(USER)).prune(YEAR_S * 1000 // 2)
    assert done["counts"]["runs"] == 1
    world.restart()


def test_a_new_run_for_the_same_ticket_adopts_what_a_pruned_run_made(world: World) -> None:
    made = world.ticket().approve()
    (ticket,) = world.tickets
    a_year_later_it_is_pruned(world)

    again = world.ticket().approve()

    assert (again.status, again.writes, world.tickets) == ("succeeded/completed", ["committed"], [ticket])
    assert again.timeline.count("tool.deduplicated") == 1
    assert again.operations[0].object_id == ticket["object_id"]
    assert made.run_id != again.run_id


def test_other_arguments_under_the_key_of_a_pruned_run_still_conflict(world: World) -> None:
    world.ticket().approve()
    kept = world.tickets
    a_year_later_it_is_pruned(world)

    other = world.ticket(observed="2026-04-01").approve()

    assert (other.status, other.effect, world.tickets) == ("failed/tool_failed", "none", kept)
    assert other.operations[0].error_class == "key_conflict"
