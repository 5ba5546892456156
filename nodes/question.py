"""The question that a waiting run puts: a LangChain `HITLRequest`, extended by what Remit needs.

Each request carries its arguments twice, as `args` and as `arguments`: Agent Chat UI reads the one, Agent Inbox the
other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from state.approval import Approval
from store.ledger import Facts
from tools.contract import Tool

DECISIONS = ["approve", "edit", "reject"]


def question(facts: Facts, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """`action_requests` and `review_configs` in order, and beside them run, status and the pending approvals."""
    pending = facts.questions
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
        "approvals": [each.shown() for each in pending],
    }


def _request(approval: Approval) -> dict[str, Any]:
    return {
        "name": approval.tool,
        "args": approval.arguments,
        "arguments": approval.arguments,
        "description": approval.preview.get("summary", approval.tool),
    }
