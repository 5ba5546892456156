"""What somebody can do with Remit, once: the command line is its first face, a service will be another.

Nothing here prints, asks or reads the environment. Everything is done for one actor, whom trusted code named.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, suppress

from graphs.engines.engine import Engine
from graphs.wiring import Parts
from nodes.due import look
from nodes.settlements import Settlement
from nodes.shapes import Answer
from service.sight import Sight, withheld
from service.view import doubt_view, pending_view, run_view, summary_view
from state.actor import Actor
from state.approval import Approval
from state.clock import iso
from state.digest import Json
from state.errors import ApprovalNotFound, InputInvalid, NotAllowed, RunNotFound
from state.ids import new_run_id
from state.run import Run
from store import approvals, doubt, events, prune, runs

ENGINES = ("langgraph", "loop")


class UseCases:
    """All use cases on the parts of this process. Errors are those of the doors, each a RemitError."""

    def __init__(self, parts: Parts, actor: Actor) -> None:
        self.parts = parts
        self.actor = actor
        self._ledger = parts.ledger
        self._sight = Sight(parts, actor)

    # --- runs -----------------------------------------------------------------------------------------------

    def start(self, agent_id: str, given: Json, engine: str, deadline: int | None = None) -> str:
        """Accept a run, and drive nothing yet. Raises InputInvalid, NotAllowed; then nothing was opened."""
        now = self.parts.clock.now()
        if deadline is not None and deadline <= now:
            raise InputInvalid("The deadline has passed already; give one that lies ahead.")
        run_id, _, _ = self.parts.accept.run(
            self.actor, agent_id, given, run_id=new_run_id(now), engine=engine, deadline=deadline
        )
        return run_id

    def drive(self, run_id: str, engine: str | None = None) -> None:
        """Drive with this engine, or with the one that drove last. Raises RunBusy while another driver lives."""
        with self._engine(engine or self._ledger.run(run_id).engine) as driver:
            driver.drive(run_id)

    def drain(self) -> None:
        """Stop or finish what this process is doing, begin nothing any more, and let go of its runs."""
        for each in list(self.parts.drivings):
            each.drain()

    def has_ended(self, run_id: str) -> bool:
        """Raises RunNotFound."""
        return self._ledger.run(run_id).ended

    @contextmanager
    def _engine(self, name: str) -> Generator[Engine]:
        """Each engine is imported when it is asked for: the loop needs no LangGraph."""
        if name == "loop":
            from graphs.engines.loop import LoopEngine

            yield LoopEngine(self.parts)
        elif name == "langgraph":
            from graphs.engines.langgraph import LangGraphEngine

            with closing(LangGraphEngine(self.parts)) as engine:
                yield engine
        else:
            raise InputInvalid(f"The engine {name!r} is not to be had here: give --engine {' or '.join(ENGINES)}.")

    def run(self, run_id: str) -> Json:
        """The run as it is now; moves that are due are made first. Raises RunNotFound, NotAllowed.

        For who may only watch it, what it is about is left out, and `withheld` is true.
        """
        with self._known(run_id):
            look(self._ledger, run_id)
            run = self._ledger.run(run_id)
            self._sight.must_watch(run)
            agents = self.parts.agents
            lacks = agents.lacks(self._ledger.facts(run_id), self._ledger.definition)
            view = run_view(self._ledger, run_id, self._driver_alive(run), agents.compensates, lacks)
        return view if self._sight.sees(run) else withheld(view)

    @contextmanager
    def _known(self, run_id: str) -> Generator[None]:
        """A run that is not there any more is not there; but when it went can still be said."""
        try:
            yield
        except RunNotFound as error:
            with self._ledger.database.read() as connection:
                gone = prune.pruned(connection, self._ledger.tenant, run_id)
            if gone is not None:
                error.add_note(
                    f"It was pruned on {iso(gone['at'])} by {gone['by']}; its timeline had {gone['events']} lines."
                    f" What is kept of it: remit evidence {run_id}"
                )
            raise

    def outcome(self, run_id: str) -> Json:
        """The run, for whoever has just acted on it: they are told what became of it, whatever else they may see."""
        try:
            return self.run(run_id)
        except NotAllowed:
            run = self._ledger.run(run_id)
            return withheld(run_view(self._ledger, run_id, self._driver_alive(run), self.parts.agents.compensates))

    def sees(self, run_id: str) -> bool:
        """May the actor see all of the run?"""
        return self._sight.sees(self._ledger.run(run_id))

    def recent(self, limit: int) -> list[Json]:
        """The newest runs first; those that the actor may not even watch are left out."""
        with self._ledger.database.read() as connection:
            found = runs.recent(connection, self._ledger.tenant, limit)
        views: list[Json] = []
        for each in found:
            with suppress(RunNotFound):  # pruned meanwhile
                if self._sight.ruling("watch", each).allowed:
                    look(self._ledger, each.run_id)
                    views.append(summary_view(self._ledger.run(each.run_id)))
        return views

    def _driver_alive(self, run: Run) -> bool:
        held = run.nonce is not None and run.owner is not None and run.lease_until > self.parts.clock.now()
        return held and run.owner is not None and not self.parts.owner.is_dead(run.owner)

    def events(self, run_id: str, after: int = 0, limit: int = 100_000) -> list[Json]:
        """The timeline after a number. Raises RunNotFound, NotAllowed."""
        with self._known(run_id):
            self._sight.must_see(self._ledger.run(run_id))
        with self._ledger.database.read() as connection:
            return events.page(connection, self._ledger.tenant, run_id, after, limit)

    def last_event(self, run_id: str) -> int:
        """The number of the newest event. Raises RunNotFound."""
        with self._known(run_id):
            return self._ledger.run(run_id).seq

    def control(self, wish: str, run_id: str) -> str:
        """`cancel`, `pause`, `resume`, `take-over`; the status true with the answer. Raises RunAlreadyTerminal."""
        wishes = {
            "cancel": self.parts.controls.cancel,
            "pause": self.parts.controls.pause,
            "resume": self.parts.controls.resume,
            "take-over": self.parts.controls.take_over,
        }
        with self._known(run_id):
            return wishes[wish](self.actor, run_id)

    def needs_a_driver(self, run_id: str) -> bool:
        """Is there work of this run that nobody does: queued, left by a dead driver, or in flight at a cancel?"""
        run = self._ledger.run(run_id)
        return run.status in {"queued", "running", "cancelling"} and not self._driver_alive(run)

    def again_at(self, run_id: str) -> int | None:
        """When a run looks at its target again by itself, in milliseconds since 1970 UTC; None if it does not."""
        facts = self._ledger.facts(run_id)
        times = [each.to_come for each in facts.operations if each.to_come is not None]
        waits = facts.run.reason == "external" or facts.run.status == "cancelling"
        return min(times, default=None) if waits else None

    # --- outcomes, budgets ----------------------------------------------------------------------------------

    def doubt(self) -> list[Json]:
        """Effects whose outcome is unknown, the oldest first; not those that a driver works on at this moment.

        For who may only watch a run, arguments, key and detail are None; a run that one may not watch is left out.
        """
        with self._ledger.database.read() as connection:
            found = doubt.in_doubt(connection, self._ledger.tenant)
        known = [each for each in found if self._sight.ruling("watch", each.run).allowed]
        hidden = dict.fromkeys(("arguments", "key", "detail"))
        return [
            doubt_view(each) | ({} if self._sight.sees(each.run) else hidden)
            for each in known
            if not self._driver_alive(each.run)
        ]

    def settle(self, operation_id: str, object_id: str | None, comment: str) -> str:
        """A person says what became of an effect; answers the run's id. Raises what `Settlements.settle` raises."""
        return self.parts.settlements.settle(self.actor, Settlement(operation_id, object_id, comment))

    def run_of_operation(self, operation_id: str) -> str:
        """The id of the run that an operation belongs to. Raises OperationNotFound."""
        return self._ledger.operation(operation_id).run_id

    def grant_budget(self, run_id: str, more: Mapping[str, int]) -> Json:
        """Raise a run's limits; the new ones. Raises what `Budgets.grant` raises."""
        return self.parts.budgets.grant(self.actor, run_id, more)

    def refuse_budget(self, run_id: str) -> None:
        """There is no more. Raises what `Budgets.refuse` raises."""
        self.parts.budgets.refuse(self.actor, run_id)

    # --- approvals ------------------------------------------------------------------------------------------

    def approvals(self, limit: int = 1000) -> list[Json]:
        """Questions that are open now, oldest first: those that the actor may answer, or may see as part of a run."""
        with self._ledger.database.read() as connection:
            found = approvals.pending(connection, self._ledger.tenant, limit)
        for run_id in {each.run_id for each in found}:
            look(self._ledger, run_id)
        now = [self.approval(each.approval_id) for each in found]
        open_ = [each for each in now if each.status == "pending" and self._may_read(each)]
        with self._ledger.database.read() as connection:
            decided = approvals.decided_so_far(connection, self._ledger.tenant, open_)
        return [pending_view(each, decided.get(each.approval_id, ())) for each in open_]

    def _may_read(self, approval: Approval) -> bool:
        run = self._ledger.run(approval.run_id)
        return self._sight.decides(approval, run) or self._sight.sees(run)

    def approval(self, approval_id: str) -> Approval:
        """Raises ApprovalNotFound."""
        with self._ledger.database.read() as connection:
            found = approvals.get(connection, self._ledger.tenant, approval_id)
        if found is None:
            raise ApprovalNotFound(approval_id)
        return found

    def decide(self, answer: Answer) -> None:
        """Record one answer, and drive nothing. Raises what `Answers.decide` raises."""
        self.parts.answers.decide(self.actor, answer)

    def withdraw(self, approval_id: str) -> None:
        """Take one's own answer back. Raises what `Answers.withdraw` raises."""
        self.parts.answers.withdraw(self.actor, approval_id)

    def rules(self) -> list[Json]:
        """Standing rules, those that ended too: the actor's own, or all for `Sight.knows_people`."""
        every = self._sight.knows_people()
        return [each.shown() for each in self.parts.rules.all() if every or each.maker == self.actor.subject]

    # --- records --------------------------------------------------------------------------------------------

    def tickets(self, limit: int) -> list[Json]:
        """Newest first; `withdrawn` is the id of the withdrawal of a ticket that no longer holds, or None.

        Those that were made in the actor's name, or all for who may see all runs.
        """
        business = self.parts.business
        withdrawn = {each["ticket"]: each["object_id"] for each in business.objects("withdrawal", sys.maxsize)}
        found = business.objects("ticket", limit, None if self._sight.may("see") else self.actor.subject)
        return [{**each, "withdrawn": withdrawn.get(each["object_id"])} for each in found]
