"""What all nodes have in common: one step of a run, done under its lease.

A node is entered with whatever a checkpoint held, so nothing in the state is believed but who we are: the thread, and
the lease of this very invocation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nodes.agent import Agent, Agents
from nodes.driver import Driving
from nodes.judge import Judge
from nodes.standing import Standing, at_its_end, standing
from state.errors import GuardRefused, NotAllowed, RunAlreadyTerminal
from state.run import Lease, effect_of
from store import operations
from store.ledger import Facts, Ledger
from tools.contract import CancelToken

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

WINDS_UP = frozenset({"approve", "wait", "finish"})  # done also by a process that is going away: they are short

State = Mapping[str, Any]
Update = dict[str, Any]


def thread_of(config: Mapping[str, Any]) -> str:
    """The thread an engine runs us on. Raises NotAllowed without one: such a run could never be resumed."""
    thread = config.get("configurable", {}).get("thread_id")
    if not isinstance(thread, str) or not thread:
        raise NotAllowed(
            'Give the run a thread: config={"configurable": {"thread_id": ...}}; stateless runs are refused.'
        )
    return thread


def belongs(state: State, thread: str) -> bool:
    """Was this state written on this thread? Else it is a copy, or somebody wrote into it: `admit` asks the journal."""
    return state.get("session_id") in (None, thread)


@dataclass(frozen=True, slots=True)
class Moment:
    """What a node works with: its lease, the facts of the run, where they say it stands, and the token to look at."""

    lease: Lease
    facts: Facts
    where: Standing
    token: CancelToken


class Node(ABC):
    """Base of all nodes: what they are made of, and what several of them ask."""

    name: ClassVar[str]

    def __init__(self, driving: Driving, agents: Agents, judge: Judge) -> None:
        self.driving = driving
        self.agents = agents
        self.judge = judge
        self.ledger: Ledger = driving.ledger

    @abstractmethod
    def run(self, state: State, config: RunnableConfig) -> Update:
        """One step. Raises RunBusy, LeaseLost, Drained."""

    def _lease(self, state: State, run_id: str) -> Lease:
        """This invocation's lease, claimed now if there is none. Whether it still holds, each guard decides."""
        held = state.get("lease")
        if held:
            return Lease(run_id, int(held["fence"]), str(held["nonce"]))
        return self.driving.claim(run_id)

    def agent_of(self, facts: Facts) -> Agent | None:
        """The agent of a run as it was admitted; None where this program does not know it, or its state version."""
        if facts.run.state_version != self.agents.versions.current:
            return None
        return self.agents.running(facts.run.agent_id, facts.run.agent_version, self.ledger.definition)

    def where(self, facts: Facts) -> Standing:
        """Where the run stands, by the journal."""
        now = self.ledger.clock.now()
        return standing(facts, self.agent_of(facts), now, lambda: self.judge.expectation(facts.run))

    def mirror(self, run_id: str) -> Update:
        """The display mirror: status, reason and effect as the ledger has them."""
        run = self.ledger.run(run_id)
        with self.ledger.database.read() as connection:
            effects = operations.effects(connection, self.ledger.tenant, run_id)
        return {"status": run.status, "reason": run.reason, "effect": effect_of(effects)}


class Step(Node):
    """A node of a run that is known. It works only where the journal says that its work is next: a route through the
    graph proves nothing. A guard that was refused means "read again", and so the run goes back to `admit`.
    """

    stands_at: ClassVar[frozenset[str]]  # where a run has to stand for this node to do anything

    def run(self, state: State, config: RunnableConfig) -> Update:
        thread = thread_of(config)
        again = {"step": self.name, "outcome": "reread"}
        if not belongs(state, thread):
            return again
        try:
            lease = self._lease(state, thread)
        except RunAlreadyTerminal:
            return again
        held = {} if state.get("lease") else {"lease": {"fence": lease.fence, "nonce": lease.nonce}}
        facts = self.ledger.facts(thread)
        where = self.where(facts)
        if not self.fits(where):
            return {**again, **held}
        try:
            ending = at_its_end(facts, self.ledger.clock.now())
            with self.driving.inside(lease, at_its_end=ending, begins=self.name not in WINDS_UP) as token:
                return {"step": self.name, **held, **self.act(Moment(lease, facts, where, token))}
        except GuardRefused:
            return {**again, **held}

    def fits(self, where: Standing) -> bool:
        """Is this node's work what the journal says is next?"""
        return where.step in self.stands_at

    @abstractmethod
    def act(self, at: Moment) -> Update:
        """The node's own work; answers `outcome` and what the display mirror should show."""
