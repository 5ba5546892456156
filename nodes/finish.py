"""The node that ends a run. Status and reason come from the journal, and the result is built from it."""

from __future__ import annotations

from nodes.ending import end
from nodes.step import State, Step, Update
from state.run import Lease
from tools.contract import CancelToken


class Finish(Step):
    """If the ledger does not agree that the run has come to an end, the run goes back to `admit`."""

    name = "finish"

    def act(self, state: State, lease: Lease, token: CancelToken) -> Update:
        del state, token
        facts = self.ledger.facts(lease.run_id)
        where = self.where(facts)
        if where.step != "finish" or where.status is None or where.reason is None:
            return {"outcome": "reread"}
        explanation = "" if self.agent_of(facts) is None else self.judge.expectation(facts.run).explanation
        with self.ledger.settling(lease) as tx:
            if tx.run["desired_action"] == "cancel" and where.status != "cancelled":
                return {"outcome": "reread"}
            ended = end(tx, facts, where.status, where.reason, explanation)
        return {"outcome": "ended", "status": where.status, "reason": where.reason, **ended}
