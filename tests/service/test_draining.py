"""Ctrl-C and SIGTERM while a run is driven: it is stopped at a safe point, let go of, and goes on elsewhere."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from nodes.deciders.streaming import HANGS, Chunk, ScriptedStreaming
from service.driving import drive
from service.edge import Interrupted
from service.use_cases import UseCases
from state.actor import Actor
from state.budget import Usage
from tests.support.faults import does_first
from tests.support.world import USER, World, final

PIECE = Chunk('{"kind":', Usage(input_tokens=100))
WORST = Usage(model_calls=1, input_tokens=5_000)
PATIENCE_S = 20


def sends(*signals: signal.Signals) -> None:
    assert threading.current_thread() is threading.main_thread()
    for each in signals:
        signal.raise_signal(each)


def until_drained(world: World) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not all(each.draining for each in world.parts.drivings):
        assert time.monotonic() < give_up
        threading.Event().wait(0.01)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_model_and_lets_go_of_the_run(world: World, by: signal.Signals) -> None:
    decider = ScriptedStreaming([[PIECE, lambda: sends(by), HANGS]], worst=WORST)
    world.decider = decider
    run = world.start("noter", {}, drive=False)

    with pytest.raises(Interrupted, match=f"is safe: .*\n.*remit resume {run.run_id}"):
        drive(UseCases(world.parts, Actor(USER)), run.run_id, world.engine_name, None)

    assert (run.status, run.row.owner, run.row.used["input_tokens"]) == ("queued", None, 100)
    assert [each.closed for each in decider.streams] == [True]
    world.restart()
    world.decider_says(final())
    assert run.goes_on().status == "succeeded/completed"


def test_an_effect_that_is_under_way_is_finished_and_recorded_first(world: World) -> None:
    world.target(does_first(lambda: (sends(signal.SIGTERM), until_drained(world))))
    run = world.noter().approve(drive=False)

    with pytest.raises(Interrupted):
        drive(UseCases(world.parts, Actor(USER)), run.run_id, world.engine_name, None)

    assert (run.status, run.writes, len(world.notes)) == ("queued", ["committed"], 1)
    world.restart()
    assert (run.goes_on().status, len(world.notes)) == ("succeeded/completed", 1)


def test_a_second_signal_does_not_wait(world: World) -> None:
    world.decider_says(lambda _: sends(signal.SIGINT, signal.SIGTERM), usage=WORST)
    run = world.start("noter", {}, drive=False)

    with pytest.raises(Interrupted):
        drive(UseCases(world.parts, Actor(USER)), run.run_id, world.engine_name, None)

    assert (run.status, run.row.used["input_tokens"]) == ("queued", 5_000)


def test_a_run_that_ends_all_the_same_is_shown_as_it_ended(world: World) -> None:
    world.decider_says(lambda _: sends(signal.SIGTERM) or final())
    run = world.start("noter", {}, drive=False)
    before = signal.getsignal(signal.SIGTERM)

    drive(UseCases(world.parts, Actor(USER)), run.run_id, world.engine_name, None)

    assert run.status == "succeeded/completed"
    assert signal.getsignal(signal.SIGTERM) == before
