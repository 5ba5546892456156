"""Whatever a tool's own helpers do, it is a value that flows on: nothing happens, the run ends, and says why."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from graphs.wiring import shipped_tools
from nodes.deciders.scripted import Scripted
from state.budget import Usage
from state.errors import ToolError
from tests.support.target import Box, breaks, letters
from tests.support.world import NOTE_AGENT, World, final
from tools.contract import Arguments, ReadTool

HELPERS = ["operation_key", "resource", "permitted", "preview", "resource_version"]


def broken(*_: Any) -> Any:
    raise LookupError("a bug in the tool")


class Flickering:
    """A helper that cannot answer at some of its calls."""

    def __init__(self, answer: Any, *fails_at: int) -> None:
        self._answer, self._fails_at, self.calls = answer, fails_at, 0

    def method(self) -> Any:
        def asked(*_: Any) -> Any:
            self.calls += 1
            if self.calls in self._fails_at:
                raise ToolError("transient", "the target does not answer")
            return self._answer

        return asked


@pytest.mark.parametrize("helper", HELPERS)
def test_a_tool_whose_helper_breaks_does_nothing_and_the_decider_is_told(world: World, helper: str) -> None:
    box = Box()
    world.sends_letters(box, letters("ada"), **{"resource": lambda self, arguments: "box:1", helper: broken})

    run = world.noter()

    assert (run.status, run.effect, box.calls) == ("succeeded/completed", "none", [])
    (write,) = run.operations
    assert (write.status, "a bug in the tool" in (write.detail or "")) == ("failed", True)


def test_a_tool_that_breaks_again_and_again_ends_the_run(world: World) -> None:
    box = Box()
    world.agent_has(max_repairs=1)
    world.sends_letters(box, letters("ada"), letters("bob"), letters("eve"), preview=broken)

    run = world.noter()

    assert (run.status, run.decided, box.calls) == ("failed/tool_failed", 2, [])


def test_a_target_that_does_not_say_its_version_at_first_is_asked_again(world: World) -> None:
    box, versions = Box(), Flickering(7, 2, 3)
    contract = {"resource": lambda self, arguments: "box:1", "resource_version": versions.method()}
    world.sends_letters(box, letters("ada"), **contract)

    run = world.noter().approve()

    assert (run.status, box.letters, versions.calls) == ("succeeded/completed", ["ada"], 4)


@pytest.mark.parametrize("helper", ["permitted", "resource_version"])
def test_what_cannot_be_checked_at_the_moment_of_the_effect_does_not_happen(world: World, helper: str) -> None:
    box, answers = Box(), Flickering("7" if helper == "permitted" else 7, 2, 3, 4, 5)
    world.sends_letters(box, letters("ada"), **{"resource": lambda *_: "box:1", helper: answers.method()})

    run = world.noter().approve()

    assert (run.status, run.effect, box.calls, run.writes) == ("succeeded/completed", "none", [], ["cancelled"])
    assert "could not be checked" in (run.operations[-1].detail or "")


def test_an_edit_that_cannot_be_checked_is_refused_and_the_question_stays(world: World) -> None:
    box, answers = Box(), Flickering(7, 2)
    world.sends_letters(box, letters("ada"), **{"resource": lambda *_: "box:1", "resource_version": answers.method()})
    run = world.noter()

    edit = {"approval_id": run.question.approval_id, "digest": run.question.digest, "type": "edit"}
    refusal = run.refused({"decisions": [{**edit, "arguments": {"to": "bob", "text": ""}}]})

    assert "could not be checked" in str(refusal)
    assert run.approve().status == "succeeded/completed"
    assert box.letters == ["ada"]


def test_a_decider_that_cannot_say_what_it_may_cost_is_not_asked(world: World) -> None:
    class Vague(Scripted):
        def worst_case(self) -> Usage:
            raise ZeroDivisionError("a bug in the decider")

    world.decider = asked = Vague([letters("ada")])

    run = world.noter()

    assert (run.status, asked.asked) == ("failed/model_failed", 0)


# --- targets that do not answer -----------------------------------------------------------------------------------


LOOK = {"name": "look", "version": "1", "description": "Look.", "arguments": Arguments, "longest_call_s": 0.05}


class Silent:
    """A target that never answers; whoever waits for it is let go at the end of the test."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def __call__(self, *_: Any) -> Any:
        self.let_go.wait(20)


@pytest.fixture
def silent() -> Iterator[Silent]:
    target = Silent()
    yield target
    target.let_go.set()


def test_a_lookup_that_never_answers_is_given_up_and_made_again_until_a_person_is_asked(
    loop_world: World, silent: Silent
) -> None:
    box = Box(answers=[breaks])
    loop_world.sends_letters(box, letters("ada"), lookup=silent, lookups=2, longest_call_s=0.05)

    run = loop_world.noter().approve().waits_it_out()

    assert (run.status, len(box.calls)) == ("waiting/reconciliation", 1)
    assert run.tried == [("call", "unknown"), ("lookup", "unknown"), ("lookup", "unknown")]
    assert "did not answer (time)" in str(run.tries[-1]["detail"])


def test_a_reader_that_never_answers_is_no_proof_and_not_waited_for(loop_world: World, silent: Silent) -> None:
    loop_world.sends_letters(Box(), letters("ada"), read_back=silent, longest_call_s=0.05)

    run = loop_world.noter().approve()

    (write,) = [each for each in run.operations if each.effect == "write"]
    assert (run.status, write.status, write.verified) == ("waiting/external", "committed", None)


def test_a_read_that_never_answers_fails_and_the_decider_is_told(loop_world: World, silent: Silent) -> None:
    tool = type("Look", (ReadTool,), {**LOOK, "read": silent})()
    loop_world.outside = replace(loop_world.outside, tools=lambda *stores: [*shipped_tools(*stores), tool])
    loop_world.agent_has(tools=(*NOTE_AGENT.tools, tool.id))
    read = {"kind": "actions", "actions": [{"tool": "look", "arguments": {}}]}
    loop_world.decider_says(read, final())

    run = loop_world.noter()

    (operation,) = run.operations
    assert (run.status, operation.status, operation.error_class) == ("succeeded/completed", "failed", "transient")
