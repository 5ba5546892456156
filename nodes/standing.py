"""Where a run stands, worked out from the journal alone.

This is what lets a checkpoint be lost, stale or forged: whoever comes back to a run asks here what is next, and the
node that ends a run asks here whether the ledger agrees that it has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nodes.agent import Agent
from nodes.planning import Refusal, read_proposal
from state.acceptance import Expectation
from state.budget import Usage, shortfall
from state.errors import ToolError
from state.operation import Operation
from store.ledger import Facts
from tools.contract import foreign

MAX_TAKEOVERS = 5
STOPPED = "stopped"  # the kind of a turn in which nobody was asked, because the agent is stopped
MAX_GENERATIONS = 20
# What a claim that was made before, and is not made again, says about why.
_DENIED = {"not_permitted": "permission_revoked", "emergency_stop": "emergency_stop", "policy": "policy"}


@dataclass(frozen=True, slots=True)
class Standing:
    """The next step, and for `finish` and `wait` with which status and reason."""

    step: str
    status: str | None = None
    reason: str | None = None


def finish(status: str, reason: str) -> Standing:
    return Standing("finish", status, reason)


def standing(facts: Facts, agent: Agent | None, now: int, expectation: Callable[[], Expectation]) -> Standing:
    """The next step of a run. `agent` is None where this program does not know its agent or state version.

    `expectation` is asked only where acceptance decides.
    """
    if facts.run.ended:
        return Standing("ended", facts.run.status, facts.run.reason)
    ending = _ending(facts, now)
    if ending is not None:
        # What is in flight is looked up before the run ends; what stays unknown after that ends as unknown.
        return _in_flight(facts, now) or ending
    if agent is None:
        return Standing("wait", "waiting", "migration")
    if facts.run.desired_action == "pause":
        return Standing("wait", "paused", "user")
    return _of_turn(facts, agent, now, expectation)


def _in_flight(facts: Facts, now: int) -> Standing | None:
    """What is to be done about outcomes that can still be found out, or None if there are none."""
    return _to_come([each for each in facts.operations if each.in_flight], now)


def _to_come(open_: list[Operation], now: int) -> Standing | None:
    """Look, or try again, if that is due for one of these; wait, if it is for none."""
    if not open_:
        return None
    due = any(each.to_come is None or each.to_come <= now for each in open_)
    return Standing("execute_tool") if due else Standing("wait", "waiting", "external")


def _of_turn(facts: Facts, agent: Agent, now: int, expectation: Callable[[], Expectation]) -> Standing:
    """What follows from the last turn and what became of it."""
    if facts.turn is None:
        return next_turn(facts, agent)
    if facts.turn.source == "remit":
        stopped = facts.turn.proposal.get("kind") == STOPPED
        return finish("denied", "emergency_stop") if stopped else finish("failed", "model_failed")
    if facts.turn.refusal is not None:
        return _after_refusal(facts, agent)
    if facts.operations:
        return _of_operations(facts, agent, now, expectation)
    return _of_word(facts, agent, expectation)


def at_its_end(facts: Facts, now: int) -> bool:
    """Is the run to end, or to be left to a person, whatever comes? Then what is in flight is only looked up."""
    return _ending(facts, now) is not None


def _ending(facts: Facts, now: int) -> Standing | None:
    run = facts.run
    if run.status == "cancelling" or run.desired_action == "cancel":
        return finish("cancelled", "user")
    if run.deadline is not None and run.deadline <= now:
        return finish("timed_out", "deadline")
    if run.desired_action == "take_over":
        return Standing("wait", "waiting", "takeover")
    if run.takeovers > MAX_TAKEOVERS:
        return finish("failed", "attempts_exhausted")
    return None


def next_turn(facts: Facts, agent: Agent) -> Standing:
    """Another decision, if the budget has room for its worst case."""
    if agent.decider is None:
        return Standing("decide") if facts.turn is None else _stuck(facts)
    decider = agent.decider
    try:
        worst = worst_of(foreign(decider.worst_case, "internal"), 1 + facts.run.takeovers)
    except ToolError:  # what it may cost cannot be told, so it is not asked
        return finish("failed", "model_failed")
    return _with_room(facts, agent, "decide", {**worst, "turns": 1})


def worst_of(usage: Usage, calls: int) -> dict[str, int]:
    """The most that so many proposals can cost. Each driver that died over this turn may have paid for one."""
    return {measure: amount * calls for measure, amount in usage.model_dump().items()}


def _stuck(facts: Facts) -> Standing:
    """An agent that nobody can ask again ends with what became of its only turn."""
    statuses = {each.status for each in facts.operations}
    if "rejected" in statuses:
        return finish("denied", "approval_rejected")
    if "denied" in statuses:
        return finish("denied", "policy")
    return finish("failed", "tool_failed" if statuses else "proposal_invalid")


def _after_refusal(facts: Facts, agent: Agent) -> Standing:
    assert facts.turn is not None
    if facts.turn.denied and agent.definition.on_denial != "tell":
        return _no(agent.definition.on_denial, "policy")
    if facts.run.repairs > agent.definition.max_repairs:
        return finish("failed", "proposal_invalid")
    return next_turn(facts, agent)


def _of_word(facts: Facts, agent: Agent, expectation: Callable[[], Expectation]) -> Standing:
    """A turn without operations: its word still has to be validated, unless acceptance already confirms it."""
    assert facts.turn is not None
    proposal = read_proposal(facts.turn.proposal)
    if isinstance(proposal, Refusal):
        return Standing("validate")
    if proposal.kind == "actions":
        return _with_room(facts, agent, "validate", {"tool_calls": len(proposal.actions)})
    if proposal.actions:
        return Standing("validate")
    if proposal.kind == "continue":
        return next_turn(facts, agent)
    end = confirmed(proposal.claim, expectation())
    return Standing("validate") if end is None else end


def confirmed(claim: object, expected: Expectation) -> Standing | None:
    """The end that a final word leads to, if the acceptance criteria agree with it; None if they do not."""
    kind = claim if expected.kind == "open" else expected.kind
    if claim != kind:
        return None
    if kind == "insufficient_evidence":
        return finish("insufficient_evidence", "evidence_missing")
    if kind in {"nothing_to_do", "completed"}:
        return finish("succeeded", str(kind))
    return None


def _of_operations(facts: Facts, agent: Agent, now: int, expectation: Callable[[], Expectation]) -> Standing:
    operations = facts.operations
    if any(each.status == "awaiting_approval" for each in operations):
        room = _with_room(facts, agent, "approve", {})
        return Standing("approve", "waiting", "approval") if room.step == "approve" else room
    refused = _of_refused(operations, agent)
    if refused is not None:
        return refused
    in_flight = _in_flight(facts, now)
    if in_flight is not None:
        return in_flight
    if any(each.status == "unknown" for each in operations):
        return Standing("wait", "waiting", "reconciliation")
    again = [each for each in operations if each.status == "failed" and each.to_come is not None]
    if again:
        return _of_another_try(again, facts, agent, now)
    if any(each.status in {"planned", "approved"} for each in operations):
        return _of_ready(facts, agent)
    return _of_settled(facts, agent, now, expectation)


def _of_another_try(again: list[Operation], facts: Facts, agent: Agent, now: int) -> Standing:
    """Calls that did nothing and are made again: in their time, if the budget has room and nobody else has the key."""
    due = _to_come(again, now)
    assert due is not None
    if due.step == "wait" or any(each.operation_id in facts.held_elsewhere for each in again):
        return Standing("wait", "waiting", "external")
    return _with_room(facts, agent, "execute_tool", {"tool_calls": 1})


def _of_settled(facts: Facts, agent: Agent, now: int, expectation: Callable[[], Expectation]) -> Standing:
    """Nothing of the turn is open any more: what was committed is verified before anything else is looked at."""
    written = [each for each in facts.operations if each.effect == "write" and each.status == "committed"]
    if any(each.verified is False for each in written):
        return finish("failed", "verification_failed")
    unread = [each for each in written if each.verified is None]
    if unread:
        later = all(each.to_come is not None and each.to_come > now for each in unread)
        return Standing("wait", "waiting", "external") if later else Standing("verify")
    failed = [each for each in facts.operations if each.status == "failed" or _could_not_be_checked(each)]
    if failed:
        return _of_failed(failed, facts, agent)
    return _of_done(written, facts, agent, expectation)


def _could_not_be_checked(operation: Operation) -> bool:
    """Was it not claimed because nobody could say whether it may happen?"""
    return operation.status == "cancelled" and operation.error_class is not None


def _of_ready(facts: Facts, agent: Agent) -> Standing:
    """Operations that may happen now: reads together, effects one by one; each only if the budget has room for it."""
    reads = sum(each.effect == "read" and each.status == "planned" for each in facts.operations)
    room = _with_room(facts, agent, "execute_tool", {"tool_calls": max(reads, 1)})
    ready = [each for each in facts.operations if each.effect == "write" and each.status in {"planned", "approved"}]
    if room.step == "execute_tool" and not reads and ready and ready[0].operation_id in facts.held_elsewhere:
        return Standing("wait", "waiting", "external")
    return room


def _with_room(facts: Facts, agent: Agent, step: str, wanted: dict[str, int]) -> Standing:
    """The step, if the budget has room for its worst case; else the end, or a question to people for more."""
    missing = shortfall(facts.run.limits, facts.run.used, wanted)
    if missing is None:
        return Standing(step)
    if agent.definition.on_budget == "ask" and not facts.run.budget_refused:
        return Standing("wait", "waiting", "budget")
    return finish("budget_exceeded", missing)


def _of_refused(operations: list[Operation], agent: Agent) -> Standing | None:
    """What people, policy and time said no to, as the agent's definition answers it."""
    definition = agent.definition
    for each in operations:
        if each.status == "rejected" and definition.on_rejection != "tell":
            return _no(definition.on_rejection, "approval_rejected")
        if each.status == "denied" and definition.on_denial != "tell":
            return _no(definition.on_denial, each.error_class or "policy")
        if each.status == "expired":
            if definition.on_expiry == "end" or _asked_again(each):
                return finish("timed_out", "approval_expired")
            return Standing("authorize")
        if each.status == "superseded":
            return _planned_again(each)
    return None


def _no(choice: str, reason: str) -> Standing:
    """What follows a no that is not told to the decider: a person takes over, or the run ends."""
    return Standing("wait", "waiting", "takeover") if choice == "take_over" else finish("denied", reason)


def _planned_again(operation: Operation) -> Standing:
    """Another generation of the operation, but not without end: a resource may change faster than it is looked at."""
    if operation.generation >= MAX_GENERATIONS:
        return finish("failed", "tool_failed")
    return Standing("authorize")


def _asked_again(operation: Operation) -> bool:
    """An unanswered question is put again once. One that expired after it was approved is always put again."""
    return operation.generation > 1 and operation.detail != "approved"


def _of_failed(failed: list[Operation], facts: Facts, agent: Agent) -> Standing:
    for each in failed:
        if each.error_class in {"resource_changed", "approval_expired"}:
            return _planned_again(each)
        if each.error_class in _DENIED:
            return finish("denied", _DENIED[each.error_class])
        if each.error_class == "key_conflict":
            return finish("failed", "tool_failed")
    if facts.run.repairs > agent.definition.max_repairs:
        return finish("failed", "tool_failed")
    return next_turn(facts, agent)


def _of_done(written: list[Operation], facts: Facts, agent: Agent, expectation: Callable[[], Expectation]) -> Standing:
    if not written:
        return next_turn(facts, agent)
    expected = expectation()
    if expected.kind == "effect" and any(expected.admits(each.tool, each.arguments) for each in written):
        return finish("succeeded", "completed")
    if expected.kind == "open" and agent.decider is None:
        return finish("succeeded", "completed")
    return next_turn(facts, agent)
