"""A run as programs see it: the run representation of the service, as far as the ledger knows it.

The same object is what `--json` prints, what the terminal shows as a table, and what an HTTP answer will hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from state.approval import Approval, Decision
from state.clock import iso
from state.digest import Json, digest_of
from state.operation import Operation
from state.run import Run, effect_of
from store import approvals, operations
from store.doubt import Doubt
from store.ledger import Ledger


def run_view(
    ledger: Ledger, run_id: str, driver_alive: bool, compensates: Callable[[str], bool], lacks: Json | None = None
) -> Json:
    """Everything about one run; `compensates` tells whether a tool's effect can be taken back, `lacks` what a run that
    waits for a migration needs and why (`needs`, `why`). Raises RunNotFound.
    """
    run = ledger.run(run_id)
    task = ledger.task_input(run)
    with ledger.database.read() as connection:
        found = operations.of_run(connection, ledger.tenant, run_id)
        asked = [each for each in approvals.of_run(connection, ledger.tenant, run_id) if each.status == "pending"]
        decided = approvals.decided_so_far(connection, ledger.tenant, asked)
        effects = operations.effects(connection, ledger.tenant, run_id)
    open_questions = [] if run.ended else asked
    return {
        **summary_view(run),
        "tenant_id": ledger.tenant,
        "task_id": run.task_id,
        "agent_version_id": run.agent_version,
        "input": task,
        "input_digest": digest_of(task),
        "effect": effect_of(effects),
        "effects": effects,
        "result": run.result,
        "failure": run.failure,
        "pending": {
            "approvals": [pending_view(each, decided.get(each.approval_id, ())) for each in open_questions],
            "inputs": [],
            "unknown_operations": [operation_view(each) for each in found if _outcome_unknown(each)],
            "migration": lacks if run.reason == "migration" else None,
        },
        "operations": [operation_view(each) for each in found],
        "budget": {"limit": run.limits, "used": run.used, "reserved": {}},
        "actual_cost": run.used["cost_microusd"] / 1_000_000,
        "attempt_count": run.fence,
        "driver_alive": driver_alive,
        "actions": [*_actions(run, open_questions, driver_alive), *_outcomes(run, found, compensates)],
    }


def summary_view(run: Run) -> Json:
    """What a list of runs shows of each."""
    return {
        "run_id": run.run_id,
        "session_id": run.session_id,
        "agent_id": run.agent_id,
        "status": run.status,
        "status_reason": run.reason,
        "desired_action": run.desired_action,
        "status_version": run.status_version,
        "engine": run.engine,
        "created_by": run.requester,
        "created_at": iso(run.created_at),
        "started_at": iso(run.started_at),
        "ended_at": iso(run.ended_at),
        "last_activity_at": iso(run.last_activity_at),
        "deadline": iso(run.deadline),
    }


def pending_view(approval: Approval, decided: Sequence[Decision] = ()) -> Json:
    """A question as an approver needs it, with the answers that stand already and the commands that answer it."""
    answer = f"{approval.approval_id} --digest {approval.digest}"
    commands = {
        "approve": f"remit approve {answer}",
        "reject": f"remit reject {answer}",
        "edit": f"remit edit {answer} --set NAME=VALUE",
    }
    return {
        **approval.shown(decided),
        "policy_rule": approval.policy_rule,
        "resource": approval.resource,
        "resource_version": approval.resource_version,
        "created_at": iso(approval.created_at),
        "commands": commands,
    }


def operation_view(operation: Operation) -> Json:
    return {
        "operation_id": operation.operation_id,
        "key": operation.operation_key,
        "digest": operation.digest,
        "tool": operation.tool,
        "status": operation.status,
        "verified": operation.verified,
        "object_id": operation.object_id,
        "effect": operation.effect,
        "turn": operation.turn,
        "index": operation.index,
        "generation": operation.generation,
        "error_class": operation.error_class,
        "detail": operation.detail,
        "again_at": iso(operation.to_come),
    }


def doubt_view(doubt: Doubt) -> Json:
    """An effect that may have happened, what was tried to find out, and the commands that settle it."""
    operation = doubt.operation
    return {
        **{name: operation_view(operation)[name] for name in ("operation_id", "tool", "key", "status", "detail")},
        "arguments": operation.arguments,
        "run_id": operation.run_id,
        "run_status": doubt.run.status,
        "since": iso(doubt.since),
        "calls": doubt.calls,
        "lookups": doubt.lookups,
        "again_at": iso(operation.to_come),
        "commands": _commands(operation),
    }


def _commands(operation: Operation) -> dict[str, str]:
    """What somebody can do about an unknown outcome: let the run look, or say what happened."""
    if operation.in_flight:
        return {"resume": f"remit resume {operation.run_id}"}
    named = f"remit settle {operation.operation_id}"
    return {"done": f"{named} --done OBJECT_ID", "not_done": f"{named} --not-done"}


def _outcome_unknown(operation: Operation) -> bool:
    return operation.effect == "write" and operation.status in {"dispatched", "unknown"}


def _actions(run: Run, asked: list[Approval], driver_alive: bool) -> list[Json]:
    """The commands that apply to a run as it is now."""
    if run.ended:
        return []
    found: list[Any] = [
        {"action": action, "approval_id": each.approval_id, "command": command}
        for each in asked
        for action, command in pending_view(each)["commands"].items()
    ]
    names = [
        ("resume", _can_go_on(run, asked, driver_alive)),
        (
            "pause",
            run.desired_action == "none" and run.status not in {"paused", "cancelling"},
        ),
        ("take-over", run.desired_action not in {"take_over", "cancel"} and run.status != "cancelling"),
        ("cancel", run.status != "cancelling" and run.desired_action != "cancel"),
    ]
    return found + [{"action": name, "command": f"remit {name} {run.run_id}"} for name, applies in names if applies]


def _can_go_on(run: Run, asked: list[Approval], driver_alive: bool) -> bool:
    """Would `resume` lead anywhere? Not while a driver is at work, nor while only an answer is missing."""
    if run.desired_action == "pause":
        return True
    if run.reason in {"takeover", "budget"}:
        return False
    return not driver_alive and not (run.status == "waiting" and asked)


def _outcomes(run: Run, operations: list[Operation], compensates: Callable[[str], bool]) -> list[Json]:
    """What people may do about effects, also after the end: settle what is unknown, take back what is not wanted."""
    found: list[Json] = []
    for each in operations:
        if each.status == "unknown" and not each.in_flight:
            for action, command in _commands(each).items():
                found.append({"action": f"settle_{action}", "operation_id": each.operation_id, "command": command})
        made = each.effect == "write" and each.status == "committed" and not each.adopted
        if made and _unwanted(run) and compensates(each.tool):
            command = f"remit compensate {each.operation_id}"
            found.append({"action": "compensate", "operation_id": each.operation_id, "command": command})
    if run.reason == "budget" and run.status == "waiting":
        for action in ("grant", "refuse"):
            found.append({"action": f"budget_{action}", "command": f"remit budget {action} {run.run_id}"})
    return found


def _unwanted(run: Run) -> bool:
    """Did the run not come to what was wanted, whatever it has done?"""
    return (run.ended and run.status != "succeeded") or run.reason == "takeover"
