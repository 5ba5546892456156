"""The node that asks the decider, once per turn, and records turn, usage and charge in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

from nodes.agent import Agent, Agents
from nodes.asking import Asking, Said, plain
from nodes.deciders.decider import Outcome, View
from nodes.driver import Driving
from nodes.judge import MAX_KEPT_RUNS, Judge
from nodes.standing import STOPPED, worst_of
from nodes.step import Moment, Step, Update
from state.budget import Usage
from state.digest import Json
from state.errors import GuardRefused
from state.operation import Operation, Proposal
from state.run import Lease
from store import operations, turns
from store.ledger import Facts
from store.turns import TurnRecord
from tools.policy import Policy


@dataclass(slots=True)
class _Seen:
    """What the decider has been shown of the turns up to one; they do not change any more."""

    turn: int = 0
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    told: list[str] = field(default_factory=list[str])


class Decide(Step):
    """A recorded turn is adopted; a model call that was recorded is never paid for twice."""

    name = "decide"
    stands_at = frozenset({"decide"})

    def __init__(self, driving: Driving, agents: Agents, judge: Judge, policy: Policy) -> None:
        super().__init__(driving, agents, judge)
        self._policy = policy
        self._asking = Asking(driving)
        self._seen: dict[str, _Seen] = {}

    def act(self, at: Moment) -> Update:
        lease, facts = at.lease, at.facts
        agent = self.agents.get(facts.run.agent_id)
        begun = self.ledger.clock.monotonic()
        said = self._said(agent, at)
        if said is None:
            return {"outcome": "reread"}
        took = self.ledger.clock.monotonic() - begun
        lost = worst_of(agent.decider.worst_case(), facts.run.takeovers) if agent.decider is not None else {}
        charge = {name: amount + lost.get(name, 0) for name, amount in said.usage.model_dump().items()}
        try:
            return self._record(lease, facts, said.source, said.proposal, charge, took)
        except GuardRefused:  # a wish came first: the word is dropped, what it cost is not
            self._asking.charge(lease, Usage(**charge))
            raise

    def _said(self, agent: Agent, at: Moment) -> Said | None:
        """From the decider; from the input, where the agent has none; None where there is nothing to record."""
        stopped = self._stopped(at.facts)
        if stopped is not None:
            return Said("remit", {"kind": STOPPED, "rule": stopped}, Usage())
        if agent.decider is not None:
            return self._asking.word(at.lease, agent.decider, self._view(agent, at.facts), at.token)
        effect = self.judge.expectation(at.facts.run).effect
        return Said("input", plain(Proposal(kind="actions", actions=[] if effect is None else [effect])), Usage())

    def _stopped(self, facts: Facts) -> str | None:
        """The stop by which this agent does nothing more, or None. Nobody is asked, and nothing paid, behind one."""
        run = facts.run
        with self.ledger.database.read() as connection:
            ruling = self._policy.may(connection, self.ledger.tenant, run.requester, "start", run.agent_id)
        return ruling.rule if ruling.no == "emergency_stop" else None

    def _record(
        self, lease: Lease, facts: Facts, source: str, proposal: Json, charge: dict[str, int], took: int
    ) -> Update:
        with self.ledger.acting(lease) as tx:
            if not turns.record_turn(tx, source, proposal, took, charge):
                return {"outcome": "reread"}
            turn = tx.run["turn"]
            kind = str(proposal.get("kind"))[:40]
            tools = [str(each.get("tool"))[:80] for each in _actions(proposal)]
            tx.event("turn.decided", {"turn": turn, "source": source, "kind": kind, "tools": tools})
        update: Update = {"turn": turn, "operation_ids": []}
        if source == "remit":
            return {"outcome": "gave_up", **update}
        recorded = replace(facts, turn=TurnRecord(turn, source, proposal, None, False), operations=[])
        way = self.judge.way_on(self.judge.judge(recorded))
        # What holds goes straight to the node that judges it again; what does not is written down by `validate`.
        return {"outcome": "decided" if way == "refused" else way, **update}

    def _view(self, agent: Agent, facts: Facts) -> View:
        run = facts.run
        seen = self._extended(run.run_id, run.turn)
        return View(
            run_id=run.run_id,
            turn=run.turn + 1,
            task=self.ledger.task_input(run),
            instructions=agent.definition.instructions,
            tools={name: tool.schema() for name, tool in self.agents.tools(run.agent_id).items()},
            expectation=self.judge.expectation(run),
            outcomes=list(seen.outcomes),
            told=list(seen.told),
        )

    def _extended(self, run_id: str, turn: int) -> _Seen:
        """What was shown before, and the turns since; a turn is settled before the next one is asked for."""
        if len(self._seen) >= MAX_KEPT_RUNS and run_id not in self._seen:
            self._seen.clear()
        seen = self._seen.setdefault(run_id, _Seen())
        if seen.turn == turn:
            return seen
        with self.ledger.database.read() as connection:
            recorded = turns.turns_from(connection, self.ledger.tenant, run_id, seen.turn + 1)
            done = operations.with_results(connection, self.ledger.tenant, run_id, seen.turn + 1)
        for each in recorded:
            if each.refusal is not None:
                seen.told.append(each.refusal)
            for operation, result in done:
                if operation.turn == each.turn:
                    _show(seen, operation, result)
        seen.turn = turn
        return seen


def _show(seen: _Seen, operation: Operation, result: Json | None) -> None:
    seen.outcomes.append(
        Outcome(operation.turn, operation.tool, operation.arguments, operation.status, operation.detail, result)
    )
    if operation.status not in {"committed", "superseded"}:
        why = f" ({operation.detail})" if operation.detail else ""
        seen.told.append(f"{operation.tool}: {operation.status}{why}")


def _actions(proposal: Json) -> list[Json]:
    actions = proposal.get("actions")
    if not isinstance(actions, list):
        return []
    return [cast(Json, each) for each in cast(list[Any], actions)[:16] if isinstance(each, dict)]
