"""What one W1 does to its databases, counted by listening to SQLite, not by reading our own code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.bare_sqlite import Traced, Transaction, transactions
from benchmarks.peers.create_agent import Peer
from benchmarks.work import Remit, files
from graphs.wiring import Outside
from store.business import BUSINESS_HEAD, business_metadata
from store.ledger import LEDGER_HEAD
from store.tables import metadata


def traced(folder: Path) -> tuple[Remit, list[Traced]]:
    """Remit on databases that note what they are told; ledger first."""
    opened: list[Traced] = []

    def opener(*given: Any) -> Callable[[Path], Traced]:
        def open_(path: Path) -> Traced:
            opened.append(Traced(path, *given))
            return opened[-1]

        return open_

    ledger, business = opener(metadata, LEDGER_HEAD), opener(business_metadata, BUSINESS_HEAD)
    return Remit(folder, outside=Outside(ledger_database=ledger, business_database=business)), opened


def on_loop() -> dict[str, list[Transaction]]:
    """The write transactions of W1 on the engine loop, by database."""
    with tempfile.TemporaryDirectory() as folder:
        remit, opened = traced(Path(folder))
        remit.on_loop()
        for each in opened:
            each.listen()
        remit.on_loop()
        remit.close()
        return {each.path.stem: transactions(each.statements) for each in opened}


def on_langgraph() -> dict[str, int]:
    """Transactions by database, statements that the ledger runs, and checkpoints of W1 on the engine langgraph."""
    with tempfile.TemporaryDirectory() as folder:
        remit, opened = traced(Path(folder))
        work = remit.on_langgraph("sync")
        work()
        for each in opened:
            each.listen()
        heard: list[str] = []
        remit.saver.conn.set_trace_callback(heard.append)
        thread = work()
        remit.saver.conn.set_trace_callback(None)
        counted = {f"{each.path.stem} transactions": len(transactions(each.statements)) for each in opened}
        counted |= {"ledger statements": len(opened[0].statements)}
        counted |= _checkpoints(remit.saver, thread, heard)
        remit.close()
        return counted


def of_peer() -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(Path(folder), lambda: files(Path(folder)))
        peer.run("sync")
        heard: list[str] = []
        peer.saver.conn.set_trace_callback(heard.append)
        thread = peer.run("sync")
        peer.saver.conn.set_trace_callback(None)
        counted = {f"peer's {name}": number for name, number in _checkpoints(peer.saver, thread, heard).items()}
        peer.close()
        return counted


def _checkpoints(saver: Any, thread: str, heard: list[str]) -> dict[str, int]:
    (writes,) = saver.conn.execute("SELECT count(*) FROM writes WHERE thread_id = ?", (thread,)).fetchone()
    return {
        "checkpointer's transactions": sum(statement.startswith("COMMIT") for statement in heard),
        "checkpoints": len(list(saver.list({"configurable": {"thread_id": thread}}))),
        "checkpointer's writes": writes,
    }
