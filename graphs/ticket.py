"""The agent `ticket`: somebody gives the fields, an approver looks at them, one ticket is created. Nobody decides."""

from __future__ import annotations

from typing import Any, NotRequired, Required

from typing_extensions import TypedDict

from nodes.agent import Agent
from state.agent import AgentDefinition
from tools.catalog_rules import TicketRules

AGENT_ID = "ticket"


class Task(TypedDict):
    """The fields of the ticket."""

    source: Required[str]
    field: Required[str]
    observed: Required[str]
    recorded: Required[str]
    record: NotRequired[str]


DEFINITION = AgentDefinition(
    agent_id=AGENT_ID,
    version="1",
    instructions="Create the ticket whose fields were given.",
    decider=None,
    tools=("create_ticket@1",),
)


def agent() -> Agent:
    return Agent(DEFINITION, Task, TicketRules())


async def graph() -> Any:
    """The graph as a server loads it: from the environment, without a checkpointer of its own."""
    from graphs.serving import served

    return await served(AGENT_ID)
