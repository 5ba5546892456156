"""Checkpointers, opened right: WAL, `synchronous=NORMAL` (a checkpoint may be lost), a busy timeout, and set up.

Both read plain values only, whatever `LANGGRAPH_STRICT_MSGPACK` was when LangGraph was imported. The command line and
the server keep their checkpoints in one file: a run that one of them parked can be looked at and resumed by the other.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

BUSY_TIMEOUT_S = 10.0


def _plain_values() -> JsonPlusSerializer:
    return JsonPlusSerializer(allowed_msgpack_modules=None)


@contextmanager
def sqlite_saver(path: Path) -> Generator[SqliteSaver]:
    """A `SqliteSaver` on this file, for `graph.invoke` in one process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        saver = SqliteSaver(connection, serde=_plain_values())
        saver.setup()
        yield saver
    finally:
        connection.close()


class ServerSaver(AsyncSqliteSaver):
    """What a LangGraph server needs beyond the saver as it comes: to forget the checkpoints of one of its runs.

    Without it, a rollback leaves the thread busy for good. Nothing but checkpoints is rolled back: the ledger keeps
    what happened, and the next run on the thread goes on from there.
    """

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Delete what these server runs have saved, on whichever threads."""
        ids = [str(each) for each in run_ids]
        await self.setup()
        async with self.lock:
            for each in ids:
                await self.conn.execute(_DELETE_WRITES, (each,))
                await self.conn.execute(_DELETE_CHECKPOINTS, (each,))
            await self.conn.commit()


_OF_RUN = "json_extract(CAST(metadata AS TEXT), '$.run_id') = ?"
_DELETE_WRITES = (
    "DELETE FROM writes WHERE (thread_id, checkpoint_ns, checkpoint_id) IN"
    f" (SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE {_OF_RUN})"
)
_DELETE_CHECKPOINTS = f"DELETE FROM checkpoints WHERE {_OF_RUN}"


@asynccontextmanager
async def async_sqlite_saver(path: Path) -> AsyncGenerator[ServerSaver]:
    """As `sqlite_saver`, for `graph.ainvoke` and for servers; nothing blocks the event loop."""
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    async with aiosqlite.connect(path, timeout=BUSY_TIMEOUT_S) as connection:
        await connection.execute("PRAGMA journal_mode = WAL")
        await connection.execute("PRAGMA synchronous = NORMAL")
        saver = ServerSaver(connection, serde=_plain_values())
        await saver.setup()
        yield saver


@asynccontextmanager
async def server_checkpointer() -> AsyncGenerator[ServerSaver]:
    """What `langgraph.json` names. Opens ledger and business store first, so that a server that cannot use them stops
    at its start and says why, instead of failing at its first run."""
    from graphs.wiring import parts

    opened = await asyncio.to_thread(parts)
    async with async_sqlite_saver(opened.settings.checkpoints_path) as saver:
        yield saver
