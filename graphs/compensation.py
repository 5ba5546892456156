"""The agent `compensation`: takes back one effect that nobody wants any more, once somebody has approved that.

A separate, gated operation of a run of its own. It never runs by itself.
"""

from __future__ import annotations

from typing import Any, Required

from typing_extensions import TypedDict

from nodes.agent import Agent
from state.agent import AgentDefinition
from store.ledger import Ledger
from tools.compensation_rules import CompensationRules, Known
from tools.registry import Registry

AGENT_ID = "compensation"


class Task(TypedDict):
    """The operation whose effect is to be taken back."""

    operation: Required[str]


def agent(ledger: Ledger, registry: Registry) -> Agent:
    """An agent with every registered tool that compensates another one."""
    tools = registry.compensating()
    definition = AgentDefinition(
        agent_id=AGENT_ID,
        version="1",
        instructions="Take back the effect that was named.",
        decider=None,
        tools=tuple(sorted(tool.id for tool in tools.values())),
    )
    known = Known(lambda tool_id: registry.get(tool_id) is not None, ledger.made, ledger.maker)
    rules = CompensationRules(ledger.operation, tools, known)
    return Agent(definition, Task, rules, shows=rules.run_of)


async def graph() -> Any:
    """The graph as a server loads it: from the environment, without a checkpointer of its own."""
    from graphs.serving import served

    return await served(AGENT_ID)
