"""An agent as the nodes use it: its definition, its rules and what proposes for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from nodes.deciders.decider import Decider
from state.agent import AgentDefinition
from state.errors import AgentNotFound, InputInvalid
from tools.agent_rules import AgentRules
from tools.contract import Tool
from tools.registry import Registry


@dataclass(frozen=True, slots=True)
class Agent:
    """`task` is the TypedDict of its input, which Studio shows a form for.

    `decider` is None exactly where the definition names none: then the first turn comes from the input.
    """

    definition: AgentDefinition
    task: type[Any]
    rules: AgentRules
    decider: Decider | None = None

    def __post_init__(self) -> None:
        if (self.decider is None) != (self.definition.decider is None):
            raise InputInvalid(f"Agent {self.definition.agent_id}: give a decider where the definition names one.")


class Agents:
    """The agents that can be started. Raises InputInvalid for one that is wired wrongly."""

    def __init__(self, agents: Iterable[Agent], registry: Registry) -> None:
        self._agents: dict[str, Agent] = {}
        self._tools: dict[str, dict[str, Tool]] = {}
        self._registry = registry
        for agent in agents:
            agent_id = agent.definition.agent_id
            if agent_id in self._agents:
                raise InputInvalid(f"The agent {agent_id} is given twice.")
            self._agents[agent_id] = agent
            self._tools[agent_id] = registry.of(agent.definition.tools)

    @property
    def ids(self) -> tuple[str, ...]:
        """Of every agent that this program has."""
        return tuple(self._agents)

    def find(self, agent_id: str) -> Agent | None:
        """The agent, or None."""
        return self._agents.get(agent_id)

    def get(self, agent_id: str) -> Agent:
        """Raises AgentNotFound."""
        if agent_id not in self._agents:
            raise AgentNotFound(f"There is no agent {agent_id!r}; there are {', '.join(sorted(self._agents))}.")
        return self._agents[agent_id]

    def running(self, agent_id: str, version_id: str, snapshot: Callable[[str], AgentDefinition]) -> Agent | None:
        """The agent a run was admitted with, or None if this program no longer has that version (P11).

        A definition that only lacks fields which came later, and which have their defaults here, is the same one.
        """
        agent = self._agents.get(agent_id)
        if agent is None or agent.definition.version_id == version_id:
            return agent
        return agent if snapshot(version_id) == agent.definition else None

    def tools(self, agent_id: str) -> dict[str, Tool]:
        """The agent's tools by plain name; none for an agent that this program does not have."""
        return self._tools.get(agent_id, {})

    def compensates(self, name: str) -> bool:
        """Is there a tool that takes back what this tool does?"""
        return name in self._registry.compensating()

    def writes(self, name: str) -> bool:
        """Is there a tool of this name that has an effect?"""
        tool = self.tool_named(name)
        return tool is not None and tool.effect == "write"

    def tool_named(self, name: str) -> Tool | None:
        """A tool of this name in any version, or None."""
        return next((tool for tool in self._registry.all() if tool.name == name), None)

    def tool_names(self) -> list[str]:
        """The plain names of all tools."""
        return sorted({tool.name for tool in self._registry.all()})

    def registered(self, name: str) -> bool:
        """Is there a tool of this name at all, whoever may use it?"""
        return self._registry.known(name)
