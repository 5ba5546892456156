"""The world of a scenario: files, people, a target, a clock, and runs that are started, answered and looked at.

Everything goes through the doors that users go through. `world` is one data directory; `restart` is what a new process
sees of it, `dies` what is left when a process is gone.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphs import catalog_check, ticket
from graphs.engines.engine import Engine
from graphs.engines.loop import LoopEngine
from graphs.wiring import Outside, Parts, Settings, open_parts, shipped_tools
from nodes.agent import Agent
from nodes.deciders.decider import Decider
from nodes.deciders.scripted import Scripted
from nodes.migrations import StateVersions, Step
from nodes.rule_making import NewRule
from state.acceptance import Expectation
from state.actor import Actor
from state.agent import AgentDefinition
from store import audit, permissions
from store.operations import Source
from tests.support.clock import ManualClock
from tests.support.faults import does_afterwards
from tests.support.run_in_world import USER, RunInWorld
from tests.support.target import Box, send_letter
from tests.support.ticket_service import ENVIRONMENT, TicketService
from tools.agent_rules import AgentRules

NOTICE = "Rule on widgets\n\nPublished: January 5, 2026\n\nEffective date: March 1, 2026\n"
NO_DATE = "Proposed rule on widgets\n\nPublished: January 5, 2026\n\nComments are due by March 1, 2026.\n"
CATALOGUE = "id,title,effective\nr1,Rule on widgets,2026-02-01\nr2,Rule on widgets,2026-03-01\n"


class OpenRules:
    """Rules of an agent without acceptance criteria: any valid proposal will do."""

    def accept_input(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"about": str(given.get("about", "something"))}

    def expectation(self, task: dict[str, Any], sources: Sequence[Source]) -> Expectation:
        return Expectation("open", "Nothing in particular is called for.")


NOTE_AGENT = AgentDefinition(
    agent_id="noter",
    version="1",
    instructions="Write one note.",
    decider="scripted",
    tools=("create_note@1", "read_notice@1"),
)


def note(text: str = "all is well", subject: str = "widgets", **more: Any) -> dict[str, Any]:
    """A proposal for one note."""
    action = {"tool": "create_note", "arguments": {"subject": subject, "text": text, **more}}
    return {"kind": "actions", "actions": [action]}


def notes(*subjects: str) -> dict[str, Any]:
    """A proposal for one note about each subject, in one turn."""
    return {"kind": "actions", "actions": [note(subject=each)["actions"][0] for each in subjects]}


def final(claim: str = "completed") -> dict[str, Any]:
    return {"kind": "final", "claim": claim}


@dataclass
class World:
    """Options are set before the first run; `engine_name` is loop or langgraph."""

    folder: Path
    engine_name: str
    clock: ManualClock = field(default_factory=ManualClock)
    outside: Outside = field(default_factory=Outside)
    decider: Decider | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    only_agents: Sequence[str] | None = None
    wrap_rules: Callable[[AgentRules], AgentRules] | None = None
    engine_made: Callable[[Parts], Engine] | None = None
    rule: Callable[[Parts], Parts] | None = None
    tools_file: Path | None = None
    notify_file: Path | None = None
    secrets: dict[str, str] = field(default_factory=lambda: dict(ENVIRONMENT))
    policy: str = "local"
    versions: StateVersions = field(default_factory=StateVersions)
    _opened: list[Parts] = field(default_factory=list)
    _engine: Engine | None = None

    # --- given ----------------------------------------------------------------------------------------------

    def decider_says(self, *lines: Any, usage: Any = None) -> Scripted:
        """Instead of following its rules, the decider says these lines, one a turn."""
        self.decider = Scripted(lines, usage=usage)
        return self.decider  # type: ignore[return-value]

    def agent_has(self, **changes: Any) -> None:
        """Change the definition of all agents: `budget=Budget(...)`, `on_rejection="tell"`, …"""
        self.changes.update(changes)

    def target(self, business: type[Any]) -> None:
        """Another business store stands in place of the ordinary one."""
        self.outside = replace(self.outside, business=business)

    def reader(self, business: type[Any]) -> None:
        """Another reader reads effects back."""
        self.outside = replace(self.outside, reader=business)

    def sends_letters(self, box: Box, *proposals: Any, **contract: Any) -> None:
        """The agent `noter` sends letters to a box outside instead, under this contract; see `target`."""
        tool = send_letter(box, **contract)
        self.outside = replace(self.outside, tools=lambda *stores: [*shipped_tools(*stores), tool])
        self.agent_has(tools=(*NOTE_AGENT.tools, tool.id))
        self.decider_says(*proposals, final())

    def writes_to(self, tickets: TicketService, *changes: tuple[str, str], url: str | None = None) -> TicketService:
        """Tickets are made by this service instead of the business store, under its configuration with some changes."""
        self.tools_file = tickets.configuration(*changes, url=url)
        return tickets

    def has_tool_version(self, name: str, version: str) -> None:
        """This program has a tool in this version only, and no agent that uses it."""

        def tools(*stores: Any) -> list[Any]:
            found = shipped_tools(*stores)
            newer = [
                type(each.__class__.__name__, (type(each),), {"version": version})(*stores)
                for each in found
                if each.name == name
            ]
            return [each for each in found if each.name != name] + newer

        self.only_agents = ["noter"]
        self.outside = replace(self.outside, tools=tools)

    def writes_state_version(self, version: int, steps: Mapping[int, Step] | None = None) -> None:
        """The next program is a later one, with steps from older state versions."""
        self.versions = StateVersions(version, steps or {})

    def loses_its_agents(self) -> None:
        """This program has the agent `ticket` alone, and no tool but the shipped ones."""
        self.only_agents, self.outside = ["ticket"], Outside()
        self.changes.pop("tools", None)

    def dies(self, **databases: Any) -> None:
        """`ledger=` or `business=` a database that dies; see `faults`."""
        named = {f"{name}_database": opened for name, opened in databases.items()}
        self.outside = replace(self.outside, **named)

    def policy_also_says(self, *rules: str, base: str = "local") -> None:
        """Rules of Cedar beside the shipped ones, from the next process on; a later call replaces them."""
        self.policy = ",".join([base, *([self.file("own.cedar", "\n".join(rules))] if rules else [])])

    def without(self, rule: Callable[[Parts], Parts]) -> None:
        """A rule is taken out from the next process on; see `without`."""
        self.rule = rule

    def file(self, name: str, text: str | bytes) -> str:
        path = self.folder / "files" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    # --- the process ----------------------------------------------------------------------------------------

    @property
    def parts(self) -> Parts:
        if not self._opened:
            settings = Settings(
                self.folder / "data",
                USER,
                tools_file=self.tools_file,
                notify_file=self.notify_file,
                policy=self.policy,
            )
            outside = replace(
                self.outside, clock=self.clock, agents=self._agents, secrets=self.secrets, versions=self.versions
            )
            opened = open_parts(settings, outside)
            self._opened.append(self.rule(opened) if self.rule else opened)
        return self._opened[-1]

    def _agents(self, settings: Settings) -> Iterable[Agent]:
        changed = self.changes
        check = catalog_check.agent(settings, self.decider, catalog_check.DEFINITION.model_copy(update=changed))
        fixed = ticket.agent()
        fixed = replace(fixed, definition=fixed.definition.model_copy(update={**changed, "decider": None}))
        noter = Agent(
            NOTE_AGENT.model_copy(update=changed),
            catalog_check.Task,
            OpenRules(),
            self.decider or Scripted([note(), final()]),
        )
        wrapped = self.wrap_rules or (lambda rules: rules)
        return [
            replace(each, rules=wrapped(each.rules))
            for each in (check, fixed, noter)
            if self.only_agents is None or each.definition.agent_id in self.only_agents
        ]

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = self._made()
        return self._engine

    def _made(self) -> Engine:
        if self.engine_made is not None:
            return self.engine_made(self.parts)
        if self.engine_name == "loop":
            return LoopEngine(self.parts)
        from graphs.engines.langgraph import LangGraphEngine

        return LangGraphEngine(self.parts)

    def another_driver(self) -> Engine:
        """A second driver beside the one that runs go on with, in this process."""
        return self._made()

    def elsewhere(self) -> World:
        """Another process on the same data directory: connections, owner and drivers of its own, and the same clock.

        Whoever opens it closes it.
        """
        return replace(self, _opened=[], _engine=None)

    def restart(self, *, healed: bool = True) -> None:
        """The process is gone and a new one comes; what was killed is proven dead by the lock it no longer holds."""
        for parts in self._opened:
            self._bury(parts)
        self._close_engine()
        self._opened.clear()
        if healed:
            self.outside = Outside()

    @staticmethod
    def _bury(parts: Parts) -> None:
        name = parts.owner.name
        parts.close()
        (parts.settings.data_dir / "owners" / name).touch()  # the file of a dead owner stays, unlocked

    def _close_engine(self) -> None:
        close = getattr(self._engine, "close", None)
        if close is not None:
            close()
        self._engine = None

    def close(self) -> None:
        self._close_engine()
        for parts in self._opened:
            parts.close()

    # --- runs -----------------------------------------------------------------------------------------------

    def check(self, notice: str = NOTICE, record: str = "r1", *, catalogue: str = CATALOGUE) -> RunInWorld:
        """Somebody starts a catalogue check, and it is driven until it waits or ends."""
        return self.start("catalog-check", self.check_input(notice, record, catalogue=catalogue))

    def check_input(self, notice: str = NOTICE, record: str = "r1", *, catalogue: str = CATALOGUE) -> dict[str, Any]:
        """The input of a catalogue check, with its files."""
        files = {"notice": self.file("notice.md", notice), "catalog": self.file("catalogue.csv", catalogue)}
        return {**files, "record": record}

    def ticket(self, **fields: str) -> RunInWorld:
        """Somebody gives a ticket's fields."""
        given = {"source": "gazette 7", "field": "effective", "observed": "2026-03-01", "recorded": "2026-02-01"}
        return self.start("ticket", given | fields)

    def compensate(self, operation_id: str) -> RunInWorld:
        """Somebody asks to take an effect back."""
        return self.start("compensation", {"operation": operation_id})

    def noter(self) -> RunInWorld:
        """A run of an agent that writes notes and has no acceptance criteria."""
        return self.start("noter", {})

    def start(
        self, agent_id: str, given: dict[str, Any], *, by: str = USER, drive: bool = True, **more: Any
    ) -> RunInWorld:
        run_id, _, _ = self.parts.accept.run(
            Actor(by), agent_id, given, run_id=f"run-{uuid.uuid4()}", engine=self.engine_name, **more
        )
        run = RunInWorld(self, run_id)
        return run.goes_on() if drive else run

    def cancelled_after_its_commit(self) -> RunInWorld:
        """A check whose ticket is committed, and that is cancelled before anybody could record that."""
        made: list[RunInWorld] = []
        self.target(does_afterwards(lambda: made[0].cancel()))  # noqa: PLW0108 - it is made below
        made.append(self.check())
        return made[0].approve()

    # --- then -----------------------------------------------------------------------------------------------

    @property
    def tickets(self) -> list[dict[str, Any]]:
        return self.parts.business.objects("ticket")

    @property
    def withdrawals(self) -> list[dict[str, Any]]:
        return self.parts.business.objects("withdrawal")

    @property
    def notes(self) -> list[str]:
        """The texts of all notes, oldest first by subject."""
        return sorted(f"{each['subject']}: {each['text']}" for each in self.parts.business.objects("note"))

    @property
    def audit(self) -> list[dict[str, Any]]:
        with self.parts.ledger.database.read() as connection:
            return audit.entries(connection, "local", 0, 10_000)

    def rows(self, table: str, store: str = "ledger") -> list[dict[str, Any]]:
        """What a table holds, oldest first, read past the product."""
        path = {"ledger": self.parts.settings.ledger_path, "business": self.parts.settings.business_path}[store]
        with closing(sqlite3.connect(path)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY rowid")]

    def state_version_of(self, run: RunInWorld, version: int) -> None:
        """The run was written by a program of another state version."""
        with sqlite3.connect(self.parts.settings.ledger_path) as connection:
            connection.execute("UPDATE runs SET state_version = ? WHERE run_id = ?", (version, run.run_id))
        connection.close()

    def permit(self, subject: str, action: str, resource: str = "*") -> None:
        with self.parts.ledger.database.write() as connection:
            permissions.give(connection, "local", self.clock.now(), USER, subject, action, resource)

    def forbid(self, subject: str, action: str, resource: str = "*") -> None:
        with self.parts.ledger.database.write() as connection:
            permissions.revoke(connection, "local", subject, action, resource)

    def has_role(self, subject: str, role: str) -> None:
        with self.parts.ledger.database.write() as connection:
            permissions.join(connection, "local", self.clock.now(), USER, subject, role)

    def loses_role(self, subject: str, role: str) -> None:
        with self.parts.ledger.database.write() as connection:
            permissions.leave(connection, "local", subject, role)

    def stops(self, kind: Any, name: str = "*", by: str = USER) -> None:
        self.parts.stopping.stop(Actor(by), kind, name, "it went wrong")

    def lifts(self, kind: Any, name: str = "*", by: str = USER) -> None:
        self.parts.stopping.lift(Actor(by), kind, name)

    def rules(self, name: str, tool: str = "create_note", *, by: str = USER, days: float = 1, **bounds: Any) -> None:
        """Somebody says yes beforehand, within these bounds."""
        until = self.clock.now() + int(days * 86_400_000)
        self.parts.rules.make(Actor(by), NewRule(name, tool, bounds, until, "it is harmless"))
