"""Bounds hold to the millisecond and the byte: what is just within them passes, what is just beyond does not."""

from __future__ import annotations

from typing import Any

import pytest

from nodes.asking import plain
from nodes.planning import Refusal, aim_of, preview_of, valid_arguments
from state.errors import RunBusy, ToolError
from store.ledger import Driver, Ledger
from tests.support.target import Box, send_letter
from tests.support.world import RunInWorld, World
from tools.contract import Call
from tools.gateway import read


def _driver(owner: str) -> Driver:
    return Driver(owner, "loop", lambda other: False)


def _held(world: World) -> tuple[RunInWorld, Ledger]:
    run = world.start("noter", {}, drive=False)
    world.parts.ledger.claim(run.run_id, _driver("one"))
    return run, world.parts.ledger


def test_a_lease_lasts_thirty_seconds(loop_world: World) -> None:
    run, ledger = _held(loop_world)
    assert run.row.lease_until == loop_world.clock.now() + 30_000
    loop_world.clock.passes(seconds=29.999)
    with pytest.raises(RunBusy):
        ledger.claim(run.run_id, _driver("another"))
    loop_world.clock.passes(seconds=0.001)

    assert ledger.claim(run.run_id, _driver("another")).fence == 2


@pytest.mark.parametrize("how", ["renewed", "acting", "settling"])
def test_whatever_a_driver_writes_prolongs_its_lease_by_thirty_seconds_from_then_on(
    loop_world: World, how: str
) -> None:
    run, ledger = _held(loop_world)
    lease = run.lease
    loop_world.clock.passes(seconds=20)

    if how == "renewed":
        assert ledger.renew(lease) == {"desired_action": "none", "status": "running", "deadline": None}
    else:
        with getattr(ledger, how)(lease):
            pass

    assert run.row.lease_until == loop_world.clock.now() + 30_000
    assert run.row.used["active_ms"] == 20_000


@pytest.mark.parametrize(("seconds", "counted"), [(-5, 0), (0, 0), (29.999, 29_999), (30, 30_000), (31, 30_000)])
def test_between_two_writes_at_most_one_leases_length_counts_as_work(
    loop_world: World, seconds: float, counted: int
) -> None:
    run, ledger = _held(loop_world)
    loop_world.clock.jumps(seconds=seconds)

    with ledger.settling(run.lease):
        pass

    assert run.row.used["active_ms"] == counted


def _of_size(size: int) -> dict[str, Any]:
    """An object whose canonical JSON has so many bytes."""
    return {"a": "x" * (size - len('{"a":""}'))}


def test_a_proposal_has_at_most_256_kilobytes() -> None:
    assert plain(_of_size(256 * 1024)) == _of_size(256 * 1024)
    assert plain(_of_size(256 * 1024 + 1)) == {"kind": "unreadable", "type": "dict"}


@pytest.mark.parametrize("said", [None, "text", 7, [1], {1: 2}, {"a": float("nan")}, {"a": object()}])
def test_what_is_no_plain_object_is_recorded_as_unreadable_with_its_type(said: object) -> None:
    assert plain(said) == {"kind": "unreadable", "type": type(said).__name__}


def _preview(value: Any) -> Any:
    tool = send_letter(Box(), preview=lambda self, arguments: value)
    return preview_of(tool, {"to": "bob"})


def test_a_preview_is_an_object_of_bounded_size() -> None:
    assert _preview(_of_size(256 * 1024)) == _of_size(256 * 1024)
    for value in (_of_size(256 * 1024 + 1), "text", {"a": object()}):
        with pytest.raises(ToolError) as refused:
            _preview(value)
        assert refused.value.error_class == "internal"


@pytest.mark.parametrize("name", ["x" * 2_001, "\ud800", 7])
def test_a_key_is_a_text_of_at_most_2000_characters(name: object) -> None:
    tool = send_letter(Box(), operation_key=lambda self, arguments: name)
    with pytest.raises(ToolError):
        aim_of(tool, {"to": "bob"}, "default")


def test_a_tool_without_a_key_of_its_own_takes_the_runs() -> None:
    long = send_letter(Box(), operation_key=lambda self, arguments: "x" * 2_000)
    none = send_letter(Box(), operation_key=lambda self, arguments: None)

    assert aim_of(long, {"to": "bob"}, "default").key == "x" * 2_000
    assert aim_of(none, {"to": "bob"}, "default").key == "default"


class _Gives:
    ends_with_its_call = True

    def __init__(self, gives: Any) -> None:
        self._gives = gives

    def read(self, call: Call) -> Any:
        return self._gives


@pytest.mark.parametrize(("gives", "is_good"), [(4 * 1024 * 1024, True), (4 * 1024 * 1024 + 1, False)])
def test_a_result_has_at_most_four_megabytes(gives: int, is_good: bool) -> None:
    call = Call("run", "op", "key", "digest", {}, "ada")

    outcome = read(_Gives(_of_size(gives)), call)  # type: ignore[arg-type]

    assert (outcome.error_class is None) == is_good


def _nested(depth: int) -> Any:
    """Arguments of so many levels, the outermost counted."""
    inner: Any = "deep"
    for _ in range(depth - 2):
        inner = [inner]
    return {"to": inner}


def test_arguments_have_at_most_seven_levels_around_a_value() -> None:
    tool = send_letter(Box())

    within, beyond = valid_arguments(tool, _nested(8)), valid_arguments(tool, _nested(9))

    assert isinstance(within, Refusal)
    assert "nested" not in within.why  # a list is no receiver
    assert isinstance(beyond, Refusal)
    assert "nested deeper than 8 levels" in beyond.why


def test_arguments_have_at_most_64_kilobytes() -> None:
    tool = send_letter(Box())
    around = len('{"to":""}')

    fits = valid_arguments(tool, {"to": "x" * (64 * 1024 - around)})

    assert isinstance(fits, Refusal)
    assert "longer" not in fits.why  # though no receiver has so long a name
    beyond = valid_arguments(tool, {"to": "x" * (64 * 1024 - around + 1)})
    assert isinstance(beyond, Refusal)
    assert "longer than 65536 bytes" in beyond.why
