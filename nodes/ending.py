"""How a run ends: what was open is closed, and the end says what was read, decided, done and left undone.

The same for every end, whoever makes it: the node `finish`, a cancel that takes effect at once, a deadline that passed.
"""

from __future__ import annotations

from nodes.result import result_of
from state.digest import Json
from state.run import TERMINAL, effect_of
from store import operations, runs
from store.database import decode, encode
from store.ledger import Facts
from store.transaction import RunTransaction
from tools.settle import cancel_unclaimed


def end(tx: RunTransaction, facts: Facts, status: str, reason: str, explanation: str = "") -> Json:
    """End the run inside this transaction; answers `{summary, effect}`. Raises IllegalMove, RunAlreadyTerminal."""
    for operation in facts.operations:
        cancel_unclaimed(tx, operation, "the run ended")
    effects, summary = _say(tx, facts, status, reason, explanation)
    if tx.run["nonce"] is not None:
        runs.end_attempt(tx, tx.run["fence"], "ended")
    tx.move(status, reason, {"effect": effect_of(effects)})
    return {"summary": summary, "effect": effect_of(effects)}


def say_anew(tx: RunTransaction, facts: Facts) -> None:
    """An effect of an ended run was settled: the end says so, its status stays."""
    before: Json = decode(tx.run["result"]) or {}
    _say(tx, facts, tx.run["status"], tx.run["reason"], str(before.get("why", "")))


def _say(
    tx: RunTransaction, facts: Facts, status: str, reason: str, explanation: str
) -> tuple[dict[str, list[Json]], str]:
    """Write result and failure down; answers the effects as they are known now, and the summary."""
    effects = operations.effects(tx.connection, tx.tenant, tx.run_id)
    made = operations.with_results(tx.connection, tx.tenant, tx.run_id, 1)
    result, failure = result_of(facts, made, status, reason, effects, explanation)
    tx.set(result=encode(result), failure=None if failure is None else encode(failure))
    return effects, result["summary"]


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
