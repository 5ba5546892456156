"""The node that asks the decider, once per turn, and records turn, usage and charge in one transaction."""

from __future__ import annotations

from typing import Any, cast

from pydantic import BaseModel

from nodes.agent import Agent
from nodes.deciders.decider import Outcome, View
from nodes.planning import read_proposal
from nodes.standing import standing
from nodes.step import State, Step, Update
from state.budget import Usage
from state.digest import Json, canonical
from state.operation import Proposal
from state.run import Lease
from store import operations, turns
from store.ledger import Facts
from tools.contract import CancelToken

MAX_PROPOSAL_BYTES = 256 * 1024


class Decide(Step):
    """A recorded turn is adopted; a model call that was recorded is never paid for twice."""

    name = "decide"

    def act(self, state: State, lease: Lease, token: CancelToken) -> Update:
        facts = self.ledger.facts(lease.run_id)
        agent = self.agent_of(facts)
        expected = self.expectation(facts) if agent is not None else None
        where = standing(facts, agent, self.ledger.clock.now(), lambda: cast(Any, expected))
        if where.step != "decide" or agent is None or expected is None:
            return {"outcome": "reread" if where.step in {"ended", "decide"} else where.step}
        begun = self.ledger.clock.monotonic()
        if agent.decider is None:
            actions = [expected.effect] if expected.effect is not None else []
            source, proposal, usage = "input", _plain(Proposal(kind="actions", actions=actions)), Usage()
        else:
            source, proposal, usage = self._ask(agent, facts, token)
        took = self.ledger.clock.monotonic() - begun
        return self._record(lease, source, proposal, usage, took)

    def _ask(self, agent: Agent, facts: Facts, token: CancelToken) -> tuple[str, Json, Usage]:
        """What the decider said, as JSON; an exception of its own is its answer too."""
        assert agent.decider is not None
        try:
            said = agent.decider.propose(self._view(agent, facts), token)
        except Exception as error:  # a decider is foreign code: whatever it raises is recorded as its failure
            failure = {"kind": "failed", "error": f"{type(error).__name__}: {error}"[:1000]}
            return "remit", failure, Usage(model_calls=agent.decider.worst_case().model_calls)
        recorded = _plain(said)
        proposal = read_proposal(recorded)
        usage = proposal.usage if isinstance(proposal, Proposal) else agent.decider.worst_case()
        return "decider", recorded, usage

    def _record(self, lease: Lease, source: str, proposal: Json, usage: Usage, took: int) -> Update:
        with self.ledger.acting(lease) as tx:
            turns.record_turn(tx, source, proposal, took, usage.model_dump())
            turn = tx.run["turn"]
            kind = str(proposal.get("kind"))[:40]
            tools = [str(each.get("tool"))[:80] for each in _actions(proposal)]
            tx.event("turn.decided", {"turn": turn, "source": source, "kind": kind, "tools": tools})
        return {"outcome": "decided" if source != "remit" else "gave_up", "turn": turn, "operation_ids": []}

    def _view(self, agent: Agent, facts: Facts) -> View:
        run = facts.run
        with self.ledger.database.read() as connection:
            done = operations.of_run(connection, self.ledger.tenant, run.run_id)
            results = operations.results_from(connection, self.ledger.tenant, run.run_id, 1)
            recorded = turns.turns_from(connection, self.ledger.tenant, run.run_id, 1)
        outcomes = [
            Outcome(each.turn, each.tool, each.arguments, each.status, each.detail, results.get(each.operation_id))
            for each in done
        ]
        told = [turn.refusal for turn in recorded if turn.refusal is not None]
        told += [
            f"{each.tool}: {each.status}" + (f" ({each.detail})" if each.detail else "")
            for each in outcomes
            if each.status not in {"committed", "superseded"}
        ]
        return View(
            run_id=run.run_id,
            turn=run.turn + 1,
            task=self.ledger.task_input(run),
            instructions=agent.definition.instructions,
            tools={name: tool.schema() for name, tool in self.agents.tools(run.agent_id).items()},
            expectation=self.expectation(facts),
            outcomes=outcomes,
            told=told,
        )


def _plain(said: Any) -> Json:
    """What a decider returned as a JSON object of bounded size; anything else becomes a note of what it was."""
    value = said.model_dump(mode="json") if isinstance(said, BaseModel) else said
    if isinstance(value, dict):
        value = cast(Json, value)
        try:
            if len(canonical(value)) <= MAX_PROPOSAL_BYTES:
                return value
        except (ValueError, TypeError, RecursionError):
            pass
    return {"kind": "unreadable", "type": type(said).__name__[:80]}


def _actions(proposal: Json) -> list[Json]:
    actions = proposal.get("actions")
    if not isinstance(actions, list):
        return []
    return [cast(Json, each) for each in cast(list[Any], actions)[:16] if isinstance(each, dict)]
