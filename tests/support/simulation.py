"""Two processes on one data directory, people, offices outside and two clocks; every word of a schedule is a method.

A process is its `Parts`: connections, caches and an owner's lock of its own. What it does runs as tasks, so that it can
be stopped between any two transactions, go on much later, or die.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphs import catalog_check, ticket
from graphs.engines.loop import LoopEngine
from graphs.wiring import Outside, Parts, Settings, open_parts, shipped_tools
from nodes.agent import Agent
from nodes.deciders.decider import View
from nodes.settlements import Settlement
from state.actor import Actor
from state.agent import AgentDefinition
from state.budget import Budget, Usage
from state.errors import IllegalMove, LeaseLost, OperationMismatch, RemitError, RunBusy, StaleVersion
from store import events, permissions
from store.business import BUSINESS_HEAD, BusinessStore, business_metadata
from store.ledger import LEDGER_HEAD, Facts
from store.tables import metadata
from tests.support.faults import Crash
from tests.support.observer import ENDS, Observer
from tests.support.post import SENDERS, Office
from tests.support.schedule import Task, TwoClocks, staged
from tests.support.world import CATALOGUE, NOTE_AGENT, NOTICE, USER, OpenRules

ASKED_FOR_S = 300  # how long a question is open
ROUNDS = 30
HOUR_S = 3600.0

_USUAL = {"approval_ttl_s": ASKED_FOR_S, "budget": Budget(turns=6, tool_calls=8, model_calls=10)}
_LITTLE = Budget(turns=2, tool_calls=2, model_calls=3)
_WRITERS = ("create_note@1", "read_notice@1", *[f"{each.name}@1" for each in SENDERS])


class Plan:
    """Proposes what its task says, turn by turn; then that it is done."""

    name = "plan"

    def propose(self, view: View, token: Any) -> Any:
        lines = json.loads(view.task["about"])
        if view.turn > len(lines):
            return {"kind": "final", "claim": "completed", "usage": {"model_calls": 1}}
        actions = [{"tool": tool, "arguments": arguments} for tool, arguments in lines[view.turn - 1]]
        return {"kind": "actions", "actions": actions, "usage": {"model_calls": 1}}

    def worst_case(self) -> Usage:
        return Usage(model_calls=1)


def _writer(agent_id: str, **changes: Any) -> Agent:
    definition = NOTE_AGENT.model_copy(update={**_USUAL, "agent_id": agent_id, "tools": _WRITERS, **changes})
    return Agent(AgentDefinition.model_validate(definition.model_dump()), catalog_check.Task, OpenRules(), Plan())


def _agents(settings: Settings) -> Iterable[Agent]:
    check = catalog_check.DEFINITION.model_copy(update=_USUAL)
    fixed = ticket.agent()
    return [
        catalog_check.agent(settings, None, check),
        replace(fixed, definition=fixed.definition.model_copy(update=_USUAL)),
        _writer("noter"),
        _writer("teller", on_rejection="tell", on_denial="tell"),
        _writer("giver", on_rejection="take_over", on_denial="take_over"),
        _writer("miser", on_expiry="end", budget=_LITTLE),
        _writer("asker", on_budget="ask", budget=_LITTLE),
    ]


def template(folder: Path) -> Path:
    """A data directory as the first opening leaves it, and the files of the catalogue check."""
    open_parts(Settings(folder / "data", USER)).close()
    shutil.rmtree(folder / "data" / "owners")
    (folder / "notice.md").write_text(NOTICE)
    (folder / "catalogue.csv").write_text(CATALOGUE)
    return folder


class Simulation:
    """`tasks` are those that have begun and may go on; `runs` are ids, in the order in which they were started."""

    def __init__(self, made: Path, folder: Path) -> None:
        shutil.copytree(made / "data", folder / "data")
        self._made, self._folder = made, folder
        self.clock = TwoClocks()
        self.offices = {
            each.name: Office(self.clock, each.dedups_by_key, each.lookup_is_authoritative) for each in SENDERS
        }
        self.observer = Observer(folder / "data", self.offices)
        self.processes = [self._process(), self._process()]
        self.engines = [LoopEngine(each) for each in self.processes]
        self.runs: list[str] = []
        self.tasks: list[tuple[int, Task]] = []
        self._withdrawn: set[tuple[str, str]] = set()

    def _process(self) -> Parts:
        seen = self.observer
        outside = Outside(
            clock=self.clock,
            ledger_database=staged(metadata, LEDGER_HEAD, seen.ledger_committed),
            business_database=staged(business_metadata, BUSINESS_HEAD, seen.business_committed),
            tools=lambda *stores: [*shipped_tools(*stores), *[each(self.offices[each.name]) for each in SENDERS]],
            agents=_agents,
        )
        return open_parts(Settings(self._folder / "data", USER), outside)

    # --- tasks ----------------------------------------------------------------------------------------------

    def _begins(self, process: int, name: str, work: Callable[[], Any], over: int | None) -> Task:
        task = Task(name, work)
        self.tasks.append((process, task))
        self.goes_on(task, over)
        return task

    def goes_on(self, task: Task, over: int | None) -> None:
        task.goes_on(over)
        self._tidied()

    def dies(self, task: Task, when: str) -> None:
        """A thread of a process is gone; the process lives, and so does its lease until it runs out."""
        task.dies(when)
        self._tidied()

    def _tidied(self) -> None:
        for _, task in self.tasks:
            if task.over and task.error is not None:
                self._allowed(task)
        self.tasks = [(process, task) for process, task in self.tasks if not task.over]

    def _allowed(self, task: Task) -> None:
        """What may come out: a death, a lost lease, a refusal in words. Anything else is a bug."""
        bugs = (IllegalMove, StaleVersion, OperationMismatch)
        refused = (Crash, RunBusy, LeaseLost) if task.name.startswith("drive") else (Crash, RemitError)
        for error in [task.error, *getattr(task.answer, "refused", [])]:
            fine = error is None or (isinstance(error, refused) and type(error) not in bugs)
            self.observer.says(fine, f"{task.name} raised {type(error).__name__}: {error}")

    def drive(self, process: int, run: str, over: int | None = None) -> Task:
        engine = self.engines[process]
        return self._begins(process, f"drive {run}", lambda: engine.drive(run), over)

    def wishes(self, process: int, who: str, wish: str, run: str, over: int | None = None) -> Task:
        door = getattr(self.processes[process].controls, wish)
        return self._begins(process, f"{wish} {run}", lambda: door(Actor(who), run), over)

    def answers(self, process: int, who: str, run: str, value: Any, over: int | None = None) -> Task:
        door = self.processes[process].answers
        return self._begins(process, f"answer {run}", lambda: door.record(Actor(who), run, value), over)

    def settles(self, process: int, who: str, run: str, over: int | None = None) -> None:
        """Somebody looks into the offices and says what became of what is unknown, once nothing is under way there."""
        door = self.processes[process].settlements
        for each in self.facts(run).operations:
            office = self.offices.get(each.tool)
            if each.status != "unknown" or office is None or each.operation_key in office.inside:
                continue
            found = office.found(each.operation_key)
            settlement = Settlement(each.operation_id, None if found is None else found.object_id)
            task = self._begins(process, f"settle {run}", lambda given=settlement: door.settle(Actor(who), given), over)
            if found is None and task.over and task.error is None:
                office.excused.append(each.operation_key)

    def gives_budget(self, process: int, who: str, run: str, yes: bool, over: int | None = None) -> None:
        door = self.processes[process].budgets
        work = (lambda: door.grant(Actor(who), run, {"tool_calls": 2})) if yes else lambda: door.refuse(Actor(who), run)
        self._begins(process, f"budget {run}", work, over)

    def process_dies(self, process: int, proven: bool) -> None:
        """All that it did is gone; a new one comes. Its death is proven by its lock, or nobody can tell."""
        for where, task in self.tasks:
            if where == process:
                task.dies()
        self._tidied()
        parts = self.processes[process]
        parts.close()
        if proven:
            (self._folder / "data" / "owners" / parts.owner.name).touch()
        self.processes[process] = self._process()
        self.engines[process] = LoopEngine(self.processes[process])

    # --- people and the world -------------------------------------------------------------------------------

    def starts(self, agent_id: str, given: dict[str, Any], deadline_s: int | None) -> str:
        run = f"run-{len(self.runs) + 1}"
        files = {"notice": str(self._made / "notice.md"), "catalog": str(self._made / "catalogue.csv")}
        given = {**files, **given} if agent_id == "catalog-check" else given
        deadline = None if deadline_s is None else self.clock.now() + deadline_s * 1000
        accept = self.processes[0].accept
        accept.run(Actor(USER), agent_id, given, run_id=run, engine="loop", deadline=deadline)
        self.runs.append(run)
        return run

    def permits(self, subject: str, what: str, yes: bool) -> None:
        """A permission of the ledger, or a grant at a target (which everybody shares at the offices)."""
        self._withdrawn = {*self._withdrawn, (subject, what)} - ({(subject, what)} if yes else set())
        ledger, business = self.processes[0].ledger, self.processes[0].business
        if what in self.offices:
            self.offices[what].granted = yes
        elif what in {"ticket", "note"}:
            change = business.give if yes else _revoked(business)
            change(USER, subject, f"write:{what}")
        else:
            with ledger.database.write() as connection:
                if yes:
                    permissions.give(connection, ledger.tenant, self.clock.now(), USER, subject, what, "*")
                else:
                    permissions.revoke(connection, ledger.tenant, subject, what, "*")

    def beats(self, process: int) -> None:
        """The keepers of a process renew what its tasks hold."""
        for each in self.processes[process].drivings:
            each.beat()

    def facts(self, run: str) -> Facts:
        return self.processes[0].ledger.facts(run)

    def ended(self, run: str) -> bool:
        return self.observer.rows()[run]["status"] in ENDS

    # --- the end --------------------------------------------------------------------------------------------

    def comes_to_an_end(self) -> None:
        """Everybody stops, the world is kind again, and every run can be brought to its end."""
        self.process_dies(0, proven=False)
        for _, task in self.tasks:
            task.dies()
        self._tidied()
        self._is_kind()
        for run in self.runs:
            self._with_patience(run)
            if not self.ended(run):
                self.wishes(0, USER, "cancel", run)
                self._with_patience(run)
            row = self.observer.rows()[run]
            self.observer.says(row["status"] in ENDS, f"{run} is stuck: {row['status']}/{row['reason']}")
        self.observer.look()
        ledger = self.processes[0].ledger
        with ledger.database.read() as connection:
            for run in self.runs:
                broken = events.first_broken(connection, ledger.tenant, run)
                self.observer.says(broken is None, f"{run}: the chain is broken at {broken}")

    def _is_kind(self) -> None:
        for subject, what in list(self._withdrawn):
            if subject == USER:
                self.permits(subject, what, True)
        for each in self.offices.values():
            each.moods, each.silent, each.hides = [], 0, 0
        self.clock.passes(HOUR_S)

    def _with_patience(self, run: str) -> None:
        """Drive, answer yes, resume, settle and give, until the run ends or a person has taken it over."""
        for _ in range(ROUNDS):
            row = self.observer.rows()[run]
            if row["status"] in ENDS or row["reason"] == "takeover":
                return
            if row["desired_action"] == "pause":
                self.wishes(0, USER, "resume", run)
            for asked in self.facts(run).questions:
                self.answers(0, USER, run, decision(asked, "approve"))
            if row["reason"] == "reconciliation":
                self.settles(0, USER, run)
            if row["reason"] == "budget":
                self.gives_budget(0, USER, run, yes=row["max_tool_calls"] < 4)
            self.drive(0, run)
            self.clock.passes(61.0)

    def close(self) -> None:
        for _, task in self.tasks:
            task.dies()
        for parts in self.processes:
            parts.close()
        self.observer.close()


def _revoked(business: BusinessStore) -> Callable[[str, str, str], bool]:
    return lambda by, subject, action: business.revoke(subject, action)


def decision(asked: Any, kind: str, **more: Any) -> dict[str, Any]:
    """Remit's own answer to one question."""
    return {"decisions": [{"approval_id": asked.approval_id, "digest": asked.digest, "type": kind, **more}]}
