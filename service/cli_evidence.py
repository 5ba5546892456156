"""The commands evidence and audit: what auditors take away, and what they look up here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from service.edge import print_json
from service.options import AsJson, Limit, RunId, moment_ms, opened
from service.printing import line, rows_or_json
from state.errors import InputInvalid

MOST_BYTES = 512 * 1024 * 1024


class _RunFirst(TyperGroup):
    """`evidence RUN` is short for `evidence export RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        first = next((each for each in args if not each.startswith("-")), None)
        if first is not None and first not in self.commands:
            args = ["export", *args]
        return super().parse_args(ctx, args)


evidence = typer.Typer(
    help="Evidence about a run, for an auditor: `evidence RUN` writes it, `evidence verify FILE` checks it.",
    no_args_is_help=True,
    cls=_RunFirst,
)


@evidence.command("export")
def export(
    run_id: RunId,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it there, not to the terminal.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write one JSON document with everything that is known of a run's effects, chained and signed; it is audited."""
    from graphs.wiring import environment
    from service.evidence import Evidence
    from service.signing import signer

    with opened() as cases:
        document = Evidence(cases.parts, cases.actor, signer(cases.parts.settings, environment())).of(run_id)
    if out is None:
        return print_json(document)
    out.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
    lines = sum(len(each) for each in document["sections"].values())
    said = {"file": str(out), "lines": lines, "head": document["head"], "key": document["signature"]["key"]}
    if as_json:
        return print_json(said)
    line(f"{out}: {lines} lines, head {said['head']}, signed with {said['key']}")


@evidence.command("verify")
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `remit evidence RUN --out FILE` wrote.")],
    key: Annotated[
        str | None,
        typer.Option("--key", help="The public key that must have signed it; `remit evidence key` prints it."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Check a document without any database: chains, digests, approvals, claims, read-backs, signature. 0 or 1."""
    from service import evidence_check, evidence_signature

    document = _document(file)
    checked = evidence_check.Check(document)
    try:
        problems = checked.problems + evidence_signature.wrong(document, key)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problems = [*checked.problems, f"signature: a field is missing or of another kind: {error!r}"]
    if as_json:
        print_json({"effects": checked.effects, "problems": problems, "key": key})
    else:
        _say(checked.effects, problems, document, key)
    return 1 if problems else 0


@evidence.command("key")
def public_key(as_json: AsJson = False) -> None:
    """Print the public key of this installation, to be given to auditors apart from the documents."""
    from graphs.wiring import environment, settings_from_environment
    from service.signing import signer

    key = signer(settings_from_environment(), environment()).key
    if as_json:
        return print_json({"key": key})
    line(key)


def _document(file: Path) -> dict[str, Any]:
    from service.evidence_check import once

    try:
        if file.stat().st_size > MOST_BYTES:
            raise InputInvalid(f"{file} is larger than {MOST_BYTES} bytes: check it with service/evidence_check.py.")
        found = json.loads(file.read_text("utf-8"), object_pairs_hook=once)
    except (OSError, ValueError, RecursionError) as error:
        raise InputInvalid(f"{file} cannot be read as evidence: {error}.") from None
    if not isinstance(found, dict) or not isinstance(cast(dict[str, Any], found).get("sections"), dict):
        raise InputInvalid(f"{file} is no evidence document: give what `remit evidence RUN --out FILE` wrote.")
    return cast(dict[str, Any], found)


def _say(effects: list[str], problems: list[str], document: dict[str, Any], key: str | None) -> None:
    for each in [*effects, *problems]:
        line(each)
    by = document.get("signature")
    signed = cast(dict[str, Any], by).get("key") if isinstance(by, dict) else "nothing"
    compared = "" if key else ", which nobody vouches for: give the installation's key with --key"
    line(f"{len(effects)} effects, {len(problems)} problems; signed with {signed}{compared}")


def audit(
    actor: Annotated[str | None, typer.Option("--actor", help="Only what this subject did.")] = None,
    action: Annotated[
        str | None, typer.Option("--action", help="Only this action: grant.give, or grant for all of its kind.")
    ] = None,
    object_: Annotated[
        str | None, typer.Option("--object", help="Only about this: run:ID, or run for all of its kind.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only from then on: 7d (ago), or 2026-01-31T12:00:00Z.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Only before that.")] = None,
    after: Annotated[int, typer.Option("--after", min=0, help="Only entries after this number.")] = 0,
    limit: Limit = 100,
    as_json: AsJson = False,
) -> None:
    """Show the audit: who did what, on which object, with what result, by which rule; the oldest first."""
    from service.auditing import Auditing
    from store.audit_search import Wanted

    times = [moment_ms(option, given, ago=True) for option, given in (("--since", since), ("--until", until))]
    wanted = Wanted(actor, action, object_, *times)
    with opened() as cases:
        found = Auditing(cases.parts, cases.actor).entries(wanted, after=after, limit=limit)
    columns = ("entry", "at", "actor", "via", "action", "object", "result", "rule", "detail")
    rows_or_json("entries", columns, found, as_json, "There are no such entries.")
