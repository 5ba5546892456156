"""What a policy says, and why: of one request, of a recorded run, and of recorded runs under another policy."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

from graphs.wiring import Parts
from nodes.planner import use_of
from nodes.planning import Refusal, aim_of, valid_arguments
from service.sight import Sight
from state.actor import RULE, Actor
from state.digest import Json
from state.errors import InputInvalid, NotAllowed, ToolError
from state.operation import Operation
from state.run import Run
from store import approvals, operations, runs
from store.database import Connection
from tools.approving import question_of
from tools.cedar import load
from tools.contract import WriteTool, amount_of
from tools.policy import CedarPolicy, Policy, Ruling, Use


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to a policy that a run has put: what was done then, and how to put it again."""

    what: str
    then: str | None
    again: Callable[[Policy, Connection], Ruling]


class Policies:
    """Explains and compares; changes nothing. Every ruling is of this moment: by the rows that hold now."""

    def __init__(self, parts: Parts, actor: Actor) -> None:
        self._parts = parts
        self._ledger = parts.ledger
        self._sight = Sight(parts, actor)
        self._actor = actor

    def rules(self, named: str | None) -> Json:
        """`{version, rules}` of what is named, or of the policy in force. Raises InputInvalid."""
        cedar = load(named or self._parts.settings.policy)
        shown = [{"id": each.id, "effect": each.effect, "where": each.where} for each in cedar.rules.values()]
        return {"version": cedar.version, "rules": shown}

    def explain_use(self, subject: str, agent_id: str, tool_name: str, arguments: Json) -> list[Json]:
        """What this subject would meet: may they start the agent, may it use the tool so.

        Raises AgentNotFound, InputInvalid for a tool or arguments that the agent does not have, and NotAllowed to ask
        for somebody else without the permission to read the audit.
        """
        if subject != self._actor.subject and not self._sight.knows_people():
            raise NotAllowed(f"{self._actor.subject} may not ask what somebody else would meet: it takes audit.")
        self._parts.agents.get(agent_id)
        tool = self._parts.agents.tools(agent_id).get(tool_name)
        if tool is None:
            raise InputInvalid(f"The agent {agent_id} has no tool {tool_name!r}.")
        checked = valid_arguments(tool, arguments)
        if isinstance(checked, Refusal):
            raise InputInvalid(checked.why)
        policy, tenant = self._parts.policy, self._ledger.tenant
        try:
            amount = amount_of(tool, checked) if isinstance(tool, WriteTool) else None
            resource = aim_of(tool, checked, "").resource if isinstance(tool, WriteTool) else None
            with self._ledger.database.read() as connection:
                start = policy.may(connection, tenant, subject, "start", agent_id)
                use = Use(subject, agent_id, tool, checked, resource, amount)
                return [_shown("start", start), _shown("use", policy.may_use(connection, tenant, use))]
        except ToolError as error:
            raise InputInvalid(f"{tool_name} could not be asked: {error}.") from error

    def explain_run(self, run_id: str) -> list[Json]:
        """Each question that the run has put, what was said then, and what is said now. Raises RunNotFound."""
        run = self._ledger.run(run_id)
        self._sight.must_see(run)
        with self._ledger.database.read() as connection:
            return [
                {"then": each.then, **_shown(each.what, each.again(self._parts.policy, connection))}
                for each in self._asked(connection, run)
            ]

    def simulate(self, named: str, limit: int) -> Json:
        """`{version, runs, asked, differ[]}`: what the newest runs would have met under another policy, where that
        differs from what the policy in force says of them now. Raises InputInvalid for a policy that does not hold.
        """
        other = CedarPolicy(load(named))
        differ: list[Json] = []
        asked = 0
        with self._ledger.database.read() as connection:
            found = runs.recent(connection, self._ledger.tenant, limit)
        for run in found:
            if not self._sight.sees(run):
                continue
            with self._ledger.database.read() as connection:
                for each in self._asked(connection, run):
                    asked += 1
                    now, then = each.again(self._parts.policy, connection), each.again(other, connection)
                    if (now.allowed, now.needs) != (then.allowed, then.needs):
                        shown = {"now": _shown(each.what, now), "then": _shown(each.what, then)}
                        differ.append({"run_id": run.run_id, "what": each.what, **shown})
        return {"version": other.version, "runs": len(found), "asked": asked, "differ": differ}

    def _asked(self, connection: Connection, run: Run) -> Generator[Asked]:
        tenant, requester, agent_id = self._ledger.tenant, run.requester, run.agent_id

        def start(policy: Policy, at: Connection) -> Ruling:
            return policy.may(at, tenant, requester, "start", agent_id)

        yield Asked(f"{requester} start {agent_id}", "allowed", start)
        for operation in operations.of_run(connection, tenant, run.run_id):
            yield self._use(run, operation)
            yield from self._decisions(connection, run, operation)

    def _use(self, run: Run, operation: Operation) -> Asked:
        def use(policy: Policy, at: Connection) -> Ruling:
            tool = self._parts.agents.tools(run.agent_id).get(operation.tool)
            if tool is None:
                return Ruling(False, f"this program has no {operation.tool}", policy.version)
            try:
                wanted = use_of(run, tool, operation.arguments, operation.resource)
                return policy.may_use(at, self._ledger.tenant, wanted)
            except ToolError as error:
                return Ruling(False, f"{operation.tool} could not be asked: {error}", policy.version)

        denied = operation.status == "denied"
        return Asked(f"{run.requester} use {operation.tool}", "denied" if denied else "allowed", use)

    def _decisions(self, connection: Connection, run: Run, operation: Operation) -> Generator[Asked]:
        tenant = self._ledger.tenant
        approval = approvals.of_operation(connection, tenant, operation.operation_id)
        if approval is None:
            return
        tool = self._parts.agents.tools(run.agent_id).get(operation.tool)
        for decision in approvals.decisions_of(connection, tenant, approval.approval_id):
            if decision.approver.startswith(RULE):
                continue

            def decide(policy: Policy, at: Connection, approver: str = decision.approver) -> Ruling:
                try:
                    return policy.may_approve(at, tenant, approver, question_of(approval, run.agent_id, tool))
                except ToolError as error:
                    return Ruling(False, f"{approval.tool} could not be asked: {error}", policy.version)

            yield Asked(f"{decision.approver} approve {approval.tool}", decision.answer, decide)


def _shown(what: str, ruling: Ruling) -> Json:
    needs = ruling.needs
    asks = {name: getattr(needs, name) for name in needs.__slots__ if getattr(needs, name) not in (None, False)}
    return {
        "what": what,
        "decision": "allowed" if ruling.allowed else "denied",
        "rule": ruling.rule,
        "asks": asks if ruling.allowed else {},
        "version": ruling.version,
    }
