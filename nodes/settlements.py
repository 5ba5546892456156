"""The door for settlements: a person says what became of an effect that nobody could look up.

A settlement is a fact like any other: made by an actor whom trusted code named, allowed by the policy, in the audit. It
may come after the run's end, and then it changes what is known of the effect, never the status.
"""

from __future__ import annotations

from dataclasses import dataclass

from nodes.due import look
from nodes.ending import end, say_anew
from nodes.refusals import noted
from state.actor import Actor
from state.digest import plain_text
from state.errors import Conflict, InputInvalid, NotAllowed
from state.operation import Operation
from state.run import TERMINAL
from store import audit, operations
from store.ledger import Facts, Ledger
from store.transaction import RunTransaction
from tools.lookup import MAX_ID
from tools.policy import Policy
from tools.settle import cancel_later_writes, settled

MAX_COMMENT = 4_000


@dataclass(frozen=True, slots=True)
class Settlement:
    """`object_id` is the target's id for what was done, or None where nothing was done."""

    operation_id: str
    object_id: str | None
    comment: str = ""


class Settlements:
    """Competes with drivers on the run's row: while one holds the run, nobody settles."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        self._ledger = ledger
        self._policy = policy

    def settle(self, actor: Actor, settlement: Settlement) -> str:
        """Record it, and let a run that waited for it go on. Answers the run's id; drives nothing.

        Raises OperationNotFound, NotAllowed, InputInvalid for an id or a comment that cannot be kept, and Conflict
        where the outcome is not unknown, or is being looked up at this moment.
        """
        run_id = self._ledger.operation(settlement.operation_id).run_id
        look(self._ledger, run_id)
        name = f"operation:{settlement.operation_id}"
        refusals = noted(self._ledger, actor, "operation.settle", name, run_id=run_id)
        with refusals, self._ledger.control(run_id, actor) as tx:
            _check(settlement)
            operation = operations.get(tx.connection, tx.tenant, settlement.operation_id)
            assert operation is not None
            rule = self._may(tx, actor, operation)
            if rule is None:
                _note(tx, actor, settlement, "denied", None)
            else:
                self._record(tx, operation, settlement)
                _note(tx, actor, settlement, _outcome(settlement), rule)
        if rule is None:
            raise NotAllowed(f"{actor.subject} may not settle outcomes of {operation.tool}: remit grants give.")
        return run_id

    def _may(self, tx: RunTransaction, actor: Actor, operation: Operation) -> str | None:
        ruling = self._policy.may(tx.connection, tx.tenant, actor.subject, "settle", operation.tool)
        return ruling.rule if ruling.allowed else None

    def _record(self, tx: RunTransaction, operation: Operation, settlement: Settlement) -> None:
        _must_be_open(tx, operation)
        said = f"settled by a person: {settlement.comment}" if settlement.comment else "settled by a person"
        if settlement.object_id is not None:
            settled(tx, operation, "committed", detail=said, object_id=settlement.object_id, by="person")
        else:
            settled(tx, operation, "failed", error_class="not_done", detail=said, by="person")
        facts = self._ledger.facts_in(tx.connection, tx.run_id)
        if tx.run["status"] in TERMINAL:
            say_anew(tx, facts)
        else:
            _go_on(tx, facts, operation, settlement)


def _go_on(tx: RunTransaction, facts: Facts, operation: Operation, settlement: Settlement) -> None:
    """What a live run does with it: an end that waited for it; nothing more of the turn after a no; else its driver."""
    if tx.run["status"] == "cancelling" and tx.run["inflight"] == 0:
        end(tx, facts, "cancelled", "user")  # which cancels whatever was to follow
        return
    if settlement.object_id is None:
        cancel_later_writes(tx, [each for each in facts.operations if each.index > operation.index])
    if tx.run["status"] == "waiting" and tx.run["reason"] in {"reconciliation", "external"}:
        tx.move("queued")


def _check(settlement: Settlement) -> None:
    object_id = settlement.object_id
    if object_id is not None and not (0 < len(object_id) <= MAX_ID and object_id.isprintable()):
        raise InputInvalid(f"The object's id must be printable, with 1 to {MAX_ID} characters, as its target has it.")
    if len(settlement.comment) > MAX_COMMENT or settlement.comment != plain_text(settlement.comment):
        raise InputInvalid(f"The comment must be plain text of at most {MAX_COMMENT} characters.")


def _must_be_open(tx: RunTransaction, operation: Operation) -> None:
    """Raises Conflict."""
    if operation.status not in {"dispatched", "unknown"}:
        raise Conflict(f"The outcome of {operation.operation_id} is not unknown: it is {operation.status}.")
    looks_itself = operation.status == "dispatched" and tx.run["reason"] != "migration"
    if tx.run["nonce"] is not None or looks_itself:
        raise Conflict(
            f"Run {tx.run_id} looks up {operation.operation_id} itself: let it (remit resume {tx.run_id}), "
            "and settle what stays unknown."
        )


def _outcome(settlement: Settlement) -> str:
    return "not done" if settlement.object_id is None else "committed"


def _note(tx: RunTransaction, actor: Actor, settlement: Settlement, result: str, rule: str | None) -> None:
    detail = {"run_id": tx.run_id, "object_id": settlement.object_id, "comment": settlement.comment}
    name = f"operation:{settlement.operation_id}"
    audit.append(tx.connection, tx.tenant, tx.now, actor, "operation.settle", name, result, rule=rule, detail=detail)
