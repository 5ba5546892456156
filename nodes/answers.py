"""The second door: an answer is recorded, before any graph is touched.

A decision counts only as a row in the ledger, made by an actor whom trusted code named. Nothing in an answer names its
approver, and anything but an exact, valid answer to a pending approval is recorded as refused and asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nodes.agent import Agents
from nodes.authorize import cites_of
from nodes.concerned import Concerned
from nodes.due import look
from nodes.judge import Judge
from nodes.planner import Planner
from nodes.planning import Checked, Place, Refusal, valid_arguments
from nodes.shapes import Answer, BadAnswer, read_answers
from state.actor import Actor
from state.approval import Approval, Decision
from state.errors import (
    AnswerRefused,
    ApprovalAlreadyDecided,
    ApprovalDigestMismatch,
    ApprovalExpired,
    ApprovalNotFound,
    InputInvalid,
    NotAnApprover,
    RemitError,
    RunAlreadyTerminal,
    StoreError,
)
from state.operation import Operation
from state.run import Run
from store import approvals, audit, operations
from store.ledger import Facts, Ledger
from store.operations import Planned
from store.transaction import RunTransaction
from tools.approving import enough, record
from tools.policy import Policy, Ruling

Shown = Callable[[], Sequence[Any]]
Successor = tuple[Planned, dict[str, Any]]  # the operation that an edit becomes, and its preview


def nothing_shown() -> Sequence[Any]:
    """For callers who have no thread: only answers with ids count then."""
    return ()


@dataclass(slots=True)
class Recorded:
    """What became of the answers that came in together: approval ids decided, and errors for those refused."""

    decided: list[str] = field(default_factory=list[str])
    refused: list[RemitError] = field(default_factory=list[RemitError])


class Answers:
    """Records answers for one ledger."""

    def __init__(self, ledger: Ledger, agents: Agents, judge: Judge, policy: Policy) -> None:
        self._ledger = ledger
        self._agents = agents
        self._judge = judge
        self._planner = Planner(ledger, policy)
        self._concerned = Concerned(agents, policy)

    def record(self, actor: Actor, run_id: str, value: Any, shown: Shown = nothing_shown) -> Recorded:
        """Record whatever somebody sent in answer to a run's question.

        `shown` gives the interrupts that are pending on the run's thread (objects with `id` and `value`, or dicts with
        these keys); an answer without approval ids counts only if they show exactly what is pending in the ledger.
        Raises RunNotFound, RunAlreadyTerminal (NotAnApprover for whom an ended run does not concern), StoreError; a bad
        answer raises nothing, it is in `refused`.
        """
        look(self._ledger, run_id)
        run = self._ledger.run(run_id)
        if run.ended:
            raise self._too_late(actor, run)
        try:
            answers = read_answers(value, shown, self._ledger.facts(run_id).questions)
        except BadAnswer as bad:
            return Recorded(refused=[self._refuse(actor, run_id, AnswerRefused(str(bad)))])
        recorded = Recorded()
        for answer in answers:
            try:
                recorded.decided.append(self.decide(actor, answer, run_id=run_id))
            except StoreError:
                raise  # it may have been recorded: nobody has refused it
            except RemitError as error:
                recorded.refused.append(error)
        return recorded

    def decide(self, actor: Actor, answer: Answer, *, run_id: str | None = None) -> str:
        """One answer to one approval; answers its id.

        Raises ApprovalNotFound, NotAnApprover, ApprovalDigestMismatch, ApprovalExpired, ApprovalAlreadyDecided (with
        the decision that stands), RunAlreadyTerminal, InputInvalid for an edit that does not hold. Each is recorded.
        """
        approval = self._find(answer.approval_id)
        if run_id is not None and approval is not None and approval.run_id != run_id:
            approval = None  # another run's approval does not exist for this one
        if approval is None:
            missing = ApprovalNotFound(answer.approval_id)
            raise self._unknown(actor, missing) if run_id is None else self._refuse(actor, run_id, missing)
        look(self._ledger, approval.run_id)
        try:
            successor = self._successor(actor, approval.run_id, answer) if answer.type == "edit" else None
            with self._ledger.control(approval.run_id, actor) as tx:
                self._decide(tx, actor, answer, successor)
        except StoreError:
            raise
        except RemitError as error:
            raise self._refuse(actor, approval.run_id, error) from None
        return approval.approval_id

    def withdraw(self, actor: Actor, approval_id: str) -> str:
        """Take one's own answer back; the approval is pending again. Answers its id.

        Raises ApprovalNotFound, NotAnApprover for who has not answered it, RunAlreadyTerminal, and
        ApprovalAlreadyDecided where it is too late: claimed, rejected, edited, expired. Each is recorded.
        """
        approval = self._find(approval_id)
        if approval is None:
            raise self._unknown(actor, ApprovalNotFound(approval_id))
        look(self._ledger, approval.run_id)
        try:
            with self._ledger.control(approval.run_id, actor) as tx:
                self._withdraw(tx, actor, approval_id)
        except StoreError:
            raise
        except RemitError as error:
            raise self._refuse(actor, approval.run_id, error) from None
        return approval_id

    def _find(self, approval_id: str) -> Approval | None:
        with self._ledger.database.read() as connection:
            return approvals.get(connection, self._ledger.tenant, approval_id)

    def _successor(self, actor: Actor, run_id: str, answer: Answer) -> Successor:
        """What an edit becomes. Worked out before the answer's transaction: a target may be slow to say its version."""
        with self._ledger.control(run_id, actor) as tx:
            facts, approval, _ = self._checked(tx, actor, answer)
        return self._edited(facts, approval, answer, actor.subject)

    # --- inside one transaction on the run ----------------------------------------------------------------

    def _checked(self, tx: RunTransaction, actor: Actor, answer: Answer) -> tuple[Facts, Approval, Ruling]:
        """What the answer is about, and by what this actor may give it now; raises what `decide` raises."""
        facts = self._ledger.facts_in(tx.connection, tx.run_id)
        approval = approvals.get(tx.connection, tx.tenant, answer.approval_id)
        assert approval is not None
        return facts, approval, self._check(tx, actor, answer, approval, facts)

    def _decide(self, tx: RunTransaction, actor: Actor, answer: Answer, successor: Successor | None) -> None:
        facts, approval, by = self._checked(tx, actor, answer)
        seen = answer.digest or approval.digest
        decision = Decision(actor.subject, answer.type, answer.message, seen, tx.now, by.version, by.rule)
        if not record(tx, approval, decision, actor):
            raise ApprovalAlreadyDecided(f"{actor.subject} has answered approval {approval.approval_id} before.")
        self._take_effect(tx, approval, _operation_of(facts, approval), answer.type)
        if successor is not None:
            planned, preview = successor
            self._planner.write_down(tx, planned, preview, self._agents.get(facts.run.agent_id).definition)
        self._wake(tx)

    def _withdraw(self, tx: RunTransaction, actor: Actor, approval_id: str) -> None:
        facts = self._ledger.facts_in(tx.connection, tx.run_id)
        approval = approvals.get(tx.connection, tx.tenant, approval_id)
        assert approval is not None
        if not self._concerned.by_question(tx.connection, tx.tenant, actor.subject, approval, facts.run):
            raise NotAnApprover(f"{actor.subject} has not answered approval {approval_id}.")
        if facts.run.ended:
            raise RunAlreadyTerminal(f"Run {tx.run_id} has ended ({facts.run.status}); its answers stand.")
        operation = next((each for each in facts.operations if each.operation_id == approval.operation_id), None)
        if operation is None or operation.status not in {"awaiting_approval", "approved"}:
            stands = self._standing(tx, approval)
            raise ApprovalAlreadyDecided(f"Approval {approval_id} is {approval.status}, too late to change: {stands}.")
        if not approvals.withdraw(tx, approval, actor.subject):
            raise NotAnApprover(f"{actor.subject} has not answered approval {approval_id}.")
        tx.event("approval.withdrawn", {"approval_id": approval_id})
        name = f"approval:{approval_id}"
        audit.append(tx.connection, tx.tenant, tx.now, actor, "approval.withdraw", name, "withdrawn")
        if operation.status == "approved" and not enough(tx.connection, tx.tenant, approval):
            approvals.move(tx, approval, "pending")
            operations.move(tx, operation, "awaiting_approval")

    def _check(self, tx: RunTransaction, actor: Actor, answer: Answer, approval: Approval, facts: Facts) -> Ruling:
        run, says_no = facts.run, answer.type == "reject" or facts.run.ended
        ruling = self._concerned.ruling(tx.connection, tx.tenant, actor.subject, approval, run, says_no=says_no)
        if not ruling.allowed:
            raise NotAnApprover(f"{actor.subject} may not decide about {approval.tool} ({ruling.rule}).")
        if run.ended:
            stands = self._standing(tx, approval)
            raise RunAlreadyTerminal(
                f"Run {tx.run_id} has ended ({run.status}); no answer changes it. What stands: {stands}."
            )
        if approval.status == "expired":
            raise ApprovalExpired(
                f"Approval {approval.approval_id} has expired; `remit approvals` shows what is asked now."
            )
        if approval.status != "pending":
            stands = self._standing(tx, approval)
            raise ApprovalAlreadyDecided(f"Approval {approval.approval_id} is {approval.status} already: {stands}.")
        if approval.expires_at <= tx.now:
            raise ApprovalExpired(f"Approval {approval.approval_id} has expired; it will be asked again.")
        if answer.digest is not None and answer.digest != approval.digest:
            raise ApprovalDigestMismatch(
                f"Approval {approval.approval_id} is about digest {approval.digest[:12]}…, the answer about"
                f" {answer.digest[:12]}…: look at it again."
            )
        return ruling

    @staticmethod
    def _standing(tx: RunTransaction, approval: Approval) -> str:
        """The decisions that stand, in words."""
        made = approvals.decisions_of(tx.connection, tx.tenant, approval.approval_id)
        return ", ".join(f"{each.answer} by {each.approver}" for each in made) or approval.status

    def _take_effect(self, tx: RunTransaction, approval: Approval, operation: Operation, answer: str) -> None:
        if answer == "approve" and not enough(tx.connection, tx.tenant, approval):
            return
        approval_status = {"approve": "approved", "reject": "rejected", "edit": "superseded"}[answer]
        approvals.move(tx, approval, approval_status)
        operations.move(tx, operation, approval_status)
        if answer == "edit":
            tx.event("approval.superseded", {"approval_id": approval.approval_id, "why": "edited"})

    def _edited(self, facts: Facts, approval: Approval, answer: Answer, editor: str) -> Successor:
        """An approver's arguments are a proposal like any other: validated, authorised, and asked again."""
        operation = _operation_of(facts, approval)
        tool = self._agents.tools(facts.run.agent_id).get(operation.tool)
        lacks = self._agents.lacks(facts, self._ledger.definition)
        if tool is None or lacks is not None:
            missing = operation.tool if lacks is None else f"{lacks['needs']}, for {lacks['why']}"
            raise InputInvalid(f"The edit is not taken: this program does not have {missing}. Edit it where that is.")
        if answer.tool is not None and answer.tool != operation.tool:
            raise InputInvalid(f"An edit cannot turn {operation.tool} into {answer.tool}: reject it instead.")
        arguments = valid_arguments(tool, answer.arguments or {})
        if isinstance(arguments, Refusal):
            raise InputInvalid(f"The edit is not taken: {arguments.why}")
        expected = self._judge.expectation(facts.run)
        if not expected.admits(tool.name, arguments):
            wrong = ", ".join(expected.differences(arguments))
            raise InputInvalid(f"The edit is not taken: {wrong} would differ from what the recorded sources say.")
        assert facts.turn is not None
        place = Place(facts.run.run_id, operation.turn, operation.index, operation.generation + 1, "human")
        cites = cites_of(facts.turn.proposal, operation.index)
        planned, preview = self._planner.plan(place, Checked(tool, arguments), cites, facts.run)
        if planned.status == "failed":
            raise InputInvalid(f"The edit is not taken: it could not be checked ({planned.detail}). Try again.")
        return planned, {**preview, "edited_from": approval.digest, "edited_by": editor}

    def _wake(self, tx: RunTransaction) -> None:
        """An answer queues the run, once no question of it is open any more."""
        facts = self._ledger.facts_in(tx.connection, tx.run_id)
        if tx.run["status"] != "waiting" or any(each.status == "awaiting_approval" for each in facts.operations):
            return
        tx.move("queued")

    # --- refusals are facts too ---------------------------------------------------------------------------

    def _refuse(self, actor: Actor, run_id: str, error: RemitError) -> RemitError:
        with self._ledger.control(run_id, actor) as tx:
            if tx.run["ended_at"] is None:
                tx.event("approval.refused", {"why": error.code})
            self._append_refusal(tx, actor, str(error))
        return error

    def _unknown(self, actor: Actor, error: ApprovalNotFound) -> RemitError:
        """Of no run: only the audit has it."""
        ledger, said = self._ledger, {"why": str(error)[:1000]}
        with ledger.database.write() as connection:
            now, name = ledger.clock.now(), "approval:unknown"
            audit.append(connection, ledger.tenant, now, actor, "approval.decide", name, "refused", detail=said)
        return error

    def _too_late(self, actor: Actor, run: Run) -> RemitError:
        error: RemitError = RunAlreadyTerminal(
            f"Run {run.run_id} has ended ({run.status}, {run.reason}); no answer changes it."
        )
        with self._ledger.control(run.run_id, actor) as tx:
            if not self._concerned.by_run(tx.connection, tx.tenant, actor.subject, run):
                error = NotAnApprover(f"{actor.subject} may not decide about anything in run {run.run_id}.")
            self._append_refusal(tx, actor, str(error))
        return error

    @staticmethod
    def _append_refusal(tx: RunTransaction, actor: Actor, why: str) -> None:
        name, said = f"run:{tx.run_id}", {"why": why[:1000]}
        audit.append(tx.connection, tx.tenant, tx.now, actor, "approval.decide", name, "refused", detail=said)


def _operation_of(facts: Facts, approval: Approval) -> Operation:
    return next(each for each in facts.operations if each.operation_id == approval.operation_id)
