"""The nodes of a run, put together once for every engine."""

from __future__ import annotations

from graphs.wiring import Parts
from nodes.admit import Admit
from nodes.authorize import Authorize
from nodes.decide import Decide
from nodes.driver import Driving
from nodes.execute_tool import ExecuteTool
from nodes.finish import Finish
from nodes.pause import Approve, Suspend, Wait
from nodes.step import Node
from nodes.validate import Validate
from nodes.verify import Verify
from tools.gateway import Gateway


def steps(
    parts: Parts, driving: Driving, agent_id: str | None, suspend: Suspend, suspended: type[Exception]
) -> dict[str, Node]:
    """Nodes by name. `agent_id` is the agent whose runs may be opened here; None only goes on with known runs."""
    agents, judge = parts.agents, parts.judge
    gateway = Gateway(parts.ledger, parts.policy, driving.driver.is_dead)
    nodes: list[Node] = [
        Admit(driving, agents, judge, parts.accept, parts.identity, agent_id),
        Decide(driving, agents, judge, parts.policy),
        Validate(driving, agents, judge),
        Authorize(driving, agents, judge, parts.policy),
        Approve(driving, agents, judge, suspend, suspended),
        Wait(driving, agents, judge, suspend, suspended),
        ExecuteTool(driving, agents, judge, gateway, parts.policy),
        Verify(driving, agents, judge),
        Finish(driving, agents, judge),
    ]
    return {node.name: node for node in nodes}
