"""The only door to an effect: check, claim, act, settle.

    check ── claim ──A──> act ──B──> settle ──C──> checkpoint

    A  claimed, not done         B  done, not recorded         C  recorded, not checkpointed

A process may die at any of the letters. What was claimed is found again as `dispatched`; it is looked up under the same
key before anything else happens, and repeated only where the target itself makes one object per key or its "not
found" is authoritative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from state.clock import Permit
from state.digest import Json, json_object, plain_text
from state.errors import RETRYABLE, ErrorClass, ToolError
from state.operation import Operation
from state.run import Lease
from store import effects
from store.effects import Claimed
from store.ledger import Ledger
from store.transaction import RunTransaction
from tools import calling
from tools.backoff import backoff_ms
from tools.claim import IN_DOUBT, MAX_CALLS, Claim
from tools.contract import Call, CancelToken, ReadTool, WriteTool
from tools.lookup import ask, dedups, horizon_ms, next_lookup, wrong_receipt
from tools.policy import Policy
from tools.settle import moved, settled

SHORT_WAIT_MS = 2_000
RETRY_BASE_MS, RETRY_CAP_MS = 500, 30_000
MAX_BEGUN = 10_000
MAX_RESULT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """What a read gave, or why it failed; `denied`: it was not made, because the policy does not let it happen."""

    result: Json | None
    error_class: ErrorClass | None = None
    detail: str | None = None
    denied: bool = False


def read(tool: ReadTool, call: Call) -> ReadOutcome:
    """Call a reading tool. Whatever it does, the answer is a value."""
    try:
        result = json_object(calling.read(tool, call), MAX_RESULT_BYTES)
        if result is None:
            raise ToolError("internal", f"The result is not a JSON object of at most {MAX_RESULT_BYTES} bytes.")
        return ReadOutcome(result)
    except ToolError as error:
        return ReadOutcome(None, error.error_class, plain_text(str(error)))


class Gateway:
    """Executes one approved write of one run. Every method answers the operation's status afterwards.

    Where something is still to come (a lookup, another try), short waits are spent here, and for long ones the
    operation says when (`next_at`), so that the run waits without holding anything.
    """

    def __init__(self, ledger: Ledger, policy: Policy, is_dead: Callable[[str], bool]) -> None:
        self._ledger = ledger
        self._is_dead = is_dead
        self._claim = Claim(ledger, policy)
        self._begun: dict[str, int] = {}  # our own last claim of a key, by the clock that does not jump

    def execute(self, lease: Lease, operation: Operation, tool: WriteTool, task: Json, token: CancelToken) -> str:
        """Bring an operation as far as it can get now. Raises LeaseLost, GuardRefused."""
        call = self._call(operation, task, token)
        return self._until_later(operation, token, lambda each: self._attempt(lease, each, tool, call))

    def look_up(self, lease: Lease, operation: Operation, tool: WriteTool, task: Json, token: CancelToken) -> str:
        """Find out what became of a dispatched or unknown operation, without doing anything.

        Ends as committed, failed (proven not done) or unknown.
        """
        call = self._call(operation, task, token)
        return self._until_later(operation, token, lambda each: self._looked_up(lease, each, tool, call))

    def _until_later(self, operation: Operation, token: CancelToken, attempt: Callable[[Operation], str]) -> str:
        """Attempt it, and again as long as the next attempt is due soon; bounded by the bounds of lookups and calls."""
        clock = self._ledger.clock
        while True:
            status = attempt(operation)
            if status not in {"unknown", "failed"}:
                return status
            operation = self._ledger.operation(operation.operation_id)
            if operation.to_come is None:
                return status
            wait = operation.to_come - clock.now()
            if wait > SHORT_WAIT_MS:
                return "later"
            if wait > 0:
                clock.wait(wait, token.event)
            if token.tripped:
                return "later"  # whoever drives on sees the wish first

    def _call(self, operation: Operation, task: Json, token: CancelToken) -> Call:
        return Call(
            run_id=operation.run_id,
            operation_id=operation.operation_id,
            key=operation.operation_key,
            digest=operation.digest,
            arguments=operation.arguments,
            principal=self._ledger.run(operation.run_id).requester,
            resource=operation.resource,
            resource_version=operation.resource_version,
            task=task,
            token=token,
        )

    # --- act ------------------------------------------------------------------------------------------------

    def _attempt(self, lease: Lease, operation: Operation, tool: WriteTool, call: Call) -> str:
        if operation.status in IN_DOUBT:
            found = self._looked_up(lease, operation, tool, call, repeat=True)
            if found != "not_found":
                return found
        permit = Permit.of(self._ledger.clock, tool.longest_call_s)  # from before the claim on
        status = self._claim.take(lease, operation, tool, call.token)
        if status != "dispatched":
            return status
        if len(self._begun) >= MAX_BEGUN:
            self._begun.clear()
        self._begun[operation.operation_key] = self._ledger.clock.monotonic()
        return self._act(lease, moved(operation, "dispatched"), tool, replace(call, permit=permit))

    def _act(self, lease: Lease, operation: Operation, tool: WriteTool, call: Call) -> str:
        # window A: claimed, not done
        try:
            receipt = calling.act(tool, call)
        except ToolError as error:
            return self._failed(lease, operation, error)
        # window B: done, not recorded
        wrong = wrong_receipt(receipt, operation)
        if wrong is not None:  # not looked up: a target that says this says it again
            self._settle(lease, operation, "unknown", error_class="unknown_outcome", detail=wrong)
            return "unknown"
        self._settle(lease, operation, "committed", object_id=receipt.object_id)
        # window C: recorded, not checkpointed
        return "committed"

    def _failed(self, lease: Lease, operation: Operation, error: ToolError) -> str:
        """An unknown outcome is looked up at once; what was not done is tried again where its class allows that.

        That this call did nothing does not say that an earlier one, which is in doubt, did nothing.
        """
        with self._ledger.settling(lease) as tx:
            status, next_at = "failed", _next_call(tx, operation, error)
            if error.error_class == "unknown_outcome":
                status, next_at = "unknown", tx.now
            elif effects.may_have_happened(tx.connection, tx.tenant, operation.operation_id):
                status, next_at = "unknown", next_at or tx.now
            settled(tx, operation, status, error_class=error.error_class, detail=str(error), next_at=next_at)
        return status

    # --- look up --------------------------------------------------------------------------------------------

    def _looked_up(
        self, lease: Lease, operation: Operation, tool: WriteTool, call: Call, *, repeat: bool = False
    ) -> str:
        """committed, failed (not done, or other arguments under the key), unknown; with `repeat` also not_found, for
        what may be claimed again.
        """
        found = ask(tool, call, operation)
        claim = self._ledger.claim_of(operation.operation_key)
        if found.status == "absent" and self._is_proof(lease, tool, claim, operation.operation_key):
            return self._not_done(lease, operation, repeat)
        with self._ledger.settling(lease) as tx:
            not_seen = found.status == "absent" or tool.lookups == 0
            if not_seen and repeat and dedups(claim, tx.now):
                if tool.lookups:
                    effects.looked_up(tx, operation.operation_id, "unknown", None, found.detail)
                return "not_found"
            status = "unknown" if found.status == "absent" else found.status
            next_at = None
            if status == "unknown" and found.again:
                next_at = next_lookup(tx, operation, tool, claim)
            settled(
                tx,
                operation,
                status,
                error_class=found.error_class,
                detail=found.detail,
                object_id=found.object_id,
                next_at=next_at,
                by="lookup" if tool.lookups else "claim",
            )
        return status

    def _not_done(self, lease: Lease, operation: Operation, repeat: bool) -> str:
        """A lookup has proven that nothing was done."""
        detail = "looked up: it was not done"
        with self._ledger.settling(lease) as tx:
            if repeat:
                effects.looked_up(tx, operation.operation_id, effects.NOT_FOUND, None, detail)
                return "not_found"
            settled(tx, operation, "failed", error_class="transient", detail=detail, by="lookup")
        return "failed"

    def _is_proof(self, lease: Lease, tool: WriteTool, claim: Claimed | None, key: str) -> bool:
        """Does "not found" mean that it was not done? Not while an earlier call may still be on its way."""
        if not tool.lookup_is_authoritative or claim is None:
            return False
        over = claim.fence == lease.fence or self._is_dead(claim.owner)
        if over and tool.ends_with_its_call:
            return True
        clock, begun = self._ledger.clock, self._begun.get(key)
        jumped = begun is not None and clock.monotonic() <= begun + horizon_ms(tool)
        return not jumped and clock.now() > claim.claimed_at + horizon_ms(tool)

    # --- settle ---------------------------------------------------------------------------------------------

    def _settle(self, lease: Lease, operation: Operation, status: str, **known: Any) -> None:
        with self._ledger.settling(lease) as tx:
            settled(tx, operation, status, **known)


def _next_call(tx: RunTransaction, operation: Operation, error: ToolError) -> int | None:
    """When a call that did nothing is made again, or None: never past the deadline, and only a few times."""
    made = effects.calls_made(tx.connection, tx.tenant, operation.operation_id)
    if error.error_class not in RETRYABLE or made >= MAX_CALLS:
        return None
    asked_for = int((error.retry_after_s or 0) * 1000)
    at = tx.now + max(asked_for, backoff_ms(made, base_ms=RETRY_BASE_MS, cap_ms=RETRY_CAP_MS))
    deadline = tx.run["deadline"]
    return at if deadline is None or at < deadline else None
