"""A change of grants is in the audit before it is in force at a target, whenever the process dies."""

from __future__ import annotations

from typing import Any

import pytest

from service.grants import Grants
from state.actor import Actor
from tests.support.faults import Crash, crashing_ledger
from tests.support.world import USER, World


def _carl(world: World) -> tuple[bool, list[str]]:
    """Is the grant in force, and what the audit says of it."""
    held = any(each["subject"] == "carl" for each in world.parts.business.grants())
    return held, [each["result"] for each in world.audit if each["object"] == "subject:carl"]


@pytest.mark.parametrize(
    ("nth", "when", "held", "said"),
    [
        (1, "before", False, []),
        (1, "after", False, ["begun"]),
        (2, "before", True, ["begun"]),
        (2, "after", True, ["begun", "given"]),
    ],
)
def test_no_grant_to_write_is_in_force_without_a_line_in_the_audit(
    loop_world: World, nth: int, when: Any, held: bool, said: list[str]
) -> None:
    assert loop_world.audit  # the first opening is over
    loop_world.restart()
    loop_world.dies(ledger=crashing_ledger(nth, when))

    with pytest.raises(Crash):
        Grants(loop_world.parts, Actor(USER)).give("carl", "write:note", "*")
    loop_world.restart()

    assert _carl(loop_world) == (held, said)


def test_a_grant_to_write_is_taken_away_on_the_record_as_well(loop_world: World) -> None:
    grants = Grants(loop_world.parts, Actor(USER))
    grants.give("carl", "write:note", "*")

    (revoked,), (again,) = (grants.revoke("carl", "write:note", "*") for _ in range(2))

    assert (revoked["changed"], again["changed"]) == (True, False)
    assert _carl(loop_world) == (False, ["begun", "given", "begun", "revoked", "begun", "unchanged"])
