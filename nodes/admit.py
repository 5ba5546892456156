"""The node where every invocation begins: which run is this, and where does it stand?

An unknown thread opens a run through the door. A known one resets every channel and goes on where the journal says; a
new input on it is ignored, whatever it holds: a live run goes on (the same question is asked again), an ended one
returns its recorded end.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from nodes.accept import Accept
from nodes.agent import Agents
from nodes.driver import Driving
from nodes.identity import Identity
from nodes.judge import Judge
from nodes.migrations import bring_up
from nodes.standing import Standing, at_its_end
from nodes.step import Node, State, Update, belongs, thread_of
from state.errors import (
    Conflict,
    InputInvalid,
    LeaseLost,
    MigrationFailed,
    NotAllowed,
    NotFound,
    RunAlreadyTerminal,
    RunNotFound,
)
from state.operation import Operation
from state.run import Lease
from store.ledger import Facts

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


MAX_REREADS = 20
MAX_SEEN = 1000


class Admit(Node):
    """Knows which agent's graph it stands in, and through which door a run is opened."""

    name = "admit"

    def __init__(
        self,
        driving: Driving,
        agents: Agents,
        judge: Judge,
        accept: Accept,
        identity: Identity,
        agent_id: str | None,
    ) -> None:
        super().__init__(driving, agents, judge)
        self._accept = accept
        self._identity = identity
        self._agent_id = agent_id
        self._seen: dict[str, tuple[int, int]] = {}

    def run(self, state: State, config: RunnableConfig) -> Update:
        thread = thread_of(config)
        try:
            known = self.ledger.run(thread)
        except RunNotFound:
            return self._open(thread, state)
        if known.ended:
            return self._ended(thread)
        held = state.get("lease")
        if held and (held.get("fence"), held.get("nonce")) != (known.fence, known.nonce):
            raise LeaseLost(f"Another driver took over run {thread}; this one must not write.")
        try:
            lease = self._lease(state, thread)
        except RunAlreadyTerminal:
            return self._ended(thread)
        facts = self._brought_up(lease)
        where = self.where(facts)
        if where.step == "ended":
            return self._ended(thread)
        if where.reason == "reconciliation":  # whoever comes back tries the lookup again
            where = Standing("execute_tool")
        self._must_get_on(lease, facts.run.seq)
        return self._goes_on(state, lease, where, facts.run.turn, facts.operations)

    def _brought_up(self, lease: Lease) -> Facts:
        """The facts of a run, after the steps from its state version to ours; a run that is to end ends as it is."""
        facts = self.ledger.facts(lease.run_id)
        versions = self.agents.versions
        if facts.run.state_version not in versions.steps or at_its_end(facts, self.ledger.clock.now()):
            return facts
        with suppress(MigrationFailed):  # it waits, and says why
            bring_up(self.ledger, versions, lease)
        return self.ledger.facts(lease.run_id)

    def _open(self, thread: str, state: State) -> Update:
        if not belongs(state, thread):
            raise NotAllowed(
                f"This state belongs to thread {state.get('session_id')}, not to {thread}: a copy never acts."
            )
        if self._agent_id is None:
            raise RunNotFound(thread)
        try:
            _, lease, _ = self._accept.run(
                self._identity.actor(),
                self._agent_id,
                {name: value for name, value in state.items() if value is not None},
                run_id=thread,
                engine=self.driving.driver.engine,
                driver=self.driving.driver,
            )
        except (InputInvalid, NotFound, Conflict, NotAllowed) as error:
            denied = isinstance(error, NotAllowed)
            return {
                "step": self.name,
                "outcome": "refused",
                "status": "denied" if denied else "failed",
                "reason": "policy" if denied else "input_invalid",
                "effect": "none",
                "summary": str(error),
            }
        held = self.driving.claimed(lease) if lease is not None else self.driving.claim(thread)
        return self._goes_on(state, held, Standing("decide"), 0, [])

    def _must_get_on(self, lease: Lease, seq: int) -> None:
        """A run that comes back here again and again without a new fact would do so for ever: that is a bug."""
        before, times = self._seen.get(lease.nonce, (-1, 0))
        times = times + 1 if before == seq else 0
        if len(self._seen) > MAX_SEEN:
            self._seen.clear()
        self._seen[lease.nonce] = (seq, times)
        if times > MAX_REREADS:
            raise RuntimeError(f"Run {lease.run_id} does not get on: its steps disagree with its journal.")

    def _goes_on(self, state: State, lease: Lease, where: Standing, turn: int, operations: list[Operation]) -> Update:
        """Every channel as it should be; only those that are not are written, since a write costs."""
        channels = {
            "state_version": self.agents.versions.current,
            "session_id": lease.run_id,
            "run_id": lease.run_id,
            "turn": turn,
            "operation_ids": [each.operation_id for each in operations],
            "status": (where.status if where.step in {"approve", "wait"} else None) or "running",
            "reason": where.reason if where.step in {"approve", "wait"} else None,
            "effect": "none",
            "summary": "",
            "lease": {"fence": lease.fence, "nonce": lease.nonce},
        }
        changed = {name: value for name, value in channels.items() if state.get(name) != value}
        return {"step": self.name, "outcome": where.step, **changed}

    def _ended(self, run_id: str) -> Update:
        run = self.ledger.run(run_id)
        return {
            "step": self.name,
            "outcome": "ended",
            "run_id": run_id,
            "session_id": run_id,
            **self.mirror(run_id),
            "summary": (run.result or {}).get("summary", ""),
        }
