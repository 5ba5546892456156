"""Rows of another tenant in the same database give nothing, take nothing and are never removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from service.retention import Retention
from state.actor import Actor
from store import permissions, standing_rules
from store.business import BusinessStore
from store.database import Connection
from store.doubt import in_doubt
from store.standing_rules import StandingRule
from tests.contracts.test_records_kept_apart import Doubled
from tests.support.faults import CannotBeAsked
from tests.support.world import World

OTHER = "another"
DAY_MS = 24 * 3600 * 1000


def _elsewhere(world: World, write: Callable[[Connection], Any]) -> None:
    with world.parts.ledger.database.write() as connection:
        write(connection)


def _rule(now: int, **more: Any) -> StandingRule:
    plain = StandingRule("notes", 0, "create_note", {}, "they are harmless", "ada", now, now + DAY_MS)
    return replace(plain, **more)


@pytest.mark.parametrize(("kind", "name"), [("tenant", "*"), ("agent", "noter"), ("tool", "create_note")])
def test_a_stop_of_another_tenant_stops_nothing_here(loop_world: World, kind: str, name: str) -> None:
    now = loop_world.clock.now()
    _elsewhere(loop_world, lambda it: permissions.stop(it, OTHER, now, "eve", kind, name, "why"))

    run = loop_world.noter().approve()

    assert run.status == "succeeded/completed"
    with loop_world.parts.ledger.database.read() as connection:
        assert permissions.stops_in_force(connection, "local") == []
        assert [each["name"] for each in permissions.stops_in_force(connection, OTHER)] == [name]


def test_what_another_tenant_permits_permits_nothing_here(loop_world: World) -> None:
    now = loop_world.clock.now()
    parts = loop_world.parts
    parts.business.revoke("ada", "write:note")
    other = BusinessStore(parts.business.database, loop_world.clock, OTHER)
    other.give("eve", "ada", "write:note")
    _elsewhere(loop_world, lambda it: permissions.give(it, OTHER, now, "eve", "mallory", "approve", "*"))
    _elsewhere(loop_world, lambda it: permissions.join(it, OTHER, now, "eve", "mallory", "approver"))

    assert parts.business.may("ada", "write:note", None) is None
    assert other.may("ada", "write:note", None) == "*"
    assert [each["granted_by"] for each in other.grants()] == ["eve"]
    assert "eve" not in {each["granted_by"] for each in parts.business.grants()}
    with parts.ledger.database.read() as connection:
        assert "mallory" not in {each["subject"] for each in permissions.permission_rows(connection, "local")}
        assert "mallory" not in {each["subject"] for each in permissions.members(connection, "local")}
    assert loop_world.noter().status == "denied/policy"


def test_what_another_tenant_takes_away_stays_here(loop_world: World) -> None:
    other = BusinessStore(loop_world.parts.business.database, loop_world.clock, OTHER)
    loop_world.permit("bob", "approve")
    loop_world.has_role("bob", "approver")

    assert not other.revoke("ada", "write:note")
    _elsewhere(loop_world, lambda it: permissions.revoke(it, OTHER, "bob", "approve", "*"))
    _elsewhere(loop_world, lambda it: permissions.leave(it, OTHER, "bob", "approver"))

    assert loop_world.noter().approve(by="bob").status == "succeeded/completed"


def test_a_standing_rule_holds_for_its_own_tenant_tool_and_time(loop_world: World) -> None:
    now = loop_world.clock.now()
    with loop_world.parts.ledger.database.write() as connection:
        first = standing_rules.make(connection, "local", _rule(now))
        other = standing_rules.make(connection, OTHER, _rule(now, why="others"))
        second = standing_rules.make(connection, "local", _rule(now + 1, why="still harmless"))

        assert (first.version, other.version, second.version) == (1, 1, 2)
        assert standing_rules.get(connection, "local", "notes", 1) == replace(first, ended_at=now + 1, ended_by="ada")
        assert standing_rules.for_tool(connection, "local", "create_note", now) == [second]
        assert standing_rules.for_tool(connection, OTHER, "create_note", now) == [other]
        assert standing_rules.for_tool(connection, "local", "create_ticket", now) == []
        assert standing_rules.for_tool(connection, "local", "create_note", second.until) == []
        assert [each.version for each in standing_rules.everyone(connection, "local")] == [1, 2]
        assert standing_rules.end(connection, "local", "notes", now + 2, "bob")
        assert not standing_rules.end(connection, "local", "notes", now + 3, "cy")
        assert standing_rules.get(connection, "local", "notes", 2) == replace(second, ended_at=now + 2, ended_by="bob")
        assert standing_rules.get(connection, OTHER, "notes", 1) == other


def test_a_rule_is_in_force_until_its_time_or_its_end() -> None:
    rule = _rule(1_000, until=2_000)

    assert (rule.in_force(1_999), rule.in_force(2_000)) == (True, False)
    assert not replace(rule, ended_at=1_500).in_force(1_600)


class OfTwoTenants(Doubled):
    """Every record is there for another tenant too, under the same ids."""

    ids: ClassVar[dict[str, tuple[str, ...]]] = {}


def _of_two_tenants(world: World) -> World:
    world.dies(ledger=OfTwoTenants.of)
    return world


def test_a_run_that_goes_takes_nothing_of_another_tenants_with_it(loop_world: World) -> None:
    world = _of_two_tenants(loop_world)
    kept = world.noter()
    gone = world.check().approve()
    world.clock.passes(seconds=100 * DAY_MS / 1000)

    counts = Retention(world.parts, Actor("ada")).prune(90 * DAY_MS)["counts"]

    assert (counts["runs"], counts["tasks"], counts["agent_versions"]) == (1, 1, 1)
    assert kept.status == "waiting/approval"
    assert {each["run_id"] for each in world.rows("runs") if each["tenant_id"] == "local"} == {kept.run_id}
    assert gone.run_id in {each["run_id"] for each in world.rows("runs")}


def test_an_effect_in_doubt_is_listed_once_and_for_its_own_tenant(loop_world: World) -> None:
    world = _of_two_tenants(loop_world)
    world.target(CannotBeAsked)
    run = world.check().approve()
    _elsewhere(world, lambda it: None)

    with world.parts.ledger.database.read() as connection:
        (doubt,) = in_doubt(connection, "local")
        assert in_doubt(connection, "nobody") == []

    assert (doubt.run.run_id, doubt.calls, doubt.lookups) == (run.run_id, 1, len(run.tries) // 2 - 1)
    assert doubt.since == run.row.created_at
