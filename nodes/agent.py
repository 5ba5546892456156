"""An agent as the nodes use it: its definition, its rules and what proposes for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from nodes.deciders.decider import Decider
from nodes.migrations import StateVersions
from state.agent import AgentDefinition
from state.digest import Json
from state.errors import AgentNotFound, InputInvalid
from store.ledger import Facts
from tools.agent_rules import AgentRules
from tools.contract import Tool
from tools.registry import Registry


@dataclass(frozen=True, slots=True)
class Agent:
    """`task` is the TypedDict of its input, which Studio shows a form for.

    `decider` is None exactly where the definition names none: then the first turn comes from the input. `shows` names
    the run of which a task shows something, or None: only who may see that one may start with this task.
    """

    definition: AgentDefinition
    task: type[Any]
    rules: AgentRules
    decider: Decider | None = None
    shows: Callable[[Json], str | None] = lambda _: None

    def __post_init__(self) -> None:
        if (self.decider is None) != (self.definition.decider is None):
            raise InputInvalid(f"Agent {self.definition.agent_id}: give a decider where the definition names one.")


class Agents:
    """The agents that can be started, and the state `versions` in which their runs are understood.

    Raises InputInvalid for an agent that is wired wrongly.
    """

    def __init__(self, agents: Iterable[Agent], registry: Registry, versions: StateVersions | None = None) -> None:
        self.versions = versions or StateVersions()
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

    def lacks(self, facts: Facts, snapshot: Callable[[str], AgentDefinition]) -> dict[str, str] | None:
        """What a run needs that this program does not have: `needs` names it, `why` says it in words. None: nothing."""
        run = facts.run
        why = self.versions.lacks(facts)
        if why is not None:
            return {"needs": f"state version {run.state_version}", "why": why}
        if self.running(run.agent_id, run.agent_version, snapshot) is not None:
            return None
        agent = self._agents.get(run.agent_id)
        if agent is None:
            return {"needs": run.agent_version, "why": f"this program has no agent {run.agent_id}"}
        differences = _differences(snapshot(run.agent_version), agent.definition)
        return {"needs": run.agent_version, "why": f"here {run.agent_id} differs in {differences}"}

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


def _differences(admitted: AgentDefinition, here: AgentDefinition) -> str:
    """In which fields two definitions differ, in words; of tools, which are gone."""
    names = [name for name in AgentDefinition.model_fields if getattr(admitted, name) != getattr(here, name)]
    gone = [each for each in admitted.tools if each not in here.tools]
    return ", ".join(names) + (f" (without {', '.join(gone)})" if gone else "")
