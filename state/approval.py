"""An approval: the question put to people about exactly one operation, and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from state.clock import iso


@dataclass(frozen=True, slots=True)
class Decision:
    """One person's answer: approve, reject or edit, with the digest they saw."""

    approver: str
    answer: str
    comment: str
    digest_seen: str
    at: int


@dataclass(frozen=True, slots=True)
class Approval:
    """One row of `approvals`. Times are milliseconds since 1970 UTC."""

    approval_id: str
    run_id: str
    operation_id: str
    digest: str
    tool: str
    arguments: dict[str, Any]
    preview: dict[str, Any]
    resource: str | None
    resource_version: int | None
    policy_version: str
    policy_rule: str
    requester: str
    quorum: int
    status: str
    expires_at: int
    created_at: int

    def shown(self) -> dict[str, Any]:
        """What an approver sees, and what `--json` gives for a pending approval."""
        return {
            "id": self.approval_id,
            "run_id": self.run_id,
            "digest": self.digest,
            "tool": self.tool,
            "arguments": self.arguments,
            "preview": self.preview,
            "requester": self.requester,
            "status": self.status,
            "expires_at": iso(self.expires_at),
        }
