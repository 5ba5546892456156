"""The node that turns checked actions into operations and puts the questions to people: one transaction.

It judges the recorded proposal again instead of trusting that `validate` ran, asks the policy for principal, agent and
live resource, and asks again where a question has expired or its resource has changed (same place, next generation).
"""

from __future__ import annotations

from nodes.agent import Agents
from nodes.driver import Driving
from nodes.judge import Judge
from nodes.planner import Planner
from nodes.planning import Checked, Place
from nodes.step import Moment, Step, Update
from state.agent import AgentDefinition
from state.digest import Json
from state.operation import Operation
from store.ledger import Facts
from store.operations import Planned
from tools.policy import Policy


class Authorize(Step):
    """Judges, rules, plans and asks."""

    name = "authorize"
    stands_at = frozenset({"authorize", "validate"})  # of a turn that is not planned yet, it is judged here

    def __init__(self, driving: Driving, agents: Agents, judge: Judge, policy: Policy) -> None:
        super().__init__(driving, agents, judge)
        self._planner = Planner(self.ledger, policy)

    def act(self, at: Moment) -> Update:
        lease, facts = at.lease, at.facts
        agent = self.agents.get(facts.run.agent_id)
        planned = self._again(facts) if facts.operations else self._first(facts)
        if not planned:
            return {"outcome": "reread"}
        with self.ledger.acting(lease) as tx:
            asked = [self._planner.write_down(tx, each, preview, agent.definition) for each, preview in planned]
        outcome = self._outcome([each for each, _ in planned], any(asked), agent.definition)
        shown = {"status": "waiting", "reason": "approval"} if outcome == "ask" else {}
        return {"outcome": outcome, "operation_ids": [each.operation_id for each, _ in planned], **shown}

    def _first(self, facts: Facts) -> list[tuple[Planned, Json]]:
        judged = self.judge.judge(facts)
        if not isinstance(judged, list):
            return []
        assert facts.turn is not None
        return [self._plan(facts, index, 1, each, facts.turn.source) for index, each in enumerate(judged)]

    def _again(self, facts: Facts) -> list[tuple[Planned, Json]]:
        """Successors of what expired or was overtaken by another version of its resource."""
        planned: list[tuple[Planned, Json]] = []
        tools = self.agents.tools(facts.run.agent_id)
        for each in facts.operations:
            if self._to_be_asked_again(each):
                checked = Checked(tools[each.tool], each.arguments)
                source = facts.turn.source if facts.turn is not None else "decider"
                planned.append(self._plan(facts, each.index, each.generation + 1, checked, source))
        return planned

    @staticmethod
    def _to_be_asked_again(operation: Operation) -> bool:
        changed = operation.status == "failed" and operation.error_class in {"resource_changed", "approval_expired"}
        return changed or operation.status in {"expired", "superseded"}

    def _plan(self, facts: Facts, index: int, generation: int, checked: Checked, source: str) -> tuple[Planned, Json]:
        assert facts.turn is not None
        place = Place(facts.run.run_id, facts.turn.turn, index, generation, source)
        cites = cites_of(facts.turn.proposal, index)
        return self._planner.plan(place, checked, cites, facts.run)

    @staticmethod
    def _outcome(planned: list[Planned], asked: bool, definition: AgentDefinition) -> str:
        statuses = {each.status for each in planned}
        if "denied" in statuses and definition.on_denial != "tell":
            return "denied"
        if asked:
            return "ask"
        return "go" if statuses & {"planned", "awaiting_approval"} else "tell"


def cites_of(proposal: Json, index: int) -> list[Json]:
    """The words that a proposal cites for one of its actions, as an approver is shown them."""
    actions: list[Json] = proposal.get("actions") or []
    return (actions[index].get("cites") or []) if index < len(actions) else []
