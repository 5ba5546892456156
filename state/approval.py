"""An approval: the question put to people about exactly one operation, and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from state.clock import iso


@dataclass(frozen=True, slots=True)
class Needs:
    """What a policy asks for besides its yes: an approval, of whom, of how many, and how often something may happen.

    `role` is whose question it is (None: whoever the policy lets decide); from `escalate_after_s` seconds on holders of
    `escalate_to` may decide as well. `per_hour` bounds the effects of one tool for one principal.
    """

    approval: bool = False
    role: str | None = None
    quorum: int = 1
    escalate_to: str | None = None
    escalate_after_s: int | None = None
    per_hour: int | None = None


NOTHING_MORE = Needs()


@dataclass(frozen=True, slots=True)
class Decision:
    """One person's answer: approve, reject or edit, with the digest they saw, and by what they might decide.

    `number` counts the answers of one person to one approval; all but the last are withdrawn.
    """

    approver: str
    answer: str
    comment: str
    digest_seen: str
    at: int
    policy_version: str | None = None
    policy_rule: str | None = None
    number: int = 1
    withdrawn_at: int | None = None

    def shown(self) -> dict[str, Any]:
        """What others see of it. A standing rule's approver is `rule:NAME@VERSION`; its comment says whose rule."""
        return {"approver": self.approver, "answer": self.answer, "comment": self.comment, "at": iso(self.at)}


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
    role: str | None = None
    escalate_to: str | None = None
    escalate_at: int | None = None
    escalated: bool = False

    @property
    def roles(self) -> frozenset[str]:
        """Whose holders may decide now; empty: whoever the policy lets decide."""
        asked = {self.role, self.escalate_to if self.escalated else None}
        return frozenset(each for each in asked if each is not None)

    def shown(self, decided: Sequence[Decision] = ()) -> dict[str, Any]:
        """What an approver sees, and what `--json` gives for a pending approval. `decided`: the answers that stand.

        `role` is None where the policy names nobody in particular; `escalation.to` may answer too once `in_force`.
        """
        later = {"to": self.escalate_to, "at": iso(self.escalate_at), "in_force": self.escalated}
        return {
            "id": self.approval_id,
            "run_id": self.run_id,
            "digest": self.digest,
            "tool": self.tool,
            "arguments": self.arguments,
            "preview": self.preview,
            "requester": self.requester,
            "role": self.role,
            "quorum": self.quorum,
            "decided": [each.shown() for each in decided],
            "escalation": None if self.escalate_to is None else later,
            "status": self.status,
            "expires_at": iso(self.expires_at),
        }
