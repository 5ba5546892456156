"""What configuration adds: tools, and who is told what.

A configured tool stands in the place of a built-in one: an agent that names a tool gets the configured one of that
name. The agent's definition then names that tool with its own version, so a run keeps the tool that it was admitted
with and is parked where the configuration has changed (docs/decisions/0008-a-configured-tool-takes-a-place.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodes.agent import Agent
from state.clock import Clock
from state.digest import Json
from state.errors import InputInvalid
from store.business import BusinessStore
from tools.contract import Tool, WriteTool

if TYPE_CHECKING:
    from tools.notify_config import Notifications


def configured_tools(
    file: Path | None, business: BusinessStore, environment: Mapping[str, str], clock: Clock
) -> list[WriteTool]:
    """The tools of a file; none without one. Raises InputInvalid, which names file, tool and field."""
    if file is None:
        return []
    from tools.http_action import http_actions
    from tools.secrets import Secrets

    return list(http_actions(file, business, Secrets(environment), clock))


def configured_notifications(file: Path | None, environment: Mapping[str, str]) -> Notifications | None:
    """Who is told what; None without a file. Raises InputInvalid, which names file, target and field."""
    if file is None:
        return None
    from tools.notify_config import read_notifications

    return read_notifications(file, environment)


def in_place(built_in: Iterable[Tool], configured: Sequence[WriteTool], file: Path | None) -> list[Tool]:
    """All tools, without the built-in ones whose place is taken, and without those that take back what these did.

    Raises InputInvalid unless whoever takes a place takes the same arguments.
    """
    taken = {tool.name: tool for tool in configured}
    kept: list[Tool] = []
    for tool in built_in:
        other = taken.get(tool.name)
        if other is not None:
            _check_place(tool, other, f"{file}: tool {tool.name}")
        elif not (isinstance(tool, WriteTool) and tool.compensates in taken):
            kept.append(tool)
    return [*kept, *configured]


def _check_place(tool: Tool, other: WriteTool, where: str) -> None:
    if not isinstance(tool, WriteTool):
        raise InputInvalid(f"{where}: name: it takes the place of {tool.id}, which only reads; rename it.")
    wanted, given = _arguments(tool), _arguments(other)
    wrong = sorted(name for name in wanted.keys() | given.keys() if wanted.get(name) != given.get(name))
    if wrong:
        name = wrong[0]
        raise InputInvalid(
            f"{where}: arguments: it takes the place of {tool.id}, so they have to be the same. They differ in"
            f" {', '.join(wrong)}: for {name} write {wanted.get(name, 'nothing')} instead of"
            f" {given.get(name, 'nothing')}. Or rename the tool."
        )


def _arguments(tool: Tool) -> dict[str, Json]:
    """What each argument may be, without the words about it."""
    schema = tool.schema()
    required: list[str] = schema.get("required", [])
    properties: dict[str, Json] = schema.get("properties", {})
    return {name: _rules(each) | {"required": name in required} for name, each in properties.items()}


def _rules(declared: Json) -> dict[str, Any]:
    return {name: value for name, value in declared.items() if name not in {"title", "description"}}


def with_configured(agents: Iterable[Agent], configured: Sequence[WriteTool]) -> list[Agent]:
    """The agents, with the configured tools named in their definitions where they name one of that name."""
    ids = {tool.name: tool.id for tool in configured}
    return [_renamed(agent, ids) for agent in agents]


def _renamed(agent: Agent, ids: Mapping[str, str]) -> Agent:
    tools = tuple(ids.get(each.partition("@")[0], each) for each in agent.definition.tools)
    if tools == agent.definition.tools:
        return agent
    return replace(agent, definition=agent.definition.model_copy(update={"tools": tools}))
