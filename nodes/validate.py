"""The node that writes down why a recorded proposal is refused, and sends on one that holds."""

from __future__ import annotations

from nodes.planning import Refusal
from nodes.step import Moment, Step, Update
from state.run import Lease
from store import turns
from store.ledger import Facts


class Validate(Step):
    """Registry, strict schema, reserved names, preconditions, acceptance worked out from the sources, duplicates."""

    name = "validate"
    stands_at = frozenset({"validate"})

    def act(self, at: Moment) -> Update:
        judged = self.judge.judge(at.facts)
        if isinstance(judged, Refusal):
            return self._refuse(at.lease, at.facts, judged)
        return {"outcome": self.judge.way_on(judged)}

    def _refuse(self, lease: Lease, facts: Facts, refusal: Refusal) -> Update:
        assert facts.turn is not None
        agent = self.agents.get(facts.run.agent_id)
        with self.ledger.acting(lease) as tx:
            if turns.refuse_turn(tx, facts.turn.turn, refusal.why, refusal.denied):
                if refusal.denied:
                    tx.event("policy.denied", {"turn": facts.turn.turn, "why": refusal.why})
                tx.event("proposal.refused", {"turn": facts.turn.turn, "why": refusal.why})
            spent = tx.run["repairs"] > agent.definition.max_repairs
            spent = spent or (refusal.denied and agent.definition.on_denial != "tell")
        return {"outcome": "given_up" if spent else "refused"}
