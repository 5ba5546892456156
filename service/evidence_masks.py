"""What an evidence document does not show: fields that a tool's or an agent's schema marks as sensitive.

A masked line says so in `masked` (JSON pointers). Where this program does not know the schema any more, everything that
it would describe is masked: nobody can tell what in it is sensitive.
"""

from __future__ import annotations

from typing import Any, cast

from pydantic import TypeAdapter

from nodes.agent import Agents
from state.digest import Json
from tools.sensitive import MASK, Masked, masked, without

Lines = dict[str, list[Json]]

# Where people, targets and deciders put things into words of their own.
_WORDS = {
    "run": ("result", "failure"),
    "turns": ("proposal", "refusal"),
    "operations": ("detail",),
    "approvals": ("preview",),
    "decisions": ("comment",),
    "tries": ("detail",),
    "audit": ("detail",),
}


def mask(lines: Lines, agents: Agents) -> None:
    """Mask in place. The timeline is left alone: its payloads are public, and its hashes are of what they are."""
    texts = _task(lines, agents) | _operations(lines, agents) | _proposals(lines, agents) | _bounds(lines, agents)
    ruled = [(line, line["detail"]["rule"]) for line in _ruled(lines)]
    for section, names in _WORDS.items():
        for line in lines[section]:
            line.update({name: without(line[name], texts) for name in names})
    for line, rule in ruled:  # as it is in standing_rules, so that the two can be compared
        line["detail"] = {**line["detail"], "rule": rule}
    for rule in _rules(lines):
        rule["why"] = without(rule["why"], texts)
        if "arguments" in rule["bounds"]:
            rule["bounds"]["arguments"] = without(rule["bounds"]["arguments"], texts)


def _task(lines: Lines, agents: Agents) -> set[str]:
    texts = set[str]()
    for line in lines["task"]:
        agent = agents.find(line["agent_id"])
        schema = None if agent is None else TypeAdapter(agent.task).json_schema()
        texts |= _masked(line, "input", masked(schema, line["input"]))
    return texts


def _masked(line: Json, name: str, found: Masked) -> set[str]:
    line[name] = found.value
    line["masked"] = [f"/{name}{pointer}" for pointer in found.pointers]
    return found.texts


def _operations(lines: Lines, agents: Agents) -> set[str]:
    """An approval shows the arguments of its operation, and is masked like it."""
    texts, schemas = set[str](), dict[str, Json | None]()
    for line in lines["operations"]:
        schema = _schema(agents, line["agent_id"], line["tool"], line["tool_version"])
        schemas[line["operation_id"]] = schema
        texts |= _masked(line, "arguments", masked(schema, line["arguments"]))
    for line in lines["approvals"]:
        texts |= _masked(line, "arguments", masked(schemas.get(line["operation_id"]), line["arguments"]))
    return texts


def _rules(lines: Lines) -> list[Json]:
    """The standing rules, and what the audit knew of each when it decided."""
    return lines["standing_rules"] + [line["detail"]["rule"] for line in _ruled(lines)]


def _ruled(lines: Lines) -> list[Json]:
    return [line for line in lines["audit"] if line["action"] == "approval.decide" and "rule" in line["detail"]]


def _bounds(lines: Lines, agents: Agents) -> set[str]:
    """Arguments that a rule is bound to are masked like those of an operation."""
    agent_id, texts = lines["run"][0]["agent_id"] if lines["run"] else "", set[str]()
    for rule in _rules(lines):
        if "arguments" in rule["bounds"]:
            found = masked(_schema(agents, agent_id, rule["tool"]), rule["bounds"]["arguments"])
            rule["bounds"]["arguments"] = found.value
            texts |= found.texts
    return texts


def _schema(agents: Agents, agent_id: str, name: str, version: str | None = None) -> Json | None:
    tool = agents.tools(agent_id).get(name)
    return None if tool is None or version not in (None, tool.version) else tool.schema()


def _asked(proposal: Any) -> list[Json]:
    """The actions of a proposal, which may be anything."""
    actions: Any = cast(Json, proposal).get("actions") if isinstance(proposal, dict) else None
    return [each for each in cast(list[Any], actions) if isinstance(each, dict)] if isinstance(actions, list) else []


def _proposals(lines: Lines, agents: Agents) -> set[str]:
    """A proposal is whatever a decider said; what it asks of a tool that nobody knows is not shown."""
    agent_id, texts = lines["run"][0]["agent_id"] if lines["run"] else "", set[str]()
    for line in lines["turns"]:
        for asked in _asked(line["proposal"]):
            if "arguments" in asked:
                found = masked(_schema(agents, agent_id, str(asked.get("tool"))), asked["arguments"])
                asked["arguments"] = found.value if found.pointers else asked["arguments"]
                texts |= found.texts if found.value != MASK else set()
    return texts
