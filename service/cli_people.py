"""The commands about people and what holds for them: roles, rules, stop, unstop, stops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from service.edge import print_json
from service.options import AsJson, moment_ms, opened
from service.printing import line, rows_or_json
from state.digest import Json

if TYPE_CHECKING:
    from nodes.stopping import Kind

roles = typer.Typer(help="Who has which role.", no_args_is_help=True)
rules = typer.Typer(help="Standing rules: approvals given beforehand, within bounds.", no_args_is_help=True)

What = Annotated[str, typer.Argument(metavar="tool|agent|all", help="What is stopped.")]
Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of the tool or the agent.")]
Why = Annotated[str, typer.Option("--why", help="Kept on the record.")]
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="A user's name.")]
Role = Annotated[
    str, typer.Argument(metavar="ROLE", help="user, lead, builder, operator, approver, auditor, or one of your own.")
]


# --- roles ------------------------------------------------------------------------------------------------------


@roles.command("list")
def list_roles(as_json: AsJson = False) -> None:
    """List who has which role now."""
    from service.grants import Grants

    with opened() as cases:
        found = Grants(cases.parts, cases.actor).members()
    rows_or_json("roles", ("subject", "role", "granted_by", "granted_at"), found, as_json, "Nobody has a role.")


@roles.command("give")
def give(subject: Subject, role: Role, as_json: AsJson = False) -> None:
    """Give a role. It takes effect at the next check."""
    _change_role("join", subject, role, as_json)


@roles.command("take")
def take(subject: Subject, role: Role, as_json: AsJson = False) -> None:
    """Take a role away. It takes effect at the next check, also for what was approved with it."""
    _change_role("leave", subject, role, as_json)


def _change_role(change: str, subject: str, role: str, as_json: bool) -> None:
    from service.grants import Grants

    with opened() as cases:
        grants = Grants(cases.parts, cases.actor)
        changed = grants.join(subject, role) if change == "join" else grants.leave(subject, role)
    if as_json:
        return print_json({"subject": subject, "role": role, "changed": changed})
    done = {"join": ("given", "was there"), "leave": ("taken", "was not there")}[change]
    line(f"{done[0] if changed else done[1]}: {subject} {role}")


# --- standing rules ---------------------------------------------------------------------------------------------


@rules.command("list")
def list_rules(as_json: AsJson = False) -> None:
    """List standing rules, those that ended too."""
    with opened() as cases:
        found = cases.rules()
    columns = ("name", "version", "tool", "bounds", "maker", "until", "ended_at", "why")
    rows_or_json("rules", columns, found, as_json, "There is no standing rule.")


@rules.command("make")
def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Approvals by it are recorded as rule:NAME@VERSION.")],
    tool: Annotated[str, typer.Option("--tool", help="What it approves.")],
    until: Annotated[
        str, typer.Option("--until", help="Until when: 8h, 30d, or 2026-12-31T00:00:00Z; at most a year.")
    ],
    why: Why,
    agent: Annotated[str | None, typer.Option("--agent", help="Only for runs of this agent.")] = None,
    requester: Annotated[str | None, typer.Option("--requester", help="Only for runs of this person.")] = None,
    resource: Annotated[str | None, typer.Option("--resource", help="Only for this one; record:* is a prefix.")] = None,
    at_most: Annotated[int | None, typer.Option("--at-most", min=0, help="Only up to this amount.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="NAME=VALUE", help="Only with this argument; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Approve beforehand, in your own name, whatever stays within these bounds."""
    from nodes.rule_making import NewRule

    given = {"agent": agent, "requester": requester, "resource": resource, "max_amount": at_most}
    bounds: Json = {each: value for each, value in given.items() if value is not None}
    if where:
        bounds["arguments"] = dict(_pair(each) for each in where)
    until_ms = moment_ms("--until", until)
    assert until_ms is not None
    with opened() as cases:
        made = cases.parts.rules.make(cases.actor, NewRule(name, tool, bounds, until_ms, why)).shown()
    if as_json:
        return print_json({"rule": made})
    line(f"made: rule:{name}@{made['version']}, until {made['until']}; remit rules end {name} ends it")


@rules.command("end")
def end(name: Annotated[str, typer.Argument(metavar="NAME", help="The rule's name.")], as_json: AsJson = False) -> None:
    """End a standing rule. What it approved and is not begun yet is asked of people."""
    with opened() as cases:
        cases.parts.rules.end(cases.actor, name)
    if as_json:
        return print_json({"rule": name, "ended": True})
    line(f"ended: {name}")


def _pair(given: str) -> tuple[str, Any]:
    """Text, unless the value is JSON of another kind."""
    name, separator, value = given.partition("=")
    if not separator or not name:
        raise typer.BadParameter(f"--where {given!r}: give NAME=VALUE.")
    try:
        read: Any = json.loads(value)
    except (ValueError, RecursionError):
        return name, value
    return name, read


# --- stops ------------------------------------------------------------------------------------------------------


def stop(what: What, name: Name = None, why: Why = "", as_json: AsJson = False) -> None:
    """Emergency stop: nothing more with a tool, by an agent, or at all; also of what was approved before."""
    kind, named = _stopped(what, name)
    if not why:
        raise typer.BadParameter("Say why: --why TEXT. Whoever meets the stop reads it.")
    with opened() as cases:
        changed = cases.parts.stopping.stop(cases.actor, kind, named, why)
    _said("stopped", "was stopped before", what, named, changed, as_json)


def unstop(what: What, name: Name = None, as_json: AsJson = False) -> None:
    """Lift a stop. Runs that ended by it stay ended."""
    kind, named = _stopped(what, name)
    with opened() as cases:
        changed = cases.parts.stopping.lift(cases.actor, kind, named)
    _said("lifted", "was not stopped", what, named, changed, as_json)


def stops(as_json: AsJson = False) -> None:
    """List what is stopped now, by whom and why."""
    with opened() as cases:
        found = cases.parts.stopping.in_force()
    rows_or_json("stops", ("kind", "name", "why", "made_by", "made_at"), found, as_json, "Nothing is stopped.")


def _stopped(what: str, name: str | None) -> tuple[Kind, str]:
    if what == "all" and name is None:
        return "tenant", "*"
    if what in {"tool", "agent"} and name is not None:
        return cast("Kind", what), name
    raise typer.BadParameter("Say what: tool NAME, agent NAME, or all.")


def _said(done: str, not_done: str, what: str, name: str, changed: bool, as_json: bool) -> None:
    if as_json:
        return print_json({"what": what, "name": name, "changed": changed})
    line(f"{done if changed else not_done}: {what}" + ("" if what == "all" else f" {name}"))
