"""The node that ends a run. Status and reason come from the journal, and the result is built from it."""

from __future__ import annotations

from nodes.ending import end
from nodes.step import Moment, Step, Update


class Finish(Step):
    """If the ledger does not agree that the run has come to an end, the run goes back to `admit`."""

    name = "finish"
    stands_at = frozenset({"finish"})

    def act(self, at: Moment) -> Update:
        lease, facts, where = at.lease, at.facts, at.where
        assert where.status is not None
        assert where.reason is not None
        explanation = "" if self.agent_of(facts) is None else self.judge.expectation(facts.run).explanation
        with self.ledger.settling(lease) as tx:
            if tx.run["desired_action"] == "cancel" and where.status != "cancelled":
                return {"outcome": "reread"}
            ended = end(tx, facts, where.status, where.reason, explanation)
        return {"outcome": "ended", "status": where.status, "reason": where.reason, **ended}
