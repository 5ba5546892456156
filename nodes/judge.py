"""The judgement of a recorded proposal by trusted code: the same facts give the same answer, whoever asks.

`validate` asks it to record refusals; `decide` asks it for the shortest way on; `authorize` and `execute_tool` ask it
again instead of trusting that anybody did. What a run has read is kept between questions and only added to.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nodes.agent import Agents
from nodes.planning import Checked, Refusal, check, read_proposal
from nodes.standing import confirmed
from state.acceptance import Expectation
from state.operation import Proposal
from state.run import Run
from store.ledger import Facts, Ledger
from store.operations import Source

MAX_KEPT_RUNS = 256

Judged = list[Checked] | Refusal | None


@dataclass(slots=True)
class _Known:
    """What a run had read when it had made so many tool calls; a read is recorded together with its charge."""

    tool_calls: int
    turn: int
    sources: list[Source] = field(default_factory=list[Source])
    expectation: Expectation | None = None


class Judge:
    """Judges proposals of all agents; one per process."""

    def __init__(self, ledger: Ledger, agents: Agents) -> None:
        self._ledger = ledger
        self._agents = agents
        self._known: dict[str, _Known] = {}

    def expectation(self, run: Run) -> Expectation:
        """Acceptance, worked out from what the run really read."""
        known = self._of(run)
        if known.expectation is None:
            rules = self._agents.get(run.agent_id).rules
            known.expectation = rules.expectation(self._ledger.task_input(run), known.sources)
        return known.expectation

    def judge(self, facts: Facts) -> Judged:
        """The checked actions, why they are refused, or None for a word (`final`, `continue`) that holds."""
        assert facts.turn is not None
        proposal = read_proposal(facts.turn.proposal)
        if isinstance(proposal, Refusal):
            return proposal
        if proposal.kind == "actions":
            return self._actions(facts, proposal)
        if proposal.actions:
            return Refusal(f"A proposal of kind {proposal.kind!r} cannot ask for actions too.")
        expected = self.expectation(facts.run)
        if proposal.kind == "final" and confirmed(proposal.claim, expected) is None:
            return Refusal(f"The word {proposal.claim!r} does not hold: {expected.explanation}")
        return None

    def way_on(self, judged: Judged) -> str:
        """The outcome that a judgement leads to: reads, effects, word or refused."""
        if judged is None:
            return "word"
        if isinstance(judged, Refusal):
            return "refused"
        return "reads" if all(each.tool.effect == "read" for each in judged) else "effects"

    def _actions(self, facts: Facts, proposal: Proposal) -> list[Checked] | Refusal:
        tools = self._agents.tools(facts.run.agent_id)
        registered = {each.tool: self._agents.registered(each.tool) for each in proposal.actions}
        return check(proposal, tools, registered, self.expectation(facts.run), self._of(facts.run).sources)

    def _of(self, run: Run) -> _Known:
        known = self._known.get(run.run_id)
        made = run.used["tool_calls"]
        if known is not None and known.tool_calls == made:
            return known
        first = 1 if known is None else known.turn  # the last turn may have been read in half
        kept = [] if known is None else [each for each in known.sources if each.turn < first]
        sources = kept + self._ledger.sources(run.run_id, first)
        if len(self._known) >= MAX_KEPT_RUNS:
            self._known.clear()
        self._known[run.run_id] = _Known(made, max(run.turn, 1), sources)
        return self._known[run.run_id]
