"""The node that turns checked actions into operations and puts the questions to people: one transaction.

It judges the recorded proposal again instead of trusting that `validate` ran, asks the policy for principal, agent and
live resource, and asks again where a question has expired or its resource has changed (same place, next generation).
"""

from __future__ import annotations

from nodes.agent import Agents
from nodes.driver import Driving
from nodes.judge import Judge
from nodes.planning import Checked, Place, authorized_plan
from nodes.step import Moment, Step, Update
from state.agent import AgentDefinition
from state.digest import Json
from state.operation import Operation
from store import approvals, operations
from store.ledger import Facts
from store.operations import Planned
from store.transaction import RunTransaction
from tools.policy import Policy


class Authorize(Step):
    """Judges, rules, plans and asks."""

    name = "authorize"
    stands_at = frozenset({"authorize", "validate"})  # of a turn that is not planned yet, it is judged here

    def __init__(self, driving: Driving, agents: Agents, judge: Judge, policy: Policy) -> None:
        super().__init__(driving, agents, judge)
        self._policy = policy

    def act(self, at: Moment) -> Update:
        lease, facts = at.lease, at.facts
        agent = self.agents.get(facts.run.agent_id)
        planned = self._again(facts) if facts.operations else self._first(facts)
        if not planned:
            return {"outcome": "reread"}
        with self.ledger.acting(lease) as tx:
            for each, preview in planned:
                write_down(tx, each, preview, agent.definition)
        outcome = self._outcome([each for each, _ in planned], agent.definition)
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
        return authorized_plan(place, checked, cites, facts.run.requester, self._policy)

    @staticmethod
    def _outcome(planned: list[Planned], definition: AgentDefinition) -> str:
        statuses = {each.status for each in planned}
        if "denied" in statuses and definition.on_denial != "tell":
            return "denied"
        if "awaiting_approval" in statuses:
            return "ask"
        return "go" if "planned" in statuses else "tell"


def cites_of(proposal: Json, index: int) -> list[Json]:
    """The words that a proposal cites for one of its actions, as an approver is shown them."""
    actions: list[Json] = proposal.get("actions") or []
    return (actions[index].get("cites") or []) if index < len(actions) else []


def write_down(tx: RunTransaction, planned: Planned, preview: Json, definition: AgentDefinition) -> str | None:
    """One operation with its question, if it needs one; the approval's id. Writing it twice changes nothing."""
    if not operations.insert(tx, planned):
        return None
    named = {"operation_id": planned.operation_id, "tool": planned.tool, "digest": planned.digest}
    tx.event("operation.planned", {**named, "turn": planned.turn, "generation": planned.generation})
    if planned.status == "denied":
        tx.event("policy.denied", {**named, "rule": planned.policy_rule})
        return None
    if planned.status == "failed":
        tx.event("tool.call.failed", {**named, "error_class": planned.error_class, "detail": planned.detail})
        tx.add(repairs=1)
    if planned.status != "awaiting_approval":
        return None
    expires_at = tx.now + definition.approval_ttl_s * 1000
    approval_id = approvals.request(tx, planned, preview, expires_at)
    tx.event("approval.requested", {**named, "approval_id": approval_id})
    return approval_id
