"""The agent `catalog-check`: a notice's effective date against a catalogue's record; a ticket where they differ."""

from __future__ import annotations

from typing import Any, Required

from typing_extensions import TypedDict

from graphs.wiring import Settings
from nodes.agent import Agent
from nodes.deciders.decider import Decider
from nodes.deciders.rules import RuleDecider
from state.agent import AgentDefinition
from tools.catalog_rules import CatalogRules

AGENT_ID = "catalog-check"


class Task(TypedDict):
    """What Studio shows a form for: two files and the id of the record to compare."""

    notice: Required[str]
    catalog: Required[str]
    record: Required[str]


DEFINITION = AgentDefinition(
    agent_id=AGENT_ID,
    version="1",
    instructions=(
        "Read the notice and the record. Where the effective dates differ, ask for one ticket. Never guess a date."
    ),
    decider="rules",
    tools=("read_notice@1", "read_record@1", "create_ticket@1"),
)


def agent(settings: Settings, decider: Decider | None = None, definition: AgentDefinition = DEFINITION) -> Agent:
    """The agent; another decider may propose, and is held to the same rules."""
    return Agent(definition, Task, CatalogRules(settings.materials_root), decider or RuleDecider())


async def graph() -> Any:
    """The graph as a server loads it: from the environment, without a checkpointer of its own."""
    from graphs.serving import served

    return await served(AGENT_ID)
