"""What a run's end says: read, decided, done and left undone; built from the ledger, never from a model's prose."""

from __future__ import annotations

from collections.abc import Sequence

from state.digest import Json
from state.operation import Operation
from store.ledger import Facts

_ADVICE = {
    "approval_rejected": "Ask the approver why; a new run asks again.",
    "permission_revoked": "Somebody who may has to give the permission again: remit grants give.",
    "policy": "`remit policy explain` says which rule decided; somebody who may can give the permission.",
    "emergency_stop": "`remit stops` says who stopped what, and why.",
    "evidence_missing": "Give a notice that names one date.",
    "approval_expired": "Start a new run and have it answered in time.",
    "deadline": "Start a new run with more time.",
    "tool_failed": "Look at `detail`, mend the target, and start a new run.",
    "verification_failed": "Look at the object that was written and at who changed it.",
}

_SAID = {
    "completed": "Done and read back: {done}.",
    "nothing_to_do": "Nothing to do. {why}",
    "evidence_missing": "It cannot be told honestly. {why}",
    "approval_rejected": "The approver said no.",
    "permission_revoked": "The permission was gone at the moment of the effect.",
    "policy": "The policy does not allow it.",
    "emergency_stop": "Somebody stopped this.",
    "proposal_invalid": "The decider's proposals were refused.",
    "tool_failed": "A tool failed.",
    "model_failed": "The decider failed.",
    "verification_failed": "What was written does not read back as approved and called for: {done}.",
    "user": "Cancelled.",
    "deadline": "The deadline passed.",
    "approval_expired": "Nobody answered the approval in time.",
    "attempts_exhausted": "The run's driver died again and again without getting further.",
}


def result_of(
    facts: Facts,
    made: Sequence[tuple[Operation, Json | None]],
    status: str,
    reason: str,
    effects: dict[str, list[Json]],
    explanation: str,
) -> tuple[Json, Json | None]:
    """`{summary, why, complete, read[], decided, done[], undone[]}` and, for an end that is no success, the failure.

    `made` are all operations of the run with their results. The failure has `class, code, detail, origin, retryable,
    advice`; `origin` is external where a target or a decider failed, else platform.
    """
    done = [f"{each['tool']} {each['object_id']}" for each in effects["committed"]]
    operations = [each for each, _ in made]
    result: Json = {
        "summary": _summary(status, reason, done, bool(effects["unknown"]), explanation)
        + (" It was there already, under the same key." if any(each.adopted for each in operations) else ""),
        "why": explanation,
        "complete": status == "succeeded",
        "read": [_read(each, result) for each, result in made if each.effect == "read" and result is not None],
        "decided": facts.run.turn,
        "done": done,
        "undone": [
            f"{each.tool}: {each.status}" for each in operations if each.status not in {"committed", "superseded"}
        ],
    }
    if status == "succeeded":
        return result, None
    return result, {
        "class": status,
        "code": reason,
        "detail": _detail(facts, operations),
        "origin": "external" if reason in {"tool_failed", "model_failed", "verification_failed"} else "platform",
        "retryable": status not in {"denied", "cancelled"},
        "advice": _ADVICE.get(reason, "Look at the timeline: remit events RUN."),
    }


def _summary(status: str, reason: str, done: list[str], unknown: bool, explanation: str) -> str:
    if reason == "completed" and not done:
        return "Completed without an effect."
    said = _SAID.get(reason, f"The run ended as {status}: {reason}.").format(done=", ".join(done), why=explanation)
    if unknown:
        return said + " The outcome of an effect is unknown: look at `effects`."
    if done and reason not in {"completed", "verification_failed"}:
        return said + f" Done before: {', '.join(done)}."
    return said


def _read(operation: Operation, result: Json) -> str:
    """The tool, and of what it read the name and the content hash."""
    named = f"{operation.tool} {result.get('name', '')}".rstrip()
    return f"{named} sha256:{result['sha256'][:12]}" if "sha256" in result else named


def _detail(facts: Facts, operations: Sequence[Operation]) -> str:
    """The last thing that went wrong, in the words it was recorded with."""
    for operation in reversed(operations):
        if operation.adopted and operation.verified is False:
            return (
                f"{operation.tool} {operation.object_id} was there already, under the same key, and does not read back"
                " as approved: it was changed or taken back since."
            )
        said_nothing = operation.status == "cancelled" and operation.error_class is None  # but that the run ended
        if operation.detail and operation.status != "committed" and not said_nothing:
            return operation.detail
    if facts.turn is not None:
        return facts.turn.refusal or str(facts.turn.proposal.get("error", ""))
    return ""
