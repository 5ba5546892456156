"""The question that a waiting run puts: a LangChain `HITLRequest`, extended by what Remit needs.

Each request carries its arguments twice, as `args` and as `arguments`: Agent Chat UI reads the one, Agent Inbox the
other. Who has to answer, and who has answered already, is in `approvals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from state.approval import Approval, Decision
from store.ledger import Facts
from tools.contract import Tool

DECISIONS = ["approve", "edit", "reject"]


def question(
    facts: Facts, tools: Mapping[str, Tool], decided: Mapping[str, Sequence[Decision]] | None = None
) -> dict[str, Any]:
    """`action_requests` and `review_configs` in order, and beside them run, status and the pending approvals.

    `decided` are the answers that stand already, by approval id: of two people who have to say yes, the first.
    """
    pending, so_far = facts.questions, decided or {}
    return {
        "action_requests": [_request(each) for each in pending],
        "review_configs": [
            {
                "action_name": each.tool,
                "allowed_decisions": DECISIONS,
                "args_schema": tools[each.tool].schema() if each.tool in tools else {},
            }
            for each in pending
        ],
        "run_id": facts.run.run_id,
        "status": "waiting",
        "status_reason": "approval",
        "approvals": [each.shown(so_far.get(each.approval_id, ())) for each in pending],
    }


def answer_schema(asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """The JSON Schema of Remit's own answer to a question; None for one that no answer is asked to.

    Plain data, for clients to make a form of. As a type, LangGraph would hold answers against it, and one that does not
    fit would be an error of the run instead of a refusal and the same question again.
    """
    approvals: Sequence[Mapping[str, Any]] = asked.get("approvals") or ()
    if not approvals:
        return None
    decisions = {"type": "array", "minItems": 1, "items": {"anyOf": [_decision(each) for each in approvals]}}
    return {"type": "object", "properties": {"decisions": decisions}, "required": ["decisions"]}


def _decision(approval: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "approval_id": {"const": approval["id"]},
            "digest": {"const": approval["digest"]},
            "type": {"enum": DECISIONS},
            "message": {"type": "string"},
            "arguments": {"type": "object"},
        },
        "required": ["approval_id", "digest", "type"],
        "additionalProperties": False,
    }


def _request(approval: Approval) -> dict[str, Any]:
    return {
        "name": approval.tool,
        "args": approval.arguments,
        "arguments": approval.arguments,
        "description": approval.preview.get("summary", approval.tool),
    }
