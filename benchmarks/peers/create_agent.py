"""The peer of B1 and B2: LangChain's `create_agent` with approval by middleware and a `SqliteSaver`, as users have it.

It does W1: reads the notice, reads the record, asks for a ticket, pauses for a person, writes one row, reads it back
and ends. It makes none of Remit's promises: nothing keeps a second run, a retry or a crash from a second row.
"""

from __future__ import annotations

import csv
import itertools
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

APPROVE = {"decisions": [{"type": "approve"}]}
_TICKETS = "CREATE TABLE tickets (id INTEGER PRIMARY KEY, source TEXT, record TEXT, observed TEXT, recorded TEXT)"


class ScriptedModel(FakeMessagesListChatModel):
    """Says one message after the other, and may be given tools."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def _says(number: int, name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}", "type": "tool_call"}])


SCRIPT = [
    _says(1, "read_notice"),
    _says(2, "read_record", record="r1"),
    _says(3, "create_ticket", source="notice", record="r1", observed="2026-03-01", recorded="2026-02-01"),
    _says(4, "read_ticket", record="r1"),
    AIMessage("Done: one ticket."),
]


class Peer:
    """One agent on one checkpoint database, with a database of tickets."""

    def __init__(self, folder: Path, files: Callable[[], dict[str, Any]]) -> None:
        self._files = files
        self._given: dict[str, Any] = {}
        self._names = itertools.count(1)
        self._tickets = sqlite3.connect(folder / "tickets.sqlite", check_same_thread=False)
        self._tickets.execute("PRAGMA journal_mode = WAL")
        self._tickets.execute(_TICKETS)
        self._saver_context = SqliteSaver.from_conn_string(str(folder / "peer.sqlite"))
        self.saver = self._saver_context.__enter__()
        self.graph = create_agent(
            ScriptedModel(responses=list(SCRIPT)),
            tools=self._tools(),
            middleware=[HumanInTheLoopMiddleware(interrupt_on={"create_ticket": True})],
            checkpointer=self.saver,
        )

    def _tools(self) -> list[BaseTool]:
        @tool
        def read_notice() -> str:
            """Read the text of the notice."""
            return Path(self._given["notice"]).read_text()

        @tool
        def read_record(record: str) -> dict[str, str]:
            """Read one record of the catalogue."""
            with open(self._given["catalog"], newline="") as file:
                return next(row for row in csv.DictReader(file) if row["id"] == record)

        @tool
        def create_ticket(source: str, record: str, observed: str, recorded: str) -> str:
            """Create one ticket."""
            with self._tickets as connection:
                row = (source, record, observed, recorded)
                made = connection.execute("INSERT INTO tickets VALUES (NULL, ?, ?, ?, ?)", row)
            return f"ticket {made.lastrowid}"

        @tool
        def read_ticket(record: str) -> str:
            """Read the last ticket back."""
            row = self._tickets.execute("SELECT * FROM tickets ORDER BY id DESC LIMIT 1").fetchone()
            return str(row)

        return [read_notice, read_record, create_ticket, read_ticket]

    def run(self, durability: str | None = None) -> str:
        """W1; `durability` None is LangGraph's default. Gives the thread's id."""
        self._given = self._files()
        thread = f"peer-{next(self._names)}"
        config: Any = {"configurable": {"thread_id": thread}}
        options: Any = {} if durability is None else {"durability": durability}
        task = {"messages": [("user", "Compare the notice with record r1.")]}
        asked = self.graph.invoke(task, config, **options)  # type: ignore[arg-type]
        assert asked["__interrupt__"]
        ended = self.graph.invoke(Command(resume=APPROVE), config, **options)
        assert ended["messages"][-1].content == "Done: one ticket."
        return thread

    def close(self) -> None:
        self._saver_context.__exit__(None, None, None)
        self._tickets.close()
