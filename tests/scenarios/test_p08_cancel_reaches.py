"""P8: A cancelled run acts no more, and its end says what had already happened. The cancel reaches what is running."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from nodes.deciders.streaming import HANGS, Chunk, Piece, ScriptedStreaming
from state.actor import Actor
from state.budget import Usage
from state.errors import Drained
from tests.support.target import Box, letters
from tests.support.world import USER, RunInWorld, World, final, note
from tools.contract import Call, Receipt, WriteTool
from tools.process import run_process

CAME = Usage(model_calls=1, input_tokens=100, output_tokens=7, cost_microusd=30)
WORST = Usage(model_calls=1, input_tokens=5_000, output_tokens=900, cost_microusd=4_000)


def streams(world: World, *pieces: Piece) -> ScriptedStreaming:
    """The decider's provider sends some of a proposal, then these pieces, and then nothing any more."""
    begun = [Chunk('{"kind":', Usage(input_tokens=100)), Chunk('"fin', Usage(output_tokens=7, cost_microusd=30))]
    decider = ScriptedStreaming([[*begun, *pieces, HANGS]], worst=WORST)
    world.decider = decider
    return decider


def used(run: RunInWorld) -> Usage:
    return Usage(**{name: run.row.used[name] for name in Usage.model_fields})


# A process and its child, both deaf to SIGTERM. Each writes its pid, and stays.
STUBBORN = """
exec > pids
trap '' TERM
sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &
echo $$
while :; do sleep 1; done
"""


def works_in_processes(world: World, work: str) -> dict[str, Any]:
    """The contract of a tool that does its work in two stubborn processes; whoever looks, looks for a letter."""
    folder, clock = world.folder, world.clock

    def act(_: WriteTool, call: Call) -> Receipt:
        run_process(["sh", "-c", work + STUBBORN], call=call, timeout_s=60, grace_s=0.1, cwd=str(folder), clock=clock)
        return Receipt("letter-1", call.digest)

    def lookup(_: WriteTool, call: Call) -> Receipt | None:
        return Receipt("letter-1", call.digest) if (folder / "letter").exists() else None

    return {"act": act, "lookup": lookup, "lookup_is_authoritative": True, "cancellable": "kill"}


class CancelsOnceItRuns(threading.Thread):
    """Somebody cancels the run when its processes have said who they are."""

    def __init__(self, run: RunInWorld, pipe: Path) -> None:
        super().__init__()
        self.run_in_world, self.pipe = run, pipe
        self.pids: list[int] = []
        self.answer = ""
        os.mkfifo(pipe)
        self.start()

    def run(self) -> None:
        with self.pipe.open() as lines:
            self.pids = [int(lines.readline()) for _ in range(2)]
        self.answer = self.run_in_world.cancel()


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_cancel_closes_the_models_stream_and_what_came_is_charged(world: World) -> None:  # X13
    runs: list[RunInWorld] = []
    decider = streams(world, lambda: runs[0].cancel())  # noqa: PLW0108 - it is started below
    runs.append(world.start("noter", {}, drive=False))

    run = runs[0].goes_on()

    assert [each.closed for each in decider.streams] == [True]
    assert (run.status, run.decided, used(run)) == ("cancelled/user", 0, CAME)
    assert run.timeline[-1] == "run.cancelled"


def test_a_deadline_closes_the_models_stream_and_what_came_is_charged(world: World) -> None:
    decider = streams(world, lambda: world.clock.passes(seconds=61))
    run = world.start("noter", {}, drive=False, deadline=world.clock.now() + 60_000)

    run.goes_on()

    assert [each.closed for each in decider.streams] == [True]
    assert (run.status, run.decided, used(run)) == ("timed_out/deadline", 0, CAME)


def test_a_person_who_takes_over_closes_the_models_stream(world: World) -> None:
    runs: list[RunInWorld] = []
    decider = streams(world, lambda: world.parts.controls.take_over(Actor(USER), runs[0].run_id))
    runs.append(world.start("noter", {}, drive=False))

    run = runs[0].goes_on()

    assert [each.closed for each in decider.streams] == [True]
    assert (run.status, run.decided, used(run)) == ("waiting/takeover", 0, CAME)


@pytest.mark.parametrize("work", ["", "touch letter"])
def test_a_cancel_ends_a_tools_processes_and_the_end_says_what_they_had_done(world: World, work: str) -> None:  # X14
    world.sends_letters(Box(), letters("bob"), **works_in_processes(world, work))
    run = world.noter().approve(drive=False)
    cancel = CancelsOnceItRuns(run, world.folder / "pids")

    run.goes_on()

    cancel.join()
    run.waits_it_out()
    assert [is_there(each) for each in cancel.pids] == [False, False]
    assert (cancel.answer, run.status) == ("cancelling", "cancelled/user")
    assert run.effect == ("committed" if work else "none")


def test_a_process_that_goes_away_closes_its_stream_and_lets_go_of_the_run(world: World) -> None:
    streams(world, lambda: [each.drain() for each in world.parts.drivings])
    run = world.start("noter", {}, drive=False)

    with pytest.raises(Drained):
        run.goes_on()

    assert (run.status, run.row.owner, used(run)) == ("queued", None, CAME)
    world.restart()
    world.decider_says(note(), final())
    assert run.goes_on().approve().status == "succeeded/completed"
    assert used(run) == CAME


def test_a_stream_that_comes_to_its_end_is_a_proposal_and_costs_what_came(world: World) -> None:
    begun, rest = '{"kind": "final", ', '"claim": "completed"}'
    said = [Chunk(begun, Usage(input_tokens=100)), Chunk(rest, Usage(output_tokens=7))]
    decider = ScriptedStreaming([said], worst=WORST)
    world.decider = decider

    run = world.noter()

    assert (run.status, used(run)) == ("succeeded/completed", Usage(model_calls=1, input_tokens=100, output_tokens=7))
    assert [each.closed for each in decider.streams] == [True]
