"""The first door: a run is accepted. Used by the node `admit`, by the command line and by every service."""

from __future__ import annotations

from nodes.agent import Agents
from state.actor import Actor
from state.digest import Json
from state.errors import NotAllowed
from state.run import Lease
from store import audit
from store.ledger import Driver, Ledger
from store.runs import NewRun
from tools.policy import Policy


class Accept:
    """Validates a task, checks that the actor may start this agent, snapshots the agent and opens the run."""

    def __init__(self, ledger: Ledger, agents: Agents, policy: Policy) -> None:
        self._ledger = ledger
        self._agents = agents
        self._policy = policy

    def run(
        self,
        actor: Actor,
        agent_id: str,
        given: Json,
        *,
        run_id: str,
        engine: str,
        driver: Driver | None = None,
        deadline: int | None = None,
        request_key: str | None = None,
    ) -> tuple[str, Lease | None, bool]:
        """Run id, lease (with a driver) and whether the run is new; accepting again opens nothing twice.

        `deadline` is in milliseconds since 1970 UTC. Raises AgentNotFound, InputInvalid, NotAllowed, and Conflict for a
        request key that came with another request. Nothing is written but an audit entry when the start is refused.
        """
        agent = self._agents.get(agent_id)
        rule = self.check_start(actor, agent_id)
        self._check_shown(actor, agent_id, agent.shows(given))
        new = NewRun(
            run_id=run_id,
            input=agent.rules.accept_input(given),
            definition=agent.definition,
            requester=actor,
            engine=engine,
            deadline=deadline,
            request_key=request_key,
            state_version=self._agents.versions.current,
            rule=rule,
        )
        return self._ledger.open_run(new, driver)

    def check_start(self, actor: Actor, agent_id: str) -> str:
        """By which rule the actor may start this agent. Raises NotAllowed, with a line in the audit."""
        ledger = self._ledger
        with ledger.database.read() as connection:
            ruling = self._policy.may(connection, ledger.tenant, actor.subject, "start", agent_id)
        if ruling.allowed:
            return ruling.rule
        self._note_denial(actor, agent_id, ruling.rule)
        if ruling.no == "emergency_stop":
            raise NotAllowed(f"Nothing is started now ({ruling.rule}). `remit stops` says who stopped it, and why.")
        raise NotAllowed(
            f"{actor.subject} may not start {agent_id}. Somebody who may can say:"
            f" remit grants give {actor.subject} start {agent_id}"
        )

    def _check_shown(self, actor: Actor, agent_id: str, run_id: str | None) -> None:
        """What a task shows of another run is for its requester and for who may see that run. Raises NotAllowed."""
        if run_id is None:
            return
        ledger = self._ledger
        run = ledger.run(run_id)
        if run.requester == actor.subject:
            return
        with ledger.database.read() as connection:
            ruling = self._policy.may(connection, ledger.tenant, actor.subject, "see", run.agent_id)
        if not ruling.allowed:
            self._note_denial(actor, agent_id, ruling.rule)
            raise NotAllowed(f"{actor.subject} may not see run {run_id}, which {agent_id} would show ({ruling.rule}).")

    def _note_denial(self, actor: Actor, agent_id: str, rule: str) -> None:
        ledger = self._ledger
        with ledger.database.write() as connection:
            now, name = ledger.clock.now(), f"agent:{agent_id}"
            audit.append(connection, ledger.tenant, now, actor, "run.start", name, "denied", rule=rule)
