"""How a run ends: what was open is closed, and the end says what was read, decided, done and left undone.

The same for every end, whoever makes it: the node `finish`, a cancel that takes effect at once, a deadline that passed.
"""

from __future__ import annotations

from nodes.result import result_of
from state.digest import Json
from state.run import TERMINAL, effect_of, effects_of
from store import operations, runs
from store.database import encode
from store.ledger import Facts
from store.transaction import RunTransaction, effect_rows
from tools.settle import cancel_unclaimed


def end(tx: RunTransaction, facts: Facts, status: str, reason: str, explanation: str = "") -> Json:
    """End the run inside this transaction; answers `{summary, effect}`. Raises IllegalMove, RunAlreadyTerminal."""
    for operation in facts.operations:
        cancel_unclaimed(tx, operation, "the run ended")
    effects = effects_of(list(effect_rows(tx.connection, tx.tenant, tx.run_id)))
    made = operations.with_results(tx.connection, tx.tenant, tx.run_id, 1)
    result, failure = result_of(facts, made, status, reason, effects, explanation)
    tx.set(result=encode(result), failure=None if failure is None else encode(failure))
    if tx.run["nonce"] is not None:
        runs.end_attempt(tx, tx.run["fence"], "ended")
    tx.move(status, reason, {"effect": effect_of(effects)})
    return {"summary": result["summary"], "effect": effect_of(effects)}


def end_or_queue(tx: RunTransaction, facts: Facts, status: str, reason: str) -> None:
    """End a run that nobody drives, at once if nothing is in flight; else queue it, so that its driver looks first."""
    if tx.run["inflight"] == 0:
        end(tx, facts, status, reason)
    elif tx.run["status"] != "queued" and tx.run["status"] not in TERMINAL:
        tx.move("queued")


def take_over(tx: RunTransaction, facts: Facts) -> None:
    """From now on only people act on this run: what was never claimed is cancelled, with its questions."""
    if tx.run["desired_action"] != "take_over":
        tx.set(desired_action="take_over")
    cancelled = [each.operation_id for each in facts.operations if cancel_unclaimed(tx, each, "a person took over")]
    tx.event("run.taken_over", {"cancelled": cancelled})
