"""The commands about runs: run, show, events, cancel, pause, resume."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from service.edge import ENDED_OTHERWISE, NOT_ENDED, SUCCEEDED, print_json
from service.options import (
    AsJson,
    Deadline,
    Engine,
    EngineName,
    Limit,
    OtherEngine,
    RunId,
    Verbose,
    moment_ms,
    opened,
)
from state.digest import Json
from state.run import LIVE

if TYPE_CHECKING:
    from service.use_cases import UseCases

FOLLOW_S = 0.2
PATIENCE_S = 120.0  # how long a command stays for a run that looks at its target again by itself

start = typer.Typer(help="Start a run and drive it until it ends or needs somebody.", no_args_is_help=True)


@start.command("catalog-check")
def catalog_check(
    notice: Annotated[str, typer.Option(help="The notice: text, Markdown or HTML.", metavar="FILE")],
    catalog: Annotated[str, typer.Option(help="The catalogue: CSV or JSON.", metavar="FILE")],
    record: Annotated[str, typer.Option(help="The id of the record to compare.", metavar="ID")],
    engine: Engine = EngineName.langgraph,
    deadline: Deadline = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Compare a notice's effective date with a catalogue's; ask for one ticket where they differ."""
    task = {"notice": notice, "catalog": catalog, "record": record}
    _start("catalog-check", task, engine, deadline, as_json, verbose)


@start.command("ticket")
def ticket(
    source: Annotated[str, typer.Option(help="Where the observed value comes from.")],
    field: Annotated[str, typer.Option(help="The record's field that differs.")],
    observed: Annotated[str, typer.Option(help="What the source says.")],
    recorded: Annotated[str, typer.Option(help="What the record says.")],
    record: Annotated[str, typer.Option(help="The id of the record.")] = "",
    engine: Engine = EngineName.langgraph,
    deadline: Deadline = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Create one ticket from these fields, once somebody has approved it."""
    task = {"source": source, "field": field, "observed": observed, "recorded": recorded, "record": record}
    _start("ticket", task, engine, deadline, as_json, verbose)


def _start(agent_id: str, task: Json, engine: EngineName, deadline: str | None, as_json: bool, verbose: bool) -> None:
    ends_at = moment_ms("--deadline", deadline)
    with opened() as cases:
        run_id = cases.start(agent_id, task, engine.value, ends_at)
        carry_on(cases, run_id, engine.value, as_json=as_json, verbose=verbose)


def carry_on(cases: UseCases, run_id: str, engine: str | None, *, as_json: bool, verbose: bool, after: int = 0) -> None:
    """Drive a run, asking the person at the terminal what it asks, until it ends or somebody else is needed."""
    from service.driving import Timeline, drive

    timeline = None
    if (verbose or (sys.stdout.isatty() and not as_json)) and cases.sees(run_id):
        from service.terminal import Screen

        timeline = Timeline(cases, run_id, Screen(aside=as_json).event, after)
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    until = time.monotonic() + PATIENCE_S
    while True:
        drive(cases, run_id, engine, timeline)
        if wait_a_little(cases, run_id, until):
            continue
        run = cases.outcome(run_id)
        if not asks or not _answered(cases, run["pending"]["approvals"]):
            break
    if not asks and not as_json:
        _show_questions(run)
    finish(run, as_json)


def wait_a_little(cases: UseCases, run_id: str, until: float) -> bool:
    """Stay until a run looks at its target again, if that is soon; True if it can be driven on now."""
    from service.driving import leaves_a_run_safe

    again_at = cases.again_at(run_id)
    if again_at is None:
        return False
    wait_s = max(0.0, again_at / 1000 - time.time()) + 0.01
    if time.monotonic() + wait_s > until:
        return False
    with leaves_a_run_safe(run_id):
        time.sleep(wait_s)
    cases.outcome(run_id)  # makes the moves that are due
    return True


def _answered(cases: UseCases, asked: list[Json]) -> bool:
    """Ask at the terminal what is open; True if the run can go on now."""
    if not asked:
        return False
    from service.asking import ask_all
    from service.terminal import Screen

    return ask_all(cases, Screen(), asked)


def _show_questions(run: Json) -> None:
    from service.terminal import Screen

    screen = Screen()
    for asked in run["pending"]["approvals"]:
        screen.approval(asked)


def finish(run: Json, as_json: bool) -> None:
    """Print a run and leave with the exit code that its status calls for."""
    _print_run(run, as_json)
    if run["status"] in LIVE:
        raise typer.Exit(NOT_ENDED)
    raise typer.Exit(SUCCEEDED if run["status"] == "succeeded" else ENDED_OTHERWISE)


def _print_run(run: Json, as_json: bool) -> None:
    if as_json:
        return print_json(run)
    from service.terminal import Screen

    Screen().run(run)


def show(
    run_id: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The run's id; without it, all runs.")] = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """Show a run, or list the recent ones."""
    with opened() as cases:
        if run_id is None:
            return _list(cases.recent(limit), as_json)
        run = cases.run(run_id)
    if not as_json:
        _show_questions(run)
    _print_run(run, as_json)


def _list(runs: list[Json], as_json: bool) -> None:
    if as_json:
        return print_json({"runs": runs})
    from service.terminal import Screen
    from service.wording import status_words

    if not runs:
        return Screen().line("There are no runs yet. Start one: remit run catalog-check --help")
    rows = [
        (each["run_id"], each["agent_id"], status_words(each["status"], each["status_reason"]), each["created_at"])
        for each in runs
    ]
    Screen().table("", ("run", "agent", "status", "accepted"), rows)


def events(
    run_id: RunId,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run has ended.")] = False,
    after: Annotated[int, typer.Option("--after", min=0, help="Only events after this number.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show a run's timeline. With --json and --follow the one object comes when the run has ended."""
    from service.driving import Timeline

    seen: list[Json] = []
    show_event = seen.append
    if not as_json:
        from service.terminal import Screen

        show_event = Screen().event
    with opened() as cases:
        timeline = Timeline(cases, run_id, show_event, after)
        try:
            while follow and cases.run(run_id)["status"] in LIVE:
                timeline.catch_up()
                time.sleep(FOLLOW_S)
        except KeyboardInterrupt:
            pass  # how a person stops following
        timeline.catch_up()
    if as_json:
        print_json({"run_id": run_id, "events": seen})


def cancel(run_id: RunId, as_json: AsJson = False) -> None:
    """Cancel a run. At once if nothing is in flight, else when what is in flight has been looked up."""
    with opened() as cases:
        after = cases.last_event(run_id)
        cases.control("cancel", run_id)
        if cases.needs_a_driver(run_id):
            return carry_on(cases, run_id, None, as_json=as_json, verbose=False, after=after)
        finish(cases.outcome(run_id), as_json)


def pause(run_id: RunId, as_json: AsJson = False) -> None:
    """Ask a run to pause at its next safe point."""
    with opened() as cases:
        cases.control("pause", run_id)
        finish(cases.outcome(run_id), as_json)


def resume(run_id: RunId, engine: OtherEngine = None, as_json: AsJson = False, verbose: Verbose = False) -> None:
    """Go on with a run: paused, queued, waiting, or one whose driver died."""
    with opened() as cases:
        after = cases.last_event(run_id)
        cases.control("resume", run_id)
        carry_on(cases, run_id, engine and engine.value, as_json=as_json, verbose=verbose, after=after)
