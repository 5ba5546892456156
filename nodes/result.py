"""What a run's end says: read, decided, done and left undone; built from the ledger, never from a model's prose."""

from __future__ import annotations

from state.digest import Json
from store.ledger import Facts

_SAID = {
    "completed": "Done and read back: {done}.",
    "nothing_to_do": "Nothing to do. {why}",
    "evidence_missing": "It cannot be told honestly. {why}",
    "approval_rejected": "The approver said no; nothing was done.",
    "permission_revoked": "The permission was gone at the moment of the effect.",
    "policy": "The policy does not allow it.",
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
    facts: Facts, closed: set[str], status: str, reason: str, effects: dict[str, list[Json]], explanation: str
) -> tuple[Json, Json | None]:
    """`{summary, complete, done[], undone[]}` and, for an end that is no success, `{class, code, detail, retryable}`.

    `closed` are the operations that this end cancels.
    """
    done = [f"{each['tool']} {each['object_id']}" for each in effects["committed"]]
    undone = [
        f"{each.tool}: {'cancelled' if each.operation_id in closed else each.status}"
        for each in facts.operations
        if each.status not in {"committed", "superseded"}
    ]
    said = _SAID.get(reason, f"The run ended as {status}: {reason}.").format(
        done=", ".join(done) or "nothing", why=explanation
    )
    if effects["unknown"]:
        said += " The outcome of an effect is unknown: look at `effects`."
    elif done and reason not in {"completed", "verification_failed"}:
        said += f" Done before: {', '.join(done)}."
    result: Json = {"summary": said, "complete": status == "succeeded", "done": done, "undone": undone}
    if status == "succeeded":
        return result, None
    return result, {
        "class": status,
        "code": reason,
        "detail": _detail(facts),
        "retryable": status != "denied",
    }


def _detail(facts: Facts) -> str:
    """The last thing that went wrong, in the words it was recorded with."""
    for operation in reversed(facts.operations):
        if operation.detail and operation.status != "committed":
            return operation.detail
    if facts.turn is not None:
        return facts.turn.refusal or str(facts.turn.proposal.get("error", ""))
    return ""
