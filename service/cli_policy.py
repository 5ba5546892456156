"""The commands about the policy: check, show, explain, simulate."""

from __future__ import annotations

from typing import Annotated

import typer

from service.edge import ENDED_OTHERWISE, print_json
from service.options import AsJson, Limit, opened
from service.printing import json_object, line, table
from state.digest import Json

policy = typer.Typer(help="The policy: check it, ask why, try another.", no_args_is_help=True)

Named = Annotated[
    str | None,
    typer.Option("--policy", metavar="SET|FILES", help="local, service, files, with commas; else the one in force."),
]


@policy.command("check")
def check(named: Named = None, as_json: AsJson = False) -> None:
    """Check policy files against the schema, with file and line; list their rules."""
    from service.policies import Policies

    with opened() as cases:
        found = Policies(cases.parts, cases.actor).rules(named)
    if as_json:
        return print_json(found)
    table(("id", "effect", "where"), found["rules"])
    line(f"{len(found['rules'])} rules hold: version {found['version']}")


@policy.command("show")
def show(named: Named = None, schema: Annotated[bool, typer.Option("--schema", help="The schema.")] = False) -> None:
    """Print policy files, to read or to copy."""
    from tools.cedar import SCHEMA, load

    if schema:
        return line(SCHEMA.read_text())
    with opened() as cases:
        loaded = load(named or cases.parts.settings.policy)
    line("\n\n".join(f"// {rule.where}\n{rule.text}" for rule in loaded.rules.values()))


@policy.command("explain")
def explain(
    run_id: Annotated[str | None, typer.Argument(metavar="[RUN]", help="Every question that this run has put.")] = None,
    subject: Annotated[str | None, typer.Option("--as", metavar="ACTOR", help="Who would ask.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="By which agent.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="With which tool.")] = None,
    arguments: Annotated[str, typer.Option("--args", metavar="JSON", help="With which arguments.")] = "{}",
    as_json: AsJson = False,
) -> None:
    """Say which rule decides and why: for a run, or for what somebody might ask for."""
    from service.policies import Policies

    if run_id is None and None in (subject, agent, tool):
        raise typer.BadParameter("Give a RUN, or --as ACTOR --agent AGENT --tool TOOL --args JSON.")
    with opened() as cases:
        policies = Policies(cases.parts, cases.actor)
        if run_id is not None:
            found = policies.explain_run(run_id)
        else:
            found = policies.explain_use(str(subject), str(agent), str(tool), json_object("--args", arguments))
    if as_json:
        return print_json({"rulings": found})
    for each in found:
        said = f" (then: {each['then']})" if each.get("then") else ""
        line(f"{each['what']}: {_words(each)}{said}")


@policy.command("simulate")
def simulate(
    named: Annotated[str, typer.Option("--policy", metavar="SET|FILES", help="The policy to try.")],
    limit: Limit = 100,
    fail: Annotated[bool, typer.Option("--fail-if-different", help="Exit with 4 if anything would differ.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put the questions of the recorded runs to another policy, and show where it would decide otherwise."""
    from service.policies import Policies

    with opened() as cases:
        found = Policies(cases.parts, cases.actor).simulate(named, limit)
    if as_json:
        print_json(found)
    else:
        for each in found["differ"]:
            line(f"{each['run_id']}: {each['what']}: {_words(each['now'])} -> {_words(each['then'])}")
        line(f"{found['asked']} questions of {found['runs']} runs; {len(found['differ'])} would be answered otherwise.")
    if fail and found["differ"]:
        raise typer.Exit(ENDED_OTHERWISE)


def _words(ruling: Json) -> str:
    asks = ", ".join(f"{name} {value}" for name, value in ruling["asks"].items() if name != "quorum" or value > 1)
    return f"{ruling['decision']} by {ruling['rule']}" + (f", asks {asks}" if asks else "")
