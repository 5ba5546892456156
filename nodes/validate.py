"""The node that checks a recorded proposal: a pure judgement, written down only where it refuses."""

from __future__ import annotations

from nodes.planning import Checked, Refusal, check, read_proposal
from nodes.standing import confirmed
from nodes.step import State, Step, Update
from state.acceptance import Expectation
from state.operation import Proposal
from state.run import Lease
from store import turns
from store.ledger import Facts
from tools.contract import CancelToken


class Validate(Step):
    """Registry, strict schema, reserved names, preconditions, acceptance worked out from the sources, duplicates."""

    name = "validate"

    def act(self, state: State, lease: Lease, token: CancelToken) -> Update:
        del state, token
        facts = self.ledger.facts(lease.run_id)
        if facts.turn is None or facts.turn.refusal is not None or facts.operations:
            return {"outcome": "reread"}
        judged = self.judge(facts, self.expectation(facts))
        if isinstance(judged, Refusal):
            return self._refuse(lease, facts, judged)
        if judged is None:
            return {"outcome": "word"}
        return {"outcome": "reads" if all(each.tool.effect == "read" for each in judged) else "effects"}

    def judge(self, facts: Facts, expected: Expectation) -> list[Checked] | Refusal | None:
        """The checked actions, why they are refused, or None for a word (`final`, `continue`) that holds."""
        assert facts.turn is not None
        proposal = read_proposal(facts.turn.proposal)
        if isinstance(proposal, Refusal):
            return proposal
        if proposal.kind == "actions":
            return self._actions(facts, proposal, expected)
        if proposal.actions:
            return Refusal(f"A proposal of kind {proposal.kind!r} cannot ask for actions too.")
        if proposal.kind == "final" and confirmed(proposal.claim, expected) is None:
            return Refusal(f"The word {proposal.claim!r} does not hold: {expected.explanation}")
        return None

    def _actions(self, facts: Facts, proposal: Proposal, expected: Expectation) -> list[Checked] | Refusal:
        tools = self.agents.tools(facts.run.agent_id)
        known = {each.tool: self.agents.registered(each.tool) for each in proposal.actions}
        return check(proposal, tools, known, expected, self.ledger.sources(facts.run.run_id))

    def _refuse(self, lease: Lease, facts: Facts, refusal: Refusal) -> Update:
        assert facts.turn is not None
        agent = self.agents.get(facts.run.agent_id)
        with self.ledger.acting(lease) as tx:
            if turns.refuse_turn(tx, facts.turn.turn, refusal.why, refusal.denied):
                if refusal.denied:
                    tx.event("policy.denied", {"turn": facts.turn.turn, "why": refusal.why})
                tx.event("proposal.refused", {"turn": facts.turn.turn, "why": refusal.why})
            spent = tx.run["repairs"] > agent.definition.max_repairs
            spent = spent or (refusal.denied and agent.definition.on_denial == "end")
        return {"outcome": "given_up" if spent else "refused"}
