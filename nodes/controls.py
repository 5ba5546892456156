"""What people may wish of a run: cancel, pause, resume, take over. The answer says what is true when it is given."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from nodes.agent import Agents
from nodes.due import look
from nodes.ending import end, take_over
from nodes.refusals import noted
from state.actor import Actor
from state.errors import Conflict, NotAllowed, RunAlreadyTerminal
from state.run import TERMINAL
from store import audit
from store.ledger import Ledger
from store.transaction import RunTransaction
from tools.policy import Policy


class Controls:
    """Wishes compete with the claim of an effect on the run's row: whichever commits first is what happens."""

    def __init__(self, ledger: Ledger, agents: Agents, policy: Policy) -> None:
        self._ledger = ledger
        self._agents = agents
        self._policy = policy

    def cancel(self, actor: Actor, run_id: str) -> str:
        """Answers the status: `cancelled` at once if nothing is in flight, else `cancelling`.

        Raises RunNotFound, RunAlreadyTerminal.
        """
        with self._open(actor, run_id, "run.cancel") as tx:
            if tx.run["status"] == "cancelling":
                return "cancelling"
            tx.event("run.cancel_requested")
            if tx.run["inflight"] == 0:
                end(tx, self._ledger.facts_in(tx.connection, run_id), "cancelled", "user")
            elif tx.run["status"] == "queued":
                tx.set(desired_action="cancel")
            else:
                tx.move("cancelling", "user")  # a driver keeps its lease: it looks up what is in flight
            return tx.run["status"]

    def take_over(self, actor: Actor, run_id: str) -> str:
        """Stop all further automation of a run: at once where nobody drives it, else at the next safe point.

        It undoes nothing. From then on only settling, cancelling and the deadline act. Answers the status as it is now.
        Raises RunNotFound, RunAlreadyTerminal, Conflict while the run is being cancelled.
        """
        with self._open(actor, run_id, "run.take_over") as tx:
            if tx.run["status"] == "cancelling" or tx.run["desired_action"] == "cancel":
                raise Conflict(f"Run {run_id} is being cancelled; there is nothing left to take over.")
            if tx.run["desired_action"] == "take_over":
                return tx.run["status"]
            tx.set(desired_action="take_over")
            if tx.run["status"] in {"queued", "waiting", "paused"}:
                if tx.run["inflight"] == 0:
                    take_over(tx, self._ledger.facts_in(tx.connection, run_id))
                    tx.set(wake_at=tx.run["deadline"])
                    tx.move("waiting", "takeover")
                elif tx.run["status"] != "queued":
                    tx.move("queued")  # what is in flight is looked up first
            return tx.run["status"]

    def pause(self, actor: Actor, run_id: str) -> str:
        """Sets the wish, which takes effect at the next safe point. Answers the status as it is now.

        Raises RunNotFound, RunAlreadyTerminal, Conflict while the run is being cancelled.
        """
        with self._open(actor, run_id, "run.pause") as tx:
            if tx.run["status"] == "cancelling":
                raise Conflict(f"Run {run_id} is being cancelled; it cannot pause.")
            if tx.run["desired_action"] == "take_over":
                raise Conflict(f"Somebody took over run {run_id}: nothing of it goes on that could pause.")
            if tx.run["desired_action"] == "none":
                tx.set(desired_action="pause")
                tx.event("run.pause_requested")
            return tx.run["status"]

    def resume(self, actor: Actor, run_id: str) -> str:
        """Withdraws a wish to pause, and queues a paused run. Answers the status as it is now.

        Checks again what a run needs: its agent's version, and the requester's permission. Raises RunNotFound,
        RunAlreadyTerminal, NotAllowed, and Conflict with the reason while a check fails; the run then stays paused.
        """
        with self._open(actor, run_id, "run.resume") as tx:
            if tx.run["desired_action"] != "pause":
                return tx.run["status"]
            self._check(tx)
            tx.set(desired_action="none")
            tx.event("run.resumed", {"wish": "withdrawn"})
            if tx.run["status"] == "paused":
                tx.move("queued")
            return tx.run["status"]

    def _check(self, tx: RunTransaction) -> None:
        run = tx.run
        lacks = self._agents.lacks(self._ledger.facts_in(tx.connection, tx.run_id), self._ledger.definition)
        if lacks is not None:
            raise Conflict(f"Run {tx.run_id} needs {lacks['needs']}, which this program does not have: {lacks['why']}.")
        ruling = self._policy.may(tx.connection, tx.tenant, run["requester"], "start", run["agent_id"])
        if not ruling.allowed:
            raise Conflict(f"Run {tx.run_id} stays as it is: its requester may not act any more ({ruling.rule}).")

    @contextmanager
    def _open(self, actor: Actor, run_id: str, action: str) -> Generator[RunTransaction]:
        """One wish in one transaction, with its line in the audit, also when it is refused; refused after the end."""
        look(self._ledger, run_id)
        with noted(self._ledger, actor, action, f"run:{run_id}"), self._ledger.control(run_id, actor) as tx:
            if tx.run["status"] in TERMINAL:
                raise RunAlreadyTerminal(f"Run {run_id} has ended ({tx.run['status']}); nothing changes an end.")
            rule = self._may(tx, actor)
            yield tx
            audit.append(tx.connection, tx.tenant, tx.now, actor, action, f"run:{run_id}", tx.run["status"], rule=rule)

    def _may(self, tx: RunTransaction, actor: Actor) -> str:
        """By which rule. Raises NotAllowed."""
        own, agent_id = actor.subject == tx.run["requester"], tx.run["agent_id"]
        ruling = self._policy.may(tx.connection, tx.tenant, actor.subject, "control", agent_id, own=own)
        if not ruling.allowed:
            raise NotAllowed(f"{actor.subject} may not control run {tx.run_id} ({ruling.rule}).")
        return ruling.rule
