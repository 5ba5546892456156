"""What an actor may see of runs, by the policy of this moment: all of one, only that it is there, or nothing."""

from __future__ import annotations

from graphs.wiring import Parts
from nodes.concerned import Concerned
from state.actor import Actor
from state.approval import Approval
from state.digest import Json
from state.errors import NotAllowed
from state.run import Run
from store import audit
from store.ledger import REMIT, Ledger
from tools.policy import Action, Ruling


class Sight:
    """Answers for one actor. Seeing is judged each time: a revocation holds from the next look on."""

    def __init__(self, parts: Parts, actor: Actor) -> None:
        self._parts = parts
        self._ledger = parts.ledger
        self._subject = actor.subject

    def ruling(self, action: Action, run: Run) -> Ruling:
        """`see`: all of it; `watch`: id, status and times; `control`: to pause, stop and drive it."""
        own = run.requester == self._subject
        with self._ledger.database.read() as connection:
            tenant, agent_id = self._ledger.tenant, run.agent_id
            return self._parts.policy.may(connection, tenant, self._subject, action, agent_id, own=own)

    def may(self, action: Action) -> bool:
        """About everything there is of it: all runs, all tools, the tenant."""
        with self._ledger.database.read() as connection:
            return self._parts.policy.may(connection, self._ledger.tenant, self._subject, action, "*").allowed

    def must(self, action: Action, what: str) -> None:
        """Raises NotAllowed."""
        if not self.may(action):
            raise NotAllowed(f"{self._subject} may not {what}: it takes the permission {action}, for all (*).")

    def knows_people(self) -> bool:
        """May the actor know what others may do? Who may read the audit, and the user of the data directory."""
        return self.may("audit") or user_of_the_data(self._ledger) == self._subject

    def sees(self, run: Run) -> bool:
        return self.ruling("see", run).allowed

    def must_see(self, run: Run) -> None:
        """Raises NotAllowed."""
        self._must("see", run)

    def must_watch(self, run: Run) -> None:
        """Raises NotAllowed."""
        self._must("watch", run)

    def _must(self, action: Action, run: Run) -> None:
        ruling = self.ruling(action, run)
        if not ruling.allowed:
            raise NotAllowed(f"{self._subject} may not see run {run.run_id} ({ruling.rule}).")

    def decides(self, approval: Approval, run: Run) -> bool:
        """May the actor answer this question? Where its amount cannot be told, it is judged without one."""
        concerned = Concerned(self._parts.agents, self._parts.policy)
        with self._ledger.database.read() as connection:
            return concerned.ruling(connection, self._ledger.tenant, self._subject, approval, run).allowed


def user_of_the_data(ledger: Ledger) -> str | None:
    """The subject of the first grant that Remit itself gave: the very first entries of the audit."""
    with ledger.database.read() as connection:
        first = audit.entries(connection, ledger.tenant, 0, 1)
    if not first or (first[0]["actor"], first[0]["via"]) != (REMIT.subject, REMIT.via):
        return None
    return str(first[0]["object"]).removeprefix("subject:")


def withheld(view: Json) -> Json:
    """A run's view for somebody who may know that it is there, but not what it is about."""
    nothing: Json = {
        "input": None,
        "input_digest": None,
        "effect": "withheld",
        "effects": {"committed": [], "unknown": [], "failed": []},
        "result": None,
        "failure": None,
        "pending": {"approvals": [], "inputs": [], "unknown_operations": [], "migration": None},
        "operations": [],
        "withheld": True,
    }
    kept = {"resume", "pause", "take-over", "cancel"}
    return {**view, **nothing, "actions": [each for each in view["actions"] if each["action"] in kept]}
