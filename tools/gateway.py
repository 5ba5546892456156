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
from typing import Any, cast

from state.clock import Permit
from state.digest import Json, canonical, plain_text
from state.errors import ErrorClass, ToolError
from state.operation import Operation
from state.run import Lease
from store import effects
from store.ledger import Ledger
from tools.claim import IN_DOUBT, Claim
from tools.contract import Call, CancelToken, ReadTool, Receipt, WriteTool, foreign
from tools.policy import Policy
from tools.settle import moved, named, settled

LOOKUPS = 3
MAX_ID = 500
MAX_RESULT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """What a read gave, or why it failed."""

    result: Json | None
    error_class: ErrorClass | None = None
    detail: str | None = None


def read(tool: ReadTool, call: Call) -> ReadOutcome:
    """Call a reading tool. Whatever it does, the answer is a value."""
    try:
        result = foreign(lambda: tool.read(call), "internal")
        return ReadOutcome(_plain_result(result))
    except ToolError as error:
        return ReadOutcome(None, error.error_class, plain_text(str(error)))


def _plain_result(result: Any) -> Json:
    """Raises ToolError unless a result is a JSON object of bounded size."""
    if isinstance(result, dict):
        try:
            if len(canonical(cast(Json, result))) <= MAX_RESULT_BYTES:
                return cast(Json, result)
        except (ValueError, TypeError, RecursionError):
            pass
    raise ToolError("internal", f"The result is not a JSON object of at most {MAX_RESULT_BYTES} bytes.")


class Gateway:
    """Executes one approved write of one run. Every method answers the operation's status afterwards."""

    def __init__(self, ledger: Ledger, policy: Policy, is_dead: Callable[[str], bool]) -> None:
        self._ledger = ledger
        self._is_dead = is_dead
        self._claim = Claim(ledger, policy)

    def execute(self, lease: Lease, operation: Operation, tool: WriteTool, task: Json, token: CancelToken) -> str:
        """Bring an operation as far as it can get now. Raises LeaseLost, GuardRefused."""
        call = self._call(operation, task, token)
        proof = True
        if operation.status in IN_DOUBT:
            found = self._look_up(lease, operation, tool, call)
            if found != "not_found":
                return found
            proof = self._is_proof(lease, operation, tool)
        permit = Permit.of(self._ledger.clock, tool.longest_call_s)  # from before the claim on
        status = self._claim.take(lease, operation, tool, proof)
        if status != "dispatched":
            return status
        return self._act(lease, moved(operation, "dispatched"), tool, replace(call, permit=permit))

    def look_up(self, lease: Lease, operation: Operation, tool: WriteTool, task: Json, token: CancelToken) -> str:
        """Find out what became of a dispatched or unknown operation, without doing anything.

        Ends as committed, failed (proven not done) or unknown.
        """
        call = self._call(operation, task, token)
        found = self._look_up(lease, operation, tool, call)
        if found != "not_found":
            return found
        if not self._is_proof(lease, operation, tool):
            detail = "not found, which proves nothing yet"
            self._settle(lease, operation, "unknown", error_class="unknown_outcome", detail=detail)
            return "unknown"
        self._settle(lease, operation, "failed", error_class="transient", detail="looked up: it was not done")
        return "failed"

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

    def _act(self, lease: Lease, operation: Operation, tool: WriteTool, call: Call) -> str:
        # window A: claimed, not done
        try:
            receipt = foreign(lambda: tool.act(call), "unknown_outcome")  # it may have happened
        except ToolError as error:
            return self._failed(lease, operation, tool, call, error)
        # window B: done, not recorded
        return self._committed(lease, operation, receipt)

    def _failed(self, lease: Lease, operation: Operation, tool: WriteTool, call: Call, error: ToolError) -> str:
        if error.error_class != "unknown_outcome":
            self._settle(lease, operation, "failed", error_class=error.error_class, detail=str(error))
            return "failed"
        with self._ledger.settling(lease) as tx:
            number = effects.tries_made(tx.connection, tx.tenant, operation.operation_id)
            effects.end_try(tx, operation.operation_id, number, "unknown", error.error_class, str(error))
            tx.event("tool.call.unknown", {**named(operation), "try": number, "detail": str(error)[:500]})
        found = self._look_up(lease, operation, tool, call)
        return self.execute(lease, operation, tool, call.task, call.token) if found == "not_found" else found

    def _committed(self, lease: Lease, operation: Operation, receipt: Receipt) -> str:
        wrong = _wrong(receipt, operation)
        if wrong is not None:
            self._settle(lease, operation, "unknown", error_class="unknown_outcome", detail=wrong)
            return "unknown"
        self._settle(lease, operation, "committed", object_id=receipt.object_id)
        # window C: recorded, not checkpointed
        return "committed"

    # --- look up --------------------------------------------------------------------------------------------

    def _look_up(self, lease: Lease, operation: Operation, tool: WriteTool, call: Call) -> str:
        """committed, failed (other arguments under the key), unknown, or not_found where that is proof."""
        problem, asked = "", 0
        while asked < LOOKUPS:
            asked += 1
            try:
                receipt = foreign(lambda: tool.lookup(call), "transient")
            except ToolError as error:
                if error.error_class == "key_conflict":
                    known = {"error_class": error.error_class, "detail": str(error), "lookups": asked}
                    self._settle(lease, operation, "failed", **known)
                    return "failed"
                problem = str(error)
                continue
            if receipt is not None:
                wrong = _wrong(receipt, operation)
                if wrong is None:
                    self._settle(lease, operation, "committed", object_id=receipt.object_id, lookups=asked)
                    return "committed"
                problem = wrong
                break
            if tool.dedups_by_key or self._is_proof(lease, operation, tool):
                return "not_found"
            problem = "not found, which proves nothing yet"
            break
        self._settle(lease, operation, "unknown", error_class="unknown_outcome", detail=problem, lookups=asked)
        return "unknown"

    def _is_proof(self, lease: Lease, operation: Operation, tool: WriteTool) -> bool:
        """Does "not found" mean that it was not done? Not while an earlier call may still be on its way."""
        if not tool.lookup_is_authoritative:
            return False
        claim = self._ledger.claim_of(operation.operation_key)
        if claim is None:
            return False
        over = claim.fence == lease.fence or self._is_dead(claim.owner)
        return (over and tool.ends_with_its_call) or (
            self._ledger.clock.now() > claim.claimed_at + tool.longest_call_s * 1000
        )

    # --- settle ---------------------------------------------------------------------------------------------

    def _settle(self, lease: Lease, operation: Operation, status: str, **known: Any) -> None:
        with self._ledger.settling(lease) as tx:
            settled(tx, operation, status, **known)


def _wrong(receipt: Any, operation: Operation) -> str | None:
    """Why this is no receipt for exactly this operation, or None if it is one. What a target says is data."""
    if not isinstance(receipt, Receipt):
        return f"the target answered with {type(receipt).__name__} instead of a receipt"
    given: Any = receipt.object_id
    if not isinstance(given, str) or not 0 < len(given) <= MAX_ID or given != plain_text(given):
        return "the target's receipt has no usable id"
    if receipt.digest != operation.digest:
        return "the target's receipt is for other arguments"
    return None
