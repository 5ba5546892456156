"""P12: The timeline is complete, ordered and gap-free per run, holds no secret, and is enough to explain every effect.

Beside it the audit has every refusal: who was not let do what, to which object, and why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nodes.settlements import Settlement
from state.actor import Actor
from state.errors import RemitError
from tests.support.run_in_world import RunInWorld
from tests.support.world import World

Tries = Callable[[World, RunInWorld], Any]


def settles(world: World, run: RunInWorld) -> None:
    (operation,) = [each for each in run.operations if each.effect == "write"]
    world.parts.settlements.settle(Actor("eve"), Settlement(operation.operation_id, "ticket_1"))


DENIED: dict[str, Tries] = {
    "run.start": lambda world, run: world.start("noter", {}, by="eve"),
    "run.cancel": lambda world, run: run.cancel("eve"),
    "run.pause": lambda world, run: run.pause("eve"),
    "run.take_over": lambda world, run: run.take_over("eve"),
    "budget.grant": lambda world, run: run.gets("eve", turns=1),
    "budget.refuse": lambda world, run: world.parts.budgets.refuse(Actor("eve"), run.run_id),
    "operation.settle": settles,
}


@pytest.mark.parametrize("action", DENIED)
def test_whoever_is_not_let_do_something_is_in_the_audit(loop_world: World, action: str) -> None:
    run = loop_world.check()

    with pytest.raises(RemitError):
        DENIED[action](loop_world, run)

    last = loop_world.audit[-1]
    assert (last["actor"], last["action"], last["result"]) == ("eve", action, "denied")


def test_an_answer_that_is_refused_is_in_the_audit(loop_world: World) -> None:
    loop_world.check().refused({"decisions": [{"type": "approve"}, {}]})

    assert (loop_world.audit[-1]["action"], loop_world.audit[-1]["result"]) == ("approval.decide", "refused")


def test_what_comes_too_late_is_in_the_audit_with_the_reason(loop_world: World) -> None:
    run = loop_world.check().approve()

    for late in (run.cancel, run.pause, lambda: run.settle("ticket_1"), lambda: run.gets(turns=1)):
        with pytest.raises(RemitError):
            late()

    said = [(each["action"], each["result"], each["detail"]["code"]) for each in loop_world.audit[-4:]]
    assert [each[:2] for each in said] == [
        ("run.cancel", "refused"),
        ("run.pause", "refused"),
        ("operation.settle", "refused"),
        ("budget.grant", "refused"),
    ]
    assert {each[2] for each in said} == {"RUN_ALREADY_TERMINAL", "CONFLICT"}
