"""Asking a decider for one turn: its tries, the waits between them, and what each try costs.

A try is not made unless its worst case fits what is left of the budget. A failed try is charged when it has failed,
together with its line on the timeline; the last one is charged with the record of the turn. So a driver that dies here
leaves at most one try behind that is not charged, and its successor charges the worst case of that one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from nodes.deciders.decider import Decider, Stopped, View
from nodes.driver import Driving
from nodes.planning import read_proposal
from nodes.standing import worst_of
from state.budget import Usage, shortfall
from state.digest import Json, json_object
from state.errors import RETRYABLE, GuardRefused, ToolError
from state.operation import Proposal
from state.run import Lease
from store.ledger import REMIT
from store.runs import budget_of
from store.transaction import RunTransaction
from tools.backoff import backoff_ms
from tools.contract import CancelToken, foreign

TRIES = 3
BASE_MS = 1_000
CAP_MS = 20_000
MAX_WAIT_MS = 60_000  # a provider that asks for a longer wait is not tried again by this turn
MAX_PROPOSAL_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Said:
    """What a turn is recorded with: the decider's word, or a note of how it failed; and what is still to be charged."""

    source: str
    proposal: Json
    usage: Usage


class Asking:
    """For the node `decide`. Retries of a model are made here and nowhere else: a tool call has its own."""

    def __init__(self, driving: Driving) -> None:
        self._driving = driving
        self._ledger = driving.ledger

    def word(self, lease: Lease, decider: Decider, view: View, token: CancelToken) -> Said | None:
        """What to record, or None where there is nothing: it was stopped, or the budget has no room for another try.

        Raises LeaseLost, GuardRefused.
        """
        number = 1
        while True:
            answer = self._once(lease, decider, view, token)
            if isinstance(answer, Said):
                return answer
            if isinstance(answer, Stopped) or token.tripped:
                if self._driving.must_stop(lease):
                    self.charge(lease, _usage_of(answer, decider))
                    return None
                answer = ToolError("internal", "The decider stopped, and nobody had asked it to.")
            if answer.error_class not in RETRYABLE or number == TRIES:
                return _failure(answer, decider, number)
            following = self._again(lease, decider, answer, number)
            if not isinstance(following, int):
                return following
            self._ledger.clock.wait(following, token.event)
            if token.tripped and self._driving.must_stop(lease):
                return None
            number += 1

    def charge(self, lease: Lease, usage: Usage) -> None:
        """Charge what led to no turn, also if the run has ended meanwhile. A driver that took over has charged it."""
        with self._ledger.control(lease.run_id, REMIT) as tx:
            if tx.run["fence"] == lease.fence:
                _add(tx, usage)

    def _once(self, lease: Lease, decider: Decider, view: View, token: CancelToken) -> Said | Stopped | ToolError:
        """One try. Whatever the decider returns or raises is its answer."""
        try:
            said = foreign(lambda: _stoppable(lambda: decider.propose(view, token)), "internal")
        except ToolError as error:
            return error
        except BaseException:  # this process is going away, and the call may have been paid for
            self.charge(lease, decider.worst_case())
            raise
        if isinstance(said, Stopped):
            return said
        recorded = plain(said)
        proposal = read_proposal(recorded)
        usage = proposal.usage if isinstance(proposal, Proposal) else decider.worst_case()
        return Said("decider", recorded, usage)

    def _again(self, lease: Lease, decider: Decider, error: ToolError, number: int) -> int | Said | None:
        """Charge a failed try. Answers how long to wait for the next one; the failure, where no time is left for that;
        None, where no budget is.
        """
        cost = _usage_of(error, decider)
        try:
            with self._ledger.settling(lease) as tx:
                _add(tx, cost)
                worst = worst_of(decider.worst_case(), 1 + tx.run["takeovers"])
                if shortfall(*budget_of(tx.run), {**worst, "turns": 1}) is not None:
                    return None
                wait = _wait_ms(error, number)
                if wait > min(MAX_WAIT_MS, _time_left(tx)):
                    return _failure(error, decider, number, charged=True)
                why = {"error_class": error.error_class, "detail": str(error)[:500], "wait_ms": wait}
                tx.event("model.retried", {"turn": tx.run["turn"] + 1, "try": number, **why})
                return wait
        except GuardRefused:
            self.charge(lease, cost)
            raise


def _stoppable(propose: Callable[[], Any]) -> Any:
    """Being stopped is an answer, not a failure."""
    try:
        return propose()
    except Stopped as stopped:
        return stopped


def _usage_of(answer: Stopped | ToolError, decider: Decider) -> Usage:
    """What a try without a word is charged: what came before it was stopped; one call that was turned away; else, since
    nobody knows, its worst case.
    """
    given: Any = answer.usage if isinstance(answer, Stopped) else None
    if isinstance(given, Usage):
        return given
    worst = decider.worst_case()
    if isinstance(answer, ToolError) and answer.error_class == "rate_limited":
        return Usage(model_calls=worst.model_calls)
    return worst


def _failure(error: ToolError, decider: Decider, tries: int, *, charged: bool = False) -> Said:
    note = {"kind": "failed", "error": str(error), "error_class": error.error_class, "tries": tries}
    return Said("remit", note, Usage() if charged else _usage_of(error, decider))


def _wait_ms(error: ToolError, number: int) -> int:
    """The backoff, or longer where the provider asks for it. What it asks for is data."""
    wait = backoff_ms(number, base_ms=BASE_MS, cap_ms=CAP_MS)
    asked: Any = error.retry_after_s
    if isinstance(asked, int | float) and math.isfinite(asked):
        wait = max(wait, math.ceil(min(asked, 1e9) * 1000))
    return wait


def _time_left(tx: RunTransaction) -> int:
    """Milliseconds until the deadline, and of active time; the row was just brought up to date by its guard."""
    limits, used = budget_of(tx.run)
    deadline, active = tx.run["deadline"], limits["active_ms"]
    left = [] if deadline is None else [deadline - tx.now]
    left += [] if active is None else [active - used["active_ms"]]
    return min(left, default=MAX_WAIT_MS)


def _add(tx: RunTransaction, usage: Usage) -> None:
    tx.add(**{f"used_{measure}": amount for measure, amount in usage.model_dump().items()})


def plain(said: Any) -> Json:
    """What a decider returned as a JSON object of bounded size; anything else becomes a note of what it was."""
    try:
        value = said.model_dump(mode="json") if isinstance(said, BaseModel) else said
    except Exception:  # a model of the decider's own
        value = None
    found = json_object(value, MAX_PROPOSAL_BYTES)
    return {"kind": "unreadable", "type": type(said).__name__[:80]} if found is None else found
