"""The node that hands operations to the gateway: reads in parallel, effects one after another in order."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import cast

from nodes.agent import Agents
from nodes.driver import Driving
from nodes.judge import Judge
from nodes.planner import Planner, use_of
from nodes.planning import Place, plan
from nodes.standing import Standing, at_its_end
from nodes.step import Moment, Step, Update
from state.digest import Json
from state.operation import Operation
from state.run import Lease, Run
from store import operations
from store.ledger import Facts
from store.operations import Planned
from store.transaction import RunTransaction
from tools.claim import IN_DOUBT
from tools.contract import Call, CancelToken, ReadTool, Tool, WriteTool
from tools.gateway import Gateway, ReadOutcome, read
from tools.policy import Policy
from tools.settle import cancel_later_writes, settled

PARALLEL_READS = 4
ACTIONABLE = IN_DOUBT | {"planned", "approved"}
LATER = frozenset({"unknown", "later"})  # its outcome is not known yet, or it is tried again later


class ExecuteTool(Step):
    """Judges a turn that only reads by itself, because reads come here without having been planned."""

    name = "execute_tool"
    stands_at = frozenset({"execute_tool", "validate"})  # a turn that only reads comes here unplanned

    def __init__(self, driving: Driving, agents: Agents, judge: Judge, gateway: Gateway, policy: Policy) -> None:
        super().__init__(driving, agents, judge)
        self._gateway = gateway
        self._planner = Planner(self.ledger, policy)

    def fits(self, where: Standing) -> bool:
        """Whoever comes back to an unknown outcome asks the target again."""
        return where.reason == "reconciliation" or super().fits(where)

    def act(self, at: Moment) -> Update:
        if not at.facts.operations:
            return self._reads(at.lease, at.facts, at.token)
        return self._operations(at.lease, at.facts, at.token)

    # --- reads, checked before and charged with their record ----------------------------------------------

    def _reads(self, lease: Lease, facts: Facts, token: CancelToken) -> Update:
        assert facts.turn is not None
        judged = self.judge.judge(facts)
        if not isinstance(judged, list) or any(each.tool.effect != "read" for each in judged):
            return {"outcome": "reread"}
        turn, source = facts.turn.turn, facts.turn.source
        planned = [
            plan(Place(lease.run_id, turn, index, 1, source), each, "planned") for index, each in enumerate(judged)
        ]
        outcomes = self._read_all(
            [(checked.tool, each) for checked, each in zip(judged, planned, strict=True)], facts, token
        )
        with self.ledger.acting(lease) as tx:
            for each, outcome in zip(planned, outcomes, strict=True):
                if operations.insert(tx, _with_outcome(each, outcome)):
                    _say(tx, each, outcome)
            self._charge(tx, outcomes)
        outcome_ids = [each.operation_id for each in planned]
        return {"outcome": "read" if _went_well(outcomes) else "reread", "operation_ids": outcome_ids}

    def _planned_reads(self, lease: Lease, facts: Facts, token: CancelToken) -> None:
        """The reads of a turn that has effects too: they were planned with it."""
        planned = [each for each in facts.operations if each.effect == "read" and each.status == "planned"]
        if not planned:
            return
        tools = self.agents.tools(facts.run.agent_id)
        outcomes = self._read_all([(tools[each.tool], each) for each in planned], facts, token)
        with self.ledger.acting(lease) as tx:
            for each, outcome in zip(planned, outcomes, strict=True):
                operations.move(
                    tx,
                    each,
                    _status(outcome),
                    error_class=outcome.error_class,
                    detail=outcome.detail,
                    result=outcome.result,
                )
                _say(tx, each, outcome)
            self._charge(tx, outcomes)

    @staticmethod
    def _charge(tx: RunTransaction, outcomes: Sequence[ReadOutcome]) -> None:
        """A read that the policy did not let happen costs nothing."""
        tx.add(used_tool_calls=sum(not each.denied for each in outcomes))
        failed = any(each.error_class is not None and not each.denied for each in outcomes)
        tx.set(repairs=tx.run["repairs"] + 1 if failed else 0)

    def _read_all(
        self, reads: Sequence[tuple[Tool, Planned | Operation]], facts: Facts, token: CancelToken
    ) -> list[ReadOutcome]:
        """In parallel, a few at a time; each answers with a value, whatever its tool does."""
        task = self.ledger.task_input(facts.run)

        def one(pair: tuple[Tool, Planned | Operation]) -> ReadOutcome:
            tool, each = pair
            call = Call(
                run_id=facts.run.run_id,
                operation_id=each.operation_id,
                key=each.operation_key,
                digest=each.digest,
                arguments=each.arguments,
                principal=facts.run.requester,
                task=task,
                token=token,
            )
            return self._read(facts.run, cast(ReadTool, tool), call)

        if len(reads) == 1:
            return [one(reads[0])]
        with ThreadPoolExecutor(max_workers=PARALLEL_READS) as pool:
            return list(pool.map(one, reads))

    def _read(self, run: Run, tool: ReadTool, call: Call) -> ReadOutcome:
        """Judged at this moment, like an effect."""
        ruling = self._planner.ruling(use_of(run, tool, call.arguments))
        if not ruling.allowed:
            return ReadOutcome(None, ruling.no, ruling.rule, denied=True)
        return read(tool, call)

    # --- effects, in order --------------------------------------------------------------------------------

    def _operations(self, lease: Lease, facts: Facts, token: CancelToken) -> Update:
        tools = self.agents.tools(facts.run.agent_id)
        task = self.ledger.task_input(facts.run)
        ending = facts.run.status == "cancelling" or at_its_end(facts, self.ledger.clock.now())
        if not ending:
            self._planned_reads(lease, facts, token)
        for position, operation in enumerate(facts.operations):
            if operation.effect == "read" or not self._has_its_turn(operation, ending):
                continue
            status = self._one(lease, operation, tools.get(operation.tool), task, token, ending)
            if status in LATER:
                return {"outcome": "unknown"}
            if status == "superseded":
                return {"outcome": status}
            if status in {"no_budget", "busy", "expired"}:
                return {"outcome": "reread"}
            if status != "committed":
                self._cancel_later(lease, facts.operations[position + 1 :])
                return {"outcome": "reread"}
        return {"outcome": "done"}

    @staticmethod
    def _has_its_turn(operation: Operation, ending: bool) -> bool:
        """At the end nothing new happens: what was never claimed, or whose lookups are spent, is left as it is."""
        if ending:
            return operation.in_flight
        return operation.status in ACTIONABLE or (operation.status == "failed" and operation.to_come is not None)

    def _one(
        self, lease: Lease, operation: Operation, tool: Tool | None, task: Json, token: CancelToken, ending: bool
    ) -> str:
        """The operation's status after the gateway had it."""
        in_doubt = operation.status in IN_DOUBT
        if not isinstance(tool, WriteTool) or (in_doubt and tool.version != operation.tool_version):
            self._cannot_ask(lease, operation)
            return "unknown"
        handle = self._gateway.look_up if ending else self._gateway.execute
        return handle(lease, operation, tool, task, token)

    def _cannot_ask(self, lease: Lease, operation: Operation) -> None:
        """The tool is gone from this program, or is another one: what it did cannot be looked up here."""
        if operation.in_flight:
            with self.ledger.settling(lease) as tx:
                detail = f"{operation.tool}@{operation.tool_version} is not in this program"
                settled(tx, operation, "unknown", error_class="unknown_outcome", detail=detail, by="claim")

    def _cancel_later(self, lease: Lease, later: list[Operation]) -> None:
        if any(each.status in {"planned", "approved"} for each in later):
            with self.ledger.settling(lease) as tx:
                cancel_later_writes(tx, later)


def _went_well(outcomes: Sequence[ReadOutcome]) -> bool:
    return all(each.error_class is None for each in outcomes)


def _status(outcome: ReadOutcome) -> str:
    if outcome.denied:
        return "denied"
    return "committed" if outcome.error_class is None else "failed"


def _with_outcome(planned: Planned, outcome: ReadOutcome) -> Planned:
    return replace(
        planned,
        status=_status(outcome),
        result=outcome.result,
        error_class=outcome.error_class,
        detail=outcome.detail,
    )


def _say(tx: RunTransaction, operation: Planned | Operation, outcome: ReadOutcome) -> None:
    """One line of the timeline about a read; of what was read only name and content hash."""
    payload = {"operation_id": operation.operation_id, "tool": operation.tool, "effect": "read"}
    if outcome.denied:
        tx.event("policy.denied", {**payload, "rule": outcome.detail})
        return
    if outcome.error_class is not None:
        payload |= {"error_class": outcome.error_class, "detail": (outcome.detail or "")[:500]}
    elif outcome.result is not None and "sha256" in outcome.result:
        payload |= {"sha256": outcome.result["sha256"], "name": str(outcome.result.get("name", ""))}
    tx.event("tool.call.completed" if outcome.error_class is None else "tool.call.failed", payload)
