"""The one tree of errors. Every message says what is wrong and what to do; `code` is stable for programs.

    RemitError
    ├── InputInvalid            what was given cannot be used
    ├── NotFound                RunNotFound, ApprovalNotFound, OperationNotFound, AgentNotFound
    ├── Denied                  NotAllowed, NotAnApprover
    ├── Conflict                true things that exclude each other
    │   ├── IllegalMove, StaleVersion, RunAlreadyTerminal, MigrationFailed
    │   ├── ApprovalAlreadyDecided, ApprovalExpired, ApprovalDigestMismatch, AnswerRefused
    │   └── OperationKeyConflict, OperationMismatch
    ├── DriverError             RunBusy, LeaseLost, GuardRefused, Drained
    ├── StoreError              DatabaseTooNew, DatabaseTooOld, DatabaseUnavailable
    └── ToolError               what a tool says about its own call

All derive from RuntimeError, because the LangGraph server shows the text of a RuntimeError and hides that of
other exceptions.
"""

from __future__ import annotations

from typing import Literal

from state.digest import plain_text

ErrorClass = Literal[
    "invalid_arguments",
    "not_permitted",
    "rate_limited",
    "transient",
    "unknown_outcome",
    "refused_by_target",
    "resource_changed",
    "approval_expired",
    "key_conflict",
    "not_done",
    "policy",
    "emergency_stop",
    "internal",
]


# Nothing was done, and it may go better next time.
RETRYABLE: frozenset[str] = frozenset({"transient", "rate_limited"})


MAX_TEXT = 4_000  # of what a tool says


class RemitError(RuntimeError):
    """Base of all errors that Remit raises on purpose."""

    code = "REMIT_ERROR"


class InputInvalid(RemitError):
    """Something given by a person, a file or a program cannot be used as it is."""

    code = "INPUT_VALIDATION_FAILED"


class NotFound(RemitError):
    """The named thing does not exist for this tenant."""

    code = "NOT_FOUND"


class RunNotFound(NotFound):
    code = "RUN_NOT_FOUND"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"There is no run {run_id!r}. `remit show` lists the runs that exist.")


class ApprovalNotFound(NotFound):
    code = "APPROVAL_NOT_FOUND"

    def __init__(self, approval_id: str) -> None:
        super().__init__(f"There is no approval {approval_id!r}. `remit approvals` lists those that are pending.")


class OperationNotFound(NotFound):
    code = "OPERATION_NOT_FOUND"

    def __init__(self, operation_id: str) -> None:
        super().__init__(
            f"There is no operation {operation_id!r}. `remit doubt` lists those whose outcome is unknown, "
            "`remit show RUN` those of a run."
        )


class AgentNotFound(NotFound):
    code = "AGENT_NOT_FOUND"


class Denied(RemitError):
    """Somebody may not do what they asked for."""

    code = "POLICY_DENIED"


class NotAllowed(Denied):
    code = "POLICY_DENIED"


class NotAnApprover(Denied):
    code = "NOT_AN_APPROVER"


class Conflict(RemitError):
    """What was asked contradicts what is already true."""

    code = "CONFLICT"


class IllegalMove(Conflict):
    """A status may not follow another one (spec of run and operation statuses)."""

    code = "RUN_STATE_CONFLICT"


class StaleVersion(Conflict):
    """The row changed since it was read: read again."""

    code = "PRECONDITION_FAILED"


class RunAlreadyTerminal(Conflict):
    code = "RUN_ALREADY_TERMINAL"


class MigrationFailed(Conflict):
    """A step from an older state version could not be made, so the run is what it was."""

    code = "MIGRATION_FAILED"


class ApprovalAlreadyDecided(Conflict):
    code = "APPROVAL_ALREADY_DECIDED"


class ApprovalExpired(Conflict):
    code = "APPROVAL_EXPIRED"


class ApprovalDigestMismatch(Conflict):
    """The arguments that would be executed are not those that were shown and approved."""

    code = "APPROVAL_DIGEST_MISMATCH"


class AnswerRefused(Conflict):
    """An answer to a question is malformed, stale or not for this run; it was recorded as refused."""

    code = "ANSWER_REFUSED"


class OperationKeyConflict(Conflict):
    """The operation key already stands for an effect with other arguments."""

    code = "OPERATION_KEY_CONFLICT"


class OperationMismatch(Conflict):
    """A result was handed in for another operation, or for a claim that is not the current one."""

    code = "OPERATION_MISMATCH"


class DriverError(RemitError):
    """About who drives a run."""

    code = "RUN_BUSY"


class RunBusy(DriverError):
    """Another driver holds the lease of the run."""

    code = "RUN_BUSY"


class LeaseLost(DriverError):
    """This driver's lease was taken over; nothing it writes counts any more."""

    code = "LEASE_LOST"


class GuardRefused(DriverError):
    """A wish, a deadline or an end came first: read the run again. Never a failure of the run."""

    code = "GUARD_REFUSED"


class Drained(DriverError):
    """This process is about to go away: it begins nothing new, and lets go of its runs."""

    code = "DRAINING"

    def __init__(self, why: str) -> None:
        super().__init__(f"This process begins nothing any more ({why}). Nothing is lost: any other goes on.")


class StoreError(RemitError):
    """About a database as a whole."""

    code = "DEPENDENCY_UNAVAILABLE"


class DatabaseTooNew(StoreError):
    code = "MIGRATION_REQUIRED"


class DatabaseTooOld(StoreError):
    code = "MIGRATION_REQUIRED"


class DatabaseUnavailable(StoreError):
    code = "DEPENDENCY_UNAVAILABLE"


class ToolError(RemitError):
    """What a tool knows about its own failed call.

    `error_class` decides what may follow: `unknown_outcome` means that the effect may have happened and is
    looked up; every other class means that it has not happened. `transient` and `rate_limited` may be tried again
    under the same key, not before `retry_after_s` seconds where the target asks for that.
    """

    code = "TOOL_FAILED"

    def __init__(self, error_class: ErrorClass, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(plain_text(message[:MAX_TEXT]))
        self.error_class: ErrorClass = error_class
        self.retry_after_s = _seconds(retry_after_s)


def _seconds(asked_for: object) -> float | None:
    """What a target asks for is data: a number of seconds, at most a day, or nothing."""
    if isinstance(asked_for, int | float) and asked_for >= 0:  # not for NaN
        return min(float(asked_for), 86_400.0)
    return None
