"""The commands about approvals: approvals, approve, reject, edit. An answer is recorded, then the run is driven on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nodes.shapes import Answer
from service.cli_runs import carry_on, finish
from service.edge import print_json
from service.options import AsJson, OtherEngine, Verbose, opened
from service.printing import json_object
from state.digest import Json
from state.errors import InputInvalid, RunBusy

if TYPE_CHECKING:
    from service.use_cases import UseCases

ApprovalId = Annotated[str, typer.Argument(metavar="APPROVAL", help="The approval's id.")]
ApprovalIds = Annotated[
    list[str] | None, typer.Argument(metavar="[APPROVAL]...", help="The ids of approvals of one run.")
]
AllOfRun = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Everything that this run asks now.")]
Comment = Annotated[str, typer.Option("--comment", help="Kept with the answer.")]
Digest = Annotated[
    str | None, typer.Option("--digest", help="The digest that you saw: refused if the question is about another.")
]
NoDrive = Annotated[bool, typer.Option("--no-drive", help="Only record the answer; `remit resume` drives.")]


def approvals(as_json: AsJson = False) -> None:
    """List the questions that are open."""
    with opened() as cases:
        asked = cases.approvals()
    if as_json:
        return print_json({"approvals": asked})
    from service.terminal import Screen

    screen = Screen()
    if not asked:
        screen.line("No approval is pending.")
    for each in asked:
        screen.approval(each)
        for command in each["commands"].values():
            screen.line(f"  {command}")


def approve(
    approval_ids: ApprovalIds = None,
    run: AllOfRun = None,
    comment: Comment = "",
    digest: Digest = None,
    no_drive: NoDrive = False,
    engine: OtherEngine = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Approve exactly what was shown, one or several of a run, and drive the run on."""
    with opened() as cases:
        asked = _several(cases, approval_ids, run, digest)
        answers = [Answer(each, "approve", digest, comment) for each in asked]
        _record(cases, answers, no_drive, engine and engine.value, as_json, verbose)


def reject(
    approval_ids: ApprovalIds = None,
    run: AllOfRun = None,
    comment: Comment = "",
    digest: Digest = None,
    no_drive: NoDrive = False,
    engine: OtherEngine = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Say no to one or several questions of a run, and drive the run on."""
    with opened() as cases:
        asked = _several(cases, approval_ids, run, digest)
        answers = [Answer(each, "reject", digest, comment) for each in asked]
        _record(cases, answers, no_drive, engine and engine.value, as_json, verbose)


def withdraw(approval_id: ApprovalId, as_json: AsJson = False) -> None:
    """Take your own answer back, as long as nothing has begun; the question is open again."""
    with opened() as cases:
        run_id = cases.approval(approval_id).run_id
        cases.withdraw(approval_id)
        finish(cases.outcome(run_id), as_json)


def _several(cases: UseCases, approval_ids: list[str] | None, run_id: str | None, digest: str | None) -> list[str]:
    """The approvals that are answered, all of one run: those named, or with --run all that it asks now."""
    if (run_id is None) == (not approval_ids):
        raise typer.BadParameter("Name the approvals, or --run RUN for all that a run asks now.")
    if run_id is not None:
        asked = [str(each["id"]) for each in cases.approvals() if each["run_id"] == run_id]
        if not asked:
            raise InputInvalid(f"Run {run_id} asks nothing now.")
    else:
        asked = list(dict.fromkeys(approval_ids or []))
    if len({cases.approval(each).run_id for each in asked}) > 1:
        raise typer.BadParameter("These approvals are of several runs: answer run by run.")
    if digest is not None and len(asked) > 1:
        raise typer.BadParameter("--digest is of one question; leave it out, or answer one by one.")
    return asked


def edit(
    approval_id: ApprovalId,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change one argument; may be repeated.")
    ] = None,
    arguments: Annotated[
        str | None, typer.Option("--arguments", metavar="JSON", help="All arguments anew, as one JSON object.")
    ] = None,
    comment: Comment = "",
    digest: Digest = None,
    no_drive: NoDrive = False,
    engine: OtherEngine = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Change what would be done. The changed action is checked, and asked again under its new digest."""
    if not changes and arguments is None:
        raise typer.BadParameter("Say what to change: --set NAME=VALUE or --arguments JSON.")
    with opened() as cases:
        shown = cases.approval(approval_id).arguments
        edited = _with_changes(shown if arguments is None else json_object("--arguments", arguments), changes or [])
        answer = Answer(approval_id, "edit", digest, comment, arguments=edited)
        _record(cases, [answer], no_drive, engine and engine.value, as_json, verbose)


def _with_changes(arguments: Json, changes: list[str]) -> Json:
    """Text stays text; where the argument is something else, the new value is read as JSON."""
    edited = dict(arguments)
    for change in changes:
        name, separator, value = change.partition("=")
        if not separator or not name:
            raise typer.BadParameter(f"--set {change!r}: give NAME=VALUE.")
        edited[name] = value if isinstance(edited.get(name, ""), str) else _value(change, value)
    return edited


def _value(change: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"--set {change!r}: this argument is no text; give its value as JSON.") from error


def _record(
    cases: UseCases, answers: list[Answer], no_drive: bool, engine: str | None, as_json: bool, verbose: bool
) -> None:
    run_id = cases.approval(answers[0].approval_id).run_id
    before = cases.last_event(run_id)
    for answer in answers:
        cases.decide(answer)
    if not no_drive:
        try:
            return carry_on(cases, run_id, engine, as_json=as_json, verbose=verbose, after=before)
        except RunBusy:
            pass  # the answer counts; whoever drives the run sees it
    finish(cases.outcome(run_id), as_json)
