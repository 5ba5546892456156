"""P7: Budgets and deadlines hold across pauses, retries, restarts and engines; here: a model that is asked again."""

from __future__ import annotations

import pytest

from nodes.deciders.decider import Stopped, View
from state.budget import Budget, Usage
from state.errors import ErrorClass, ToolError
from tests.support.world import RunInWorld, World, final, note
from tools.contract import CancelToken

ONE = Usage(model_calls=1, input_tokens=100)


def busy(error_class: ErrorClass = "transient", after_s: float | None = None) -> ToolError:
    return ToolError(error_class, "come again", retry_after_s=after_s)


class Provider:
    """A decider whose calls are answered in turn, whichever turn they are for; the last answer again and again."""

    name = "scripted"

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked = 0

    def propose(self, view: View, token: CancelToken) -> object:
        del view
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer(token) if callable(answer) else answer

    def worst_case(self) -> Usage:
        return ONE


def asks(world: World, *answers: object) -> Provider:
    provider = Provider(*answers)
    world.decider = provider
    return provider


def waits(run: RunInWorld) -> list[int]:
    return [each["payload"]["wait_ms"] for each in run.events if each["type"] == "model.retried"]


def test_a_model_that_is_busy_is_asked_again_after_growing_waits(world: World) -> None:
    asks(world, busy(), busy(), {**final(), "usage": ONE.model_dump()})
    begun = world.clock.now()

    run = world.noter()

    first, second = waits(run)
    assert (run.status, run.row.used["turns"], run.row.used["model_calls"]) == ("succeeded/completed", 1, 3)
    assert 750 <= first <= 1_250
    assert 3_000 <= second <= 5_000
    assert world.clock.now() - begun == first + second


def test_a_model_that_stays_busy_fails_the_run_after_three_tries(world: World) -> None:
    provider = asks(world, busy())

    run = world.noter()

    assert (run.status, provider.asked, len(waits(run))) == ("failed/model_failed", 3, 2)
    assert (run.row.used["model_calls"], run.row.used["input_tokens"]) == (3, 300)


def test_any_other_failure_is_not_tried_again(loop_world: World) -> None:
    provider = asks(loop_world, ToolError("refused_by_target", "no"))

    run = loop_world.noter()

    assert (run.status, provider.asked, waits(run)) == ("failed/model_failed", 1, [])


def test_a_call_that_was_turned_away_is_charged_as_a_call_without_tokens(loop_world: World) -> None:
    asks(loop_world, busy("rate_limited"), {**final(), "usage": ONE.model_dump()})

    run = loop_world.noter()

    assert (run.row.used["model_calls"], run.row.used["input_tokens"]) == (2, 100)


def test_a_wait_that_the_provider_asks_for_is_kept(loop_world: World) -> None:
    asks(loop_world, busy("rate_limited", after_s=30), final())

    assert waits(loop_world.noter()) == [30_000]


@pytest.mark.parametrize("after_s", [float("nan"), float("-inf"), -5, "soon", True])
def test_a_wait_that_makes_no_sense_is_not_kept(loop_world: World, after_s: float) -> None:
    asks(loop_world, busy("rate_limited", after_s), final())

    (wait,) = waits(loop_world.noter())

    assert 750 <= wait <= 1_250


@pytest.mark.parametrize("after_s", [61, 3_600, 1e300])
def test_a_provider_that_wants_to_be_left_alone_for_long_is_not_waited_for(loop_world: World, after_s: float) -> None:
    provider = asks(loop_world, busy("rate_limited", after_s))

    run = loop_world.noter()

    assert (run.status, provider.asked) == ("failed/model_failed", 1)


def test_nobody_waits_past_the_deadline(world: World) -> None:
    provider = asks(world, busy(after_s=10))
    deadline = world.clock.now() + 9_000

    run = world.start("noter", {}, deadline=deadline)

    assert (run.status, provider.asked, world.clock.now() < deadline) == ("failed/model_failed", 1, True)


def test_nobody_waits_longer_than_active_time_is_left(world: World) -> None:
    world.agent_has(budget=Budget(active_ms=9_000))
    provider = asks(world, busy(after_s=8))

    run = world.noter()

    assert (run.status, provider.asked, waits(run)) == ("failed/model_failed", 2, [8_000])


def test_a_try_whose_worst_case_does_not_fit_is_not_made(world: World) -> None:
    world.agent_has(budget=Budget(input_tokens=250))
    provider = asks(world, busy())

    run = world.noter()

    assert (run.status, provider.asked, run.row.used["input_tokens"]) == ("budget_exceeded/tokens", 2, 200)


def test_a_cancel_ends_the_wait(world: World) -> None:
    provider = asks(world, busy(after_s=20), final())
    run = world.start("noter", {}, drive=False)
    world.clock.at_the_next_wait(run.cancel)

    run.goes_on()

    assert (run.status, provider.asked, run.row.used["model_calls"]) == ("cancelled/user", 1, 1)


def test_the_charge_of_tries_survives_the_process(world: World) -> None:
    provider = asks(world, busy(), KeyboardInterrupt(), {**final(), "usage": ONE.model_dump()})
    run = world.start("noter", {}, drive=False)
    with pytest.raises(KeyboardInterrupt):
        run.goes_on()

    world.restart()
    run.goes_on()

    assert (run.status, provider.asked, run.row.used["model_calls"]) == ("succeeded/completed", 3, 3)


def test_retries_of_the_model_and_of_a_tool_do_not_multiply(world: World) -> None:
    provider = asks(world, busy(), note(), busy(), final())

    run = world.noter().approve()

    assert (run.status, provider.asked, len(world.notes)) == ("succeeded/completed", 4, 1)
    assert run.timeline.count("tool.call.started") == 1


def trips_its_own_token(token: CancelToken) -> object:
    token.trip("cancel")
    raise busy()


@pytest.mark.parametrize("answer", [Stopped(Usage(model_calls=1)), trips_its_own_token])
def test_a_decider_that_stops_by_itself_has_failed(world: World, answer: object) -> None:
    provider = asks(world, answer)

    run = world.noter()

    assert (run.status, provider.asked) == ("failed/model_failed", 1)
