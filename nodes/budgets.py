"""The door for budgets: somebody who may gives a run more, or says that there is no more.

Never a silent overspend: a grant is a line of the timeline and of the audit, and limits only grow.
"""

from __future__ import annotations

from collections.abc import Mapping

from nodes.due import look
from nodes.refusals import noted
from state.actor import Actor
from state.budget import MEASURES
from state.digest import Json
from state.errors import Conflict, InputInvalid, NotAllowed, RunAlreadyTerminal
from state.run import TERMINAL
from store import audit
from store.ledger import Ledger
from store.transaction import RunTransaction
from tools.policy import Policy

MAX_GRANT = 10**15
MAX_LIMIT = 2**62


class Budgets:
    """Competes with drivers on the run's row; a run that waits for budget is queued by either answer."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        self._ledger = ledger
        self._policy = policy

    def grant(self, actor: Actor, run_id: str, more: Mapping[str, int]) -> Json:
        """Raise limits by these amounts, keyed by measure. Answers the new limits of the measures named.

        Raises RunNotFound, RunAlreadyTerminal, NotAllowed, and InputInvalid for an amount that is none or a measure
        that has no limit.
        """
        limits: dict[str, int] = {}
        look(self._ledger, run_id)
        refusals = noted(self._ledger, actor, "budget.grant", f"run:{run_id}")
        with refusals, self._ledger.control(run_id, actor) as tx:
            _check(more)
            allowed = self._may(tx, actor, "budget.grant", dict(more))
            if allowed:
                limits = _raised(tx, more)
                tx.set(**{f"max_{measure}": limit for measure, limit in limits.items()}, budget_refused=0)
                tx.event("run.budget_granted", {"more": dict(more), "limits": limits})
                _queue(tx)
        if not allowed:
            raise NotAllowed(f"{actor.subject} may not give budget to run {run_id}: remit grants give.")
        return limits

    def refuse(self, actor: Actor, run_id: str) -> None:
        """Say that a run that waits for budget gets no more: its driver ends it. Raises as `grant`, and Conflict."""
        look(self._ledger, run_id)
        refusals = noted(self._ledger, actor, "budget.refuse", f"run:{run_id}")
        with refusals, self._ledger.control(run_id, actor) as tx:
            allowed = self._may(tx, actor, "budget.refuse", {})
            if allowed:
                if (tx.run["status"], tx.run["reason"]) != ("waiting", "budget"):
                    raise Conflict(f"Run {run_id} does not wait for budget: it is {tx.run['status']}.")
                tx.set(budget_refused=1)
                _queue(tx)
        if not allowed:
            raise NotAllowed(f"{actor.subject} may not refuse budget to run {run_id}: remit grants give.")

    def _may(self, tx: RunTransaction, actor: Actor, action: str, detail: Json) -> bool:
        """Judged and written down in the transaction of what follows. Raises RunAlreadyTerminal."""
        if tx.run["status"] in TERMINAL:
            raise RunAlreadyTerminal(f"Run {tx.run_id} has ended ({tx.run['status']}); it needs no budget any more.")
        ruling = self._policy.may(tx.connection, tx.tenant, actor.subject, "budget", tx.run["agent_id"])
        result = "recorded" if ruling.allowed else "denied"
        name = f"run:{tx.run_id}"
        audit.append(tx.connection, tx.tenant, tx.now, actor, action, name, result, rule=ruling.rule, detail=detail)
        return ruling.allowed


def _check(more: Mapping[str, int]) -> None:
    if not more:
        raise InputInvalid(f"Say how much more of what: {', '.join(MEASURES)}.")
    for measure, amount in more.items():
        if measure not in MEASURES:
            raise InputInvalid(f"There is no budget called {measure!r}; there are {', '.join(MEASURES)}.")
        if not 0 < amount <= MAX_GRANT:
            raise InputInvalid(f"{measure}: give a whole number from 1 to {MAX_GRANT}.")


def _raised(tx: RunTransaction, more: Mapping[str, int]) -> dict[str, int]:
    limits: dict[str, int] = {}
    for measure, amount in more.items():
        limit = tx.run[f"max_{measure}"]
        if limit is None:
            raise InputInvalid(f"Run {tx.run_id} has no limit of {measure}: it needs no more.")
        limits[measure] = limit + amount
        if limits[measure] > MAX_LIMIT:
            raise InputInvalid(f"{measure}: the limit of run {tx.run_id} would be more than {MAX_LIMIT}; give less.")
    return limits


def _queue(tx: RunTransaction) -> None:
    if (tx.run["status"], tx.run["reason"]) == ("waiting", "budget"):
        tx.move("queued")
