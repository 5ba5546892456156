"""Remit's side. W1: the catalogue case, read, read, propose, pause, approve, create, read back, end. W2: N reads, end.

What proposes is scripted, so that nothing but Remit is measured. Every run has a notice of its own, because two runs
on the same notice and record would share one ticket.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langgraph.types import Command

from graphs import catalog_check
from graphs.checkpointers import sqlite_saver
from graphs.engines.loop import LoopEngine
from graphs.governed import open_graph
from graphs.wiring import ORDINARY, Outside, Parts, Settings, open_parts
from nodes.deciders.decider import View
from nodes.deciders.scripted import Scripted
from state.actor import Actor
from state.agent import AgentDefinition
from state.budget import Budget
from state.digest import Json

USER = "ada"
APPROVE: Json = {"decisions": [{"type": "approve"}]}
_NUMBER = itertools.count(1)


def files(folder: Path, effective: str = "2026-02-01") -> Json:
    """A notice that nobody has seen before, a small catalogue, and the record to compare."""
    number = next(_NUMBER)
    notice, catalog = folder / f"notice-{number}.md", folder / "catalogue.csv"
    notice.write_text(f"Rule {number} on widgets\n\nPublished: January 5, 2026\n\nEffective date: March 1, 2026\n")
    if not catalog.exists():
        catalog.write_text(f"id,title,effective\nr1,Rule on widgets,{effective}\nr2,Rule on gadgets,2026-03-01\n")
    return {"notice": str(notice), "catalog": str(catalog), "record": "r1"}


def _proposal(tool: str, **arguments: Any) -> Json:
    return {"kind": "actions", "actions": [{"tool": tool, "arguments": arguments}]}


def _ticket(view: View) -> Json:
    """The ticket that the two reads call for, with the notice's date as the script knows it."""
    notice, record = (outcome.result or {} for outcome in view.outcomes)
    return _proposal(
        "create_ticket",
        source=notice["name"],
        source_sha256=notice["sha256"],
        record="r1",
        field="effective",
        observed="2026-03-01",
        recorded=record["record"]["effective"],
    )


W1 = (_proposal("read_notice"), _proposal("read_record", record="r1"), _ticket)


class Remit:
    """A data directory in which runs of one agent are made; `lines` is what its decider says."""

    def __init__(
        self,
        folder: Path,
        lines: Any = W1,
        outside: Outside = ORDINARY,
        definition: AgentDefinition = catalog_check.DEFINITION,
    ) -> None:
        self.folder = folder
        self.lines = lines
        self._definition = definition
        outside = Outside(
            ledger_database=outside.ledger_database,
            business_database=outside.business_database,
            agents=lambda settings: [catalog_check.agent(settings, Scripted(lines), self._definition)],
        )
        self.parts: Parts = open_parts(Settings(folder / "data", USER), outside)
        self._saver_context = sqlite_saver(self.parts.settings.checkpoints_path)
        self.saver = self._saver_context.__enter__()
        self.graph = open_graph(self.parts, self.saver, catalog_check.AGENT_ID)
        self.loop = LoopEngine(self.parts)

    def close(self) -> None:
        self._saver_context.__exit__(None, None, None)
        self.parts.close()

    def on_langgraph(self, durability: Any) -> Callable[[], str]:
        """W1 as a Python caller does it: invoke, look at the interrupt, answer. Gives the run's id."""

        def run() -> str:
            given, run_id = files(self.folder), f"run-{next(_NUMBER)}"
            config: Any = {"configurable": {"thread_id": run_id}}
            asked = self.graph.invoke(given, config, durability=durability)
            assert asked["__interrupt__"]
            ended = self.graph.invoke(Command(resume=APPROVE), config, durability=durability)
            assert ended["status"] == "succeeded", ended
            return run_id

        return run

    def on_loop(self) -> str:
        """W1 through the doors: accept, drive, answer, drive."""
        actor = Actor(USER)
        run_id = self.driven(files(self.folder))
        (asked,) = self.parts.ledger.facts(run_id).questions
        answer = {"approval_id": asked.approval_id, "digest": asked.digest, "type": "approve"}
        self.parts.answers.record(actor, run_id, {"decisions": [answer]})
        self.loop.drive(run_id)
        assert self.parts.ledger.run(run_id).status == "succeeded"
        return run_id

    def driven(self, given: Json) -> str:
        """A new run, driven by the engine loop until it waits or ends."""
        run_id = f"run-{next(_NUMBER)}"
        self.parts.accept.run(Actor(USER), catalog_check.AGENT_ID, given, run_id=run_id, engine="loop")
        self.loop.drive(run_id)
        return run_id


def reader(folder: Path, reads: int) -> Remit:
    """W2: an agent that reads `reads` times and then says, truly, that there is nothing to do."""
    lines = [_proposal("read_record", record="r1"), *[_proposal("read_notice")] * (reads - 1)]
    budget = Budget(turns=reads + 2, tool_calls=reads + 2)
    definition = catalog_check.DEFINITION.model_copy(update={"budget": budget})
    return Remit(folder, [*lines, {"kind": "final", "claim": "nothing_to_do"}], definition=definition)
