"""The commands for whoever is on call: doubt, settle, compensate, take-over, budget."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import typer

from service.cli_runs import carry_on, finish
from service.edge import ENDED_OTHERWISE, print_json
from service.options import AsJson, Engine, EngineName, OtherEngine, RunId, Verbose, duration_ms, opened
from state.digest import Json
from state.errors import RunBusy

if TYPE_CHECKING:
    from service.use_cases import UseCases

budget = typer.Typer(help="More budget for a run, or no more.", no_args_is_help=True)

OperationId = Annotated[str, typer.Argument(metavar="OPERATION", help="The operation's id.")]
More = Annotated[int | None, typer.Option(min=1, help="So many more.")]
NoDrive = Annotated[bool, typer.Option("--no-drive", help="Only record it; `remit resume` drives.")]


def doubt(
    fail_if_any: Annotated[bool, typer.Option("--fail-if-any", help="Exit with 4 if there is one.")] = False,
    as_json: AsJson = False,
) -> None:
    """List every effect that may have happened, with what can be done about it; the oldest first."""
    with opened() as cases:
        found = cases.doubt()
    if as_json:
        print_json({"doubt": found})
    else:
        _show(found)
    if found and fail_if_any:
        raise typer.Exit(ENDED_OTHERWISE)


def _show(found: list[Json]) -> None:
    from service.terminal import Screen

    screen = Screen()
    if not found:
        return screen.line("No effect is in doubt.")
    columns = ("operation_id", "tool", "run_id", "run_status", "since", "calls", "lookups", "again_at", "detail")
    screen.table("", columns, [[each[column] for column in columns] for each in found])
    for each in found:
        for command in each["commands"].values():
            screen.line(f"  {command}")


def settle(
    operation_id: OperationId,
    done: Annotated[str | None, typer.Option("--done", metavar="ID", help="Done: the target's id for it.")] = None,
    not_done: Annotated[bool, typer.Option("--not-done", help="It was not done, and is not done by itself.")] = False,
    comment: Annotated[str, typer.Option("--comment", help="How you found out; kept with it.")] = "",
    no_drive: NoDrive = False,
    engine: OtherEngine = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Say what became of an effect whose outcome is unknown. After the run's end it changes no status."""
    if (done is None) != not_done:
        raise typer.BadParameter("Say which: --done ID, or --not-done.")
    with opened() as cases:
        run_id = cases.run_of_operation(operation_id)
        before = cases.last_event(run_id)
        cases.settle(operation_id, done, comment)
        _go_on(cases, run_id, no_drive, engine, as_json, verbose, before)


def compensate(
    operation_id: OperationId,
    engine: Engine = EngineName.langgraph,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Take back an effect that is not wanted, by a run of its own that asks for an approval of its own."""
    with opened() as cases:
        run_id = cases.start("compensation", {"operation": operation_id}, engine.value)
        carry_on(cases, run_id, engine.value, as_json=as_json, verbose=verbose)


def take_over(run_id: RunId, as_json: AsJson = False) -> None:
    """Stop all further automation of a run, and show what has happened and what is open. It undoes nothing."""
    with opened() as cases:
        cases.control("take-over", run_id)
        _go_on(cases, run_id, False, None, as_json, False, cases.last_event(run_id))


@budget.command("grant")
def grant(
    run_id: RunId,
    turns: More = None,
    model_calls: More = None,
    tool_calls: More = None,
    input_tokens: More = None,
    output_tokens: More = None,
    cost: Annotated[str | None, typer.Option("--cost", help="So many US dollars more: 0.50.")] = None,
    active_time: Annotated[str | None, typer.Option("--active-time", help="So much longer: 90s, 10m.")] = None,
    no_drive: NoDrive = False,
    engine: OtherEngine = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Raise limits of a run. It is recorded; a run that waits for budget goes on."""
    given = {
        "turns": turns,
        "model_calls": model_calls,
        "tool_calls": tool_calls,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cost_microusd": None if cost is None else _microusd(cost),
        "active_ms": None if active_time is None else duration_ms("--active-time", active_time),
    }
    with opened() as cases:
        before = cases.last_event(run_id)
        cases.grant_budget(run_id, {measure: more for measure, more in given.items() if more is not None})
        _go_on(cases, run_id, no_drive, engine, as_json, verbose, before)


@budget.command("refuse")
def refuse(
    run_id: RunId,
    no_drive: NoDrive = False,
    engine: OtherEngine = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Say that a run that waits for budget gets no more: it ends."""
    with opened() as cases:
        before = cases.last_event(run_id)
        cases.refuse_budget(run_id)
        _go_on(cases, run_id, no_drive, engine, as_json, verbose, before)


def _microusd(given: str) -> int:
    try:
        return int(Decimal(given) * 1_000_000)
    except (ArithmeticError, ValueError) as error:
        raise typer.BadParameter(f"--cost {given!r}: give US dollars as 0.50.") from error


def _go_on(
    cases: UseCases,
    run_id: str,
    no_drive: bool,
    engine: EngineName | None,
    as_json: bool,
    verbose: bool,
    after: int,
) -> None:
    """Drive a run that somebody's word has set free, unless somebody else does; show it in any case."""
    if not no_drive and cases.needs_a_driver(run_id):
        try:
            return carry_on(cases, run_id, engine and engine.value, as_json=as_json, verbose=verbose, after=after)
        except RunBusy:
            pass  # it counts all the same; whoever drives the run sees it
    finish(cases.outcome(run_id), as_json)
