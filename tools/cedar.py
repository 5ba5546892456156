"""Cedar policies: loaded from files, checked against the schema with file and line, and asked.

What a permit asks for besides its yes is written in annotations: `@approval("required")`, `@approver("lead")`,
`@quorum("2")`, `@escalate_to("lead")` with `@escalate_after("4h")`, `@per_hour("20")`. Where several permits match,
the most that any of them asks for holds; where they ask different roles, nothing is permitted. A rule that cannot be
evaluated is a no: Cedar itself would skip it.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cedarpy

from state.approval import NOTHING_MORE, Needs
from state.digest import sha256
from state.errors import InputInvalid

SHIPPED = Path(__file__).parent / "policies"
SETS: dict[str, tuple[str, ...]] = {"local": ("local.cedar",), "service": ("local.cedar", "service.cedar")}
SCHEMA = SHIPPED / "remit.cedarschema"
ANNOTATIONS = ("id", "approval", "approver", "quorum", "escalate_to", "escalate_after", "per_hour")
MAX_KEPT = 4_096
MAX_QUORUM = 20

_cedar: Any = cedarpy  # it has no types of its own
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,80}$")
_DURATION = re.compile(r"^(\d{1,6})([smhd])$")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|;', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Cedar's answer: by which rules, by their ids, and what they ask for."""

    allowed: bool
    rule: str
    needs: Needs


@dataclass(frozen=True, slots=True)
class Rule:
    """One policy of a file."""

    id: str
    where: str  # file:line
    text: str
    effect: str
    needs: Needs


class Cedar:
    """A set of rules. `version` names it and the digest of its text and schema."""

    def __init__(self, name: str, rules: Sequence[Rule], schema: str) -> None:
        self.rules = {rule.id: rule for rule in rules}
        text = "\n".join(rule.text for rule in rules)
        self.version = f"{name}-{sha256((schema + text).encode())[:12]}"
        self._policies = _cedar.PolicySet.from_str(text)
        self._known: OrderedDict[Any, Verdict] = OrderedDict()

    def judge(
        self,
        subject: str,
        roles: tuple[str, ...],
        action: str,
        resource: tuple[str, str],
        context: Mapping[str, Any],
    ) -> Verdict:
        """`resource` is type and id. The same question has the same answer, so answers are kept."""
        key = (subject, roles, action, resource, json.dumps(context, sort_keys=True))
        known = self._known.get(key)
        if known is None:
            known = self._asked(subject, roles, action, resource, context)
            if len(self._known) >= MAX_KEPT:
                self._known.popitem(last=False)
            self._known[key] = known
        return known

    def _asked(
        self,
        subject: str,
        roles: tuple[str, ...],
        action: str,
        resource: tuple[str, str],
        context: Mapping[str, Any],
    ) -> Verdict:
        user = {"type": "User", "id": subject}
        parents = [{"type": "Role", "id": role} for role in roles]
        entities = [{"uid": user, "attrs": {}, "parents": parents}]
        request = {
            "principal": user,
            "action": {"type": "Action", "id": action},
            "resource": {"type": resource[0], "id": resource[1]},
            "context": dict(context),
        }
        answer = _cedar.is_authorized(request, self._policies, entities)
        named: dict[str, str] = answer.diagnostics.id_annotations_by_reason
        errors: list[str] = answer.diagnostics.errors
        decided = sorted(named.values())
        if errors:
            return Verdict(False, f"a rule failed ({errors[0]})"[:300], NOTHING_MORE)
        if not decided:
            return Verdict(False, "no rule permits", NOTHING_MORE)
        if not answer.allowed:
            return Verdict(False, "+".join(decided), NOTHING_MORE)
        needs = _most([self.rules[each].needs for each in decided])
        if needs is None:
            return Verdict(False, f"the rules {'+'.join(decided)} ask different roles", NOTHING_MORE)
        return Verdict(True, "+".join(decided), needs)


def _most(asked: Sequence[Needs]) -> Needs | None:
    """The most that several permits ask for; None where they ask different roles, which nobody can be at once.

    A second role comes in only where every permit that asks people lets it, and after the longest time of them.
    """
    asking = [each for each in asked if each.approval]
    roles = {each.role for each in asking} - {None}
    second = {each.escalate_to for each in asking}
    if len(roles) > 1:
        return None
    times = [each.escalate_after_s for each in asking if each.escalate_after_s is not None]
    escalates = len(second) == 1 and None not in second
    return Needs(
        approval=bool(asking),
        role=next(iter(roles), None),
        quorum=max(each.quorum for each in asked),
        escalate_to=next(iter(second)) if escalates else None,
        escalate_after_s=max(times) if escalates else None,
        per_hour=min((each.per_hour for each in asked if each.per_hour is not None), default=None),
    )


# --- loading ----------------------------------------------------------------------------------------------------


def load(named: str) -> Cedar:
    """The rules of what is named: `local`, `service`, or files and folders of `*.cedar`, with commas between them.

    Raises InputInvalid with file and line for whatever is wrong.
    """
    parts = [each.strip() for each in named.split(",") if each.strip()]
    if not parts:
        raise InputInvalid("REMIT_POLICY names nothing: give local, service, or files of Cedar policies.")
    files = [file for part in parts for file in _files(part)]
    schema = SCHEMA.read_text()
    rules = [rule for file in dict.fromkeys(files) for rule in _rules(file)]
    problems = [*_twice(rules), *_against_schema(rules, schema)]
    if problems:
        raise InputInvalid("\n".join(problems))
    return Cedar("+".join(Path(part).stem for part in parts), rules, schema)


def _files(part: str) -> list[Path]:
    if part in SETS:
        return [SHIPPED / name for name in SETS[part]]
    path = Path(part)
    if path.is_dir():
        found = sorted(path.glob("*.cedar"))
        if not found:
            raise InputInvalid(f"{path}: there is no *.cedar file in this folder.")
        return found
    if not path.is_file():
        raise InputInvalid(f"{part}: there is no such policy file. Shipped are {' and '.join(SETS)}.")
    return [path]


def _rules(file: Path) -> list[Rule]:
    shown = file.name if file.parent == SHIPPED else str(file)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputInvalid(f"{shown}: it cannot be read: {error}.") from error
    return [_rule(f"{shown}:{line}", statement) for line, statement in _statements(text)]


def _statements(text: str) -> Iterable[tuple[int, str]]:
    """Line and text of each policy: what a semicolon ends that is in no string and no comment."""
    begin = 0
    for token in _TOKEN.finditer(text):
        if token.group() == ";":
            yield _placed(text, begin, token.end())
            begin = token.end()
    line, rest = _placed(text, begin, len(text))
    if rest:
        yield line, rest


def _placed(text: str, begin: int, end: int) -> tuple[int, str]:
    """The statement without what stands before its first word, and the line of that word."""
    piece = text[begin:end]
    skipped = re.match(r"(?:\s+|//[^\n]*(?:\n|$))*", piece)
    offset = skipped.end() if skipped else 0
    return text.count("\n", 0, begin + offset) + 1, piece[offset:]


def _rule(where: str, text: str) -> Rule:
    try:
        parsed: dict[str, Any] = json.loads(_cedar.policies_to_json_str(text))
    except ValueError as error:
        raise InputInvalid(f"{where}: this is no Cedar policy: {error}.") from error
    found = list(parsed["staticPolicies"].values())
    if len(found) != 1 or parsed["templates"]:
        raise InputInvalid(f"{where}: templates with ?principal or ?resource are not used here; write it out.")
    annotations: dict[str, str] = found[0].get("annotations", {})
    unknown = sorted(set(annotations) - set(ANNOTATIONS))
    if unknown:
        raise InputInvalid(f"{where}: there is no annotation @{unknown[0]}; there are {', '.join(ANNOTATIONS)}.")
    name = annotations.get("id") or ""
    if not _NAME.match(name):
        raise InputInvalid(f'{where}: name the rule, so that rulings can: @id("letters-digits-and-dashes").')
    return Rule(name, where, text, found[0]["effect"], _needs(where, found[0]["effect"], annotations))


def _needs(where: str, effect: str, annotations: Mapping[str, str]) -> Needs:
    asked = {name: value for name, value in annotations.items() if name != "id"}
    if asked and effect != "permit":
        raise InputInvalid(f"{where}: @{next(iter(asked))} belongs to a permit; this is a {effect}.")
    approval = asked.get("approval")
    if approval not in {None, "required"}:
        raise InputInvalid(f'{where}: @approval("required") is the only one there is, not {approval!r}.')
    after = asked.get("escalate_after")
    if (after is None) != ("escalate_to" not in asked):
        raise InputInvalid(f'{where}: @escalate_to("ROLE") and @escalate_after("4h") belong together.')
    if after is not None and "approver" not in asked:
        raise InputInvalid(f'{where}: @escalate_to("ROLE") needs @approver("ROLE"), whose question goes on to it.')
    return Needs(
        approval=approval is not None or bool(asked.keys() & {"approver", "quorum", "escalate_to"}),
        role=asked.get("approver"),
        quorum=_whole(where, "quorum", asked.get("quorum", "1"), MAX_QUORUM),
        escalate_to=asked.get("escalate_to"),
        escalate_after_s=None if after is None else _seconds(where, after),
        per_hour=None if "per_hour" not in asked else _whole(where, "per_hour", asked["per_hour"], 10**9),
    )


def _whole(where: str, name: str, given: str, most: int) -> int:
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= most:
        raise InputInvalid(f'{where}: @{name}("{given}"): give a whole number from 1 to {most}.')
    return int(given)


def _seconds(where: str, given: str) -> int:
    found = _DURATION.match(given)
    if found is None:
        raise InputInvalid(f'{where}: @escalate_after("{given}"): give 90s, 30m, 4h or 1d.')
    return int(found.group(1)) * _SECONDS[found.group(2)]


def _twice(rules: Sequence[Rule]) -> list[str]:
    seen: dict[str, Rule] = {}
    problems: list[str] = []
    for rule in rules:
        if rule.id in seen:
            problems.append(f'{rule.where}: @id("{rule.id}") is given to the rule at {seen[rule.id].where} too.')
        seen.setdefault(rule.id, rule)
    return problems


def _against_schema(rules: Sequence[Rule], schema: str) -> list[str]:
    problems: list[str] = []
    for rule in rules:
        result = _cedar.validate_policies(rule.text, schema)
        problems += [f"{rule.where}: rule {rule.id}: {_plain(each.error)}" for each in result.errors]
    return problems


def _plain(error: str) -> str:
    """Cedar's words without its own number for the only policy there is."""
    return error.removeprefix("for policy `policy0`, ")
