"""Twenty answers that are no answer to what was asked."""

from __future__ import annotations

from typing import Any

from state.approval import Approval


def malformed_answers(asked: Approval, other: Approval) -> list[Any]:
    """Wrong in shape, count, ids, size or depth; none of them may count. `other` is another run's open question."""
    good = {"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    return [
        None,
        {},
        [],
        "",
        0,
        True,
        "approve",
        {"approved": True},
        {"decision": [good]},
        {"decisions": []},
        {"decisions": "approve"},
        {"decisions": [None]},
        {"decisions": [{"type": "approve"}, {"type": "approve"}]},
        {"decisions": [{**good, "approval_id": "no-such-approval"}]},
        {"decisions": [{**good, "approval_id": other.approval_id, "digest": other.digest}]},
        {"decisions": [{**good, "type": []}]},
        {"decisions": [{**good, "message": "x" * 100_000}]},
        {"decisions": [{**good, "message": deep}]},
        {"0" * 32: {"decisions": [good]}},
        [{"type": "accept", "args": None}, {"type": "accept", "args": None}],
    ]
