"""From checked actions to operations that are written down, under the policy of this moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nodes.planning import Aim, Checked, Place, aim_of, plan, preview_of
from state.agent import AgentDefinition
from state.digest import Json
from state.errors import ToolError
from state.run import Run
from store import approvals, operations
from store.ledger import Ledger
from store.operations import Planned
from store.transaction import RunTransaction
from tools.approving import Approving
from tools.contract import Tool, WriteTool, amount_of
from tools.policy import Policy, Question, Ruling, Use

EDITED = frozenset({"edited_from", "edited_by"})  # is not for a tool's preview to say


class Planner:
    """Plans what was checked, and writes it down with its questions."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        self._ledger = ledger
        self._policy = policy
        self._approving = Approving(policy)

    def plan(self, place: Place, checked: Checked, cites: Sequence[Json], run: Run) -> tuple[Planned, Json]:
        """The operation, and the preview for an approver.

        It is planned, awaiting approval, or denied; failed where the tool or its target could not even be asked.
        """
        tool, arguments = checked.tool, checked.arguments
        aim, preview = Aim(place.key), Json()
        try:
            if isinstance(tool, WriteTool):
                aim = aim_of(tool, arguments, place.key)
                shown = preview_of(tool, arguments)
                preview = {name: shown[name] for name in shown if name not in EDITED} | {"cites": list(cites)}
            use = use_of(run, tool, arguments, aim.resource)
            ruling = self.ruling(use)
        except ToolError as error:
            return replace(plan(place, checked, "failed"), error_class=error.error_class, detail=str(error)), {}
        if not ruling.allowed:
            denied = plan(place, checked, "denied", aim, ruling)
            return replace(denied, error_class=ruling.no, detail=ruling.rule), {}
        asks = isinstance(tool, WriteTool) and (tool.needs_approval or ruling.needs.approval)
        planned = plan(place, checked, "awaiting_approval" if asks else "planned", aim, ruling)
        return replace(planned, amount=use.amount), preview

    def ruling(self, use: Use) -> Ruling:
        """May this be done now? Raises ToolError where the target cannot be asked."""
        with self._ledger.database.read() as connection:
            return self._policy.may_use(connection, self._ledger.tenant, use)

    def write_down(self, tx: RunTransaction, planned: Planned, preview: Json, definition: AgentDefinition) -> bool:
        """One operation with its question, if it needs one; True if that has to be answered by somebody.

        A question that a standing rule answers is written down with that answer. Writing twice changes nothing.
        """
        if not operations.insert(tx, planned):
            return planned.status == "awaiting_approval"
        named = {"operation_id": planned.operation_id, "tool": planned.tool, "digest": planned.digest}
        ruled = {"policy": {"version": planned.policy_version, "rule": planned.policy_rule}}
        tx.event("operation.planned", {**named, "turn": planned.turn, "generation": planned.generation, **ruled})
        if planned.status == "denied":
            tx.event("policy.denied", {**named, "rule": planned.policy_rule})
        if planned.status == "failed":
            tx.event("tool.call.failed", {**named, "error_class": planned.error_class, "detail": planned.detail})
            tx.add(repairs=1)
        return planned.status == "awaiting_approval" and self._asked(tx, planned, preview, definition)

    def _asked(self, tx: RunTransaction, planned: Planned, preview: Json, definition: AgentDefinition) -> bool:
        expires_at = tx.now + definition.approval_ttl_s * 1000
        needs = planned.needs or approvals.NOBODY_IN_PARTICULAR
        approval = approvals.request(tx, planned, preview, expires_at, needs)
        asked = {"operation_id": planned.operation_id, "tool": planned.tool, "digest": planned.digest}
        whose = {"role": approval.role, "quorum": approval.quorum} if approval.role or approval.quorum > 1 else {}
        tx.event("approval.requested", {**asked, "approval_id": approval.approval_id, **whose})
        question = Question.of(approval, tx.run["agent_id"], planned.amount)
        return not self._approving.by_rules(tx, approval, question)


def use_of(run: Run, tool: Tool, arguments: Json, resource: str | None = None) -> Use:
    """What the run's requester would have done. Raises ToolError where the tool cannot say its amount."""
    amount = amount_of(tool, arguments) if isinstance(tool, WriteTool) else None
    return Use(run.requester, run.agent_id, tool, arguments, resource, amount)
