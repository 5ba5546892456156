"""P4: A call that does not end is given up: its outcome is unknown, looked up, never failed and never counted twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.target import Box, letters
from tests.support.world import RunInWorld, World
from tools.contract import Call, Receipt

PATIENCE_S = 20


class Deaf:
    """A call that heeds no token: it stands still until it is let go, and is then as good as any other.

    When it has begun, `meanwhile` happens.
    """

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def __init__(self) -> None:
        self._go, self._over = threading.Event(), threading.Event()
        self.box = Box(before=[self._stands_still])

    def _stands_still(self) -> None:
        self.meanwhile()
        assert self._go.wait(PATIENCE_S)

    def act(self, call: Call) -> Receipt:
        try:
            return self.box.arrive(call)
        finally:
            self._over.set()

    def is_let_go(self) -> None:
        """It does what it was asked for, and comes to its end."""
        self._go.set()
        assert self._over.wait(PATIENCE_S)


@pytest.fixture
def deaf() -> Iterator[Deaf]:
    made = Deaf()
    yield made
    made.is_let_go()


def called(world: World, deaf: Deaf, **contract: Any) -> RunInWorld:
    """An approved letter whose call ignores its token."""
    world.sends_letters(deaf.box, letters("ada"), act=deaf.act, **contract)
    return world.noter().approve(drive=False)


def test_a_call_that_takes_too_long_is_unknown_and_found_when_it_is_through(world: World, deaf: Deaf) -> None:  # X15
    run = called(world, deaf, longest_call_s=0.1)
    run.goes_on()
    assert (run.status, run.effect, run.tried[0]) == ("waiting/external", "unknown", ("call", "unknown"))
    assert "did not end (time)" in run.tries[0]["detail"]

    deaf.is_let_go()
    run.waits_it_out()

    assert (run.status, run.effect, deaf.box.calls) == ("succeeded/completed", "committed", ["letter:ada"])
    assert (run.tried[-1], "failed" in dict(run.tried).values()) == (("lookup", "committed"), False)


def test_a_cancel_that_a_call_does_not_heed_waits_for_what_became_of_it(world: World, deaf: Deaf) -> None:  # X15
    run = called(world, deaf)
    deaf.meanwhile = run.cancel
    run.goes_on()
    assert (run.status, run.effect, run.tried[0]) == ("cancelling/user", "unknown", ("call", "unknown"))
    assert "did not end (cancel)" in run.tries[0]["detail"]

    deaf.is_let_go()
    run.waits_it_out()

    assert (run.status, run.effect, deaf.box.letters) == ("cancelled/user", "committed", ["ada"])


def test_what_a_given_up_call_does_later_is_not_counted_twice(world: World, deaf: Deaf) -> None:  # X15
    deaf.box.knows_keys = True
    run = called(world, deaf, longest_call_s=0.5, dedups_by_key=True)  # enough for the second call

    run.goes_on()
    assert (run.status, deaf.box.letters) == ("succeeded/completed", ["ada"])
    before = run.tries
    deaf.is_let_go()

    assert (run.goes_on().status, deaf.box.letters, run.tries) == ("succeeded/completed", ["ada"], before)
    assert run.tried == [("call", "unknown"), ("lookup", "unknown"), ("call", "committed")]


def test_a_given_up_call_that_nobody_can_ask_about_waits_for_a_person(world: World, deaf: Deaf) -> None:  # X15, X8
    run = called(world, deaf, longest_call_s=0.1, lookups=0)
    run.goes_on()
    assert (run.status, run.effect) == ("waiting/reconciliation", "unknown")

    deaf.is_let_go()
    for _ in range(3):
        run.goes_on()

    assert (run.status, deaf.box.calls) == ("waiting/reconciliation", ["letter:ada"])
    assert run.settle("letter-1").goes_on().status == "succeeded/completed"
