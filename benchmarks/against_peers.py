"""B1, B2, B3, B5 and B7: each function measures one row of the table, or several."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import counting
from benchmarks.pairs import Measured, measure
from benchmarks.peers.bare_sqlite import Bare
from benchmarks.peers.create_agent import Peer
from benchmarks.work import Remit, files, reader

IMPORT = "import langgraph.graph"
DURABILITIES = {"sync": 0.8, "async": 0.8, "exit": 1.0}
SMALL, LARGE = 10, 1000


def b1(folder: Path, pairs: int) -> list[Measured]:
    """W1 with the defaults of both sides."""
    remit, peer = Remit(folder), Peer(folder, lambda: files(folder))
    facts = counting.on_langgraph() | counting.of_peer()
    what = "W1, langgraph engine, defaults / create_agent"
    measured = measure("B1", what, 0.6, remit.on_langgraph("async"), peer.run, pairs, facts)
    remit.close()
    peer.close()
    return [measured]


def b2(folder: Path, pairs: int) -> list[Measured]:
    """W1 with the same durability on both sides."""
    remit, peer = Remit(folder), Peer(folder, lambda: files(folder))
    measured = [
        measure(
            f"B2 {durability}",
            f"W1, langgraph engine, {durability} / create_agent, {durability}",
            goal,
            remit.on_langgraph(durability),
            lambda durability=durability: peer.run(durability),
            pairs,
            {},
        )
        for durability, goal in DURABILITIES.items()
    ]
    remit.close()
    peer.close()
    return measured


def b3(folder: Path, pairs: int) -> list[Measured]:
    """W1 on the engine loop against the same transactions in bare SQLite."""
    by_database = counting.on_loop()
    remit = Remit(folder)
    limits = [Bare(folder / f"bare-{name}.sqlite", work) for name, work in by_database.items()]

    def bare() -> None:
        for limit in limits:
            limit.run()

    facts: dict[str, int] = {f"{name} transactions": len(work) for name, work in by_database.items()}
    rows = [size for work in by_database.values() for each in work for size in (*each.inserts, *each.updates)]
    facts |= {"rows written": len(rows), "bytes of values": sum(rows)}
    what = "W1, loop engine / its transactions in sqlite3"
    measured = measure("B3", what, 2.0, remit.on_loop, bare, pairs, facts)
    remit.close()
    for limit in limits:
        limit.close()
    return [measured]


def b5(folder: Path, pairs: int) -> list[Measured]:
    """W2: what a turn costs in a long run, over what it costs in a short one."""
    del pairs  # a long run holds many turns
    costs = {reads: _turn_costs(folder / str(reads), reads) for reads in (SMALL, LARGE)}
    (small_ms, small_bytes), (large_ms, large_bytes) = costs[SMALL], costs[LARGE]
    facts = {"bytes per turn, short": round(small_bytes), "bytes per turn, long": round(large_bytes)}
    what = f"per turn of W2, N = {LARGE} / N = {SMALL}, loop engine"
    seconds = Measured("B5 time", what, 1.2, large_ms / small_ms, large_ms, small_ms, 1, {})
    size = Measured("B5 bytes", what, 1.2, large_bytes / small_bytes, large_ms, small_ms, 1, facts)
    return [seconds, size]


def _turn_costs(folder: Path, reads: int) -> tuple[float, float]:
    """Milliseconds and bytes written per turn; of a short run the median of several."""
    folder.mkdir()
    remit = reader(folder, reads)
    taken: list[tuple[float, float]] = []
    for _ in range(1 if reads == LARGE else 20):
        given, before, begun = files(folder, effective="2026-03-01"), _written(), time.perf_counter()
        run_id = remit.driven(given)
        taken.append(((time.perf_counter() - begun) * 1000, _written() - before))
        run = remit.parts.ledger.run(run_id)
        assert (run.status, run.reason) == ("succeeded", "nothing_to_do"), run
    remit.close()
    return statistics.median(ms for ms, _ in taken) / reads, statistics.median(size for _, size in taken) / reads


def _written() -> int:
    """Bytes that this process has handed to the operating system to write (Linux; elsewhere always 1)."""
    counters = Path("/proc/self/io")
    if not counters.exists():
        return 1
    lines = dict(line.split(": ") for line in counters.read_text().splitlines())
    return int(lines["wchar"])


def b7(folder: Path, pairs: int) -> list[Measured]:
    """From a cold process to the question, against the import that no LangGraph program can do without."""
    remit = Path(sys.executable).with_name("remit")
    if not remit.exists():
        return []
    data = folder / "data"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("REMIT_")}

    def ours() -> None:
        given = files(folder)
        command = [remit, "run", "catalog-check", "--notice", given["notice"], "--catalog", given["catalog"]]
        _process([*command, "--record", given["record"], "--json"], {**clean, "REMIT_DATA_DIR": str(data)}, 3)

    def peer() -> None:
        _process([sys.executable, "-c", IMPORT], clean, 0)

    return [measure("B7", "remit run to the question / import langgraph.graph", 2.0, ours, peer, pairs, {})]


def _process(command: list[str | Path], environment: dict[str, str], expected: int) -> None:
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == expected, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])


BENCHMARKS: dict[str, Callable[[Path, int], list[Measured]]] = {"B1": b1, "B2": b2, "B3": b3, "B5": b5, "B7": b7}
