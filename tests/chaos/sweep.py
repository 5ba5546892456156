"""The crash sweep: every story dies at each of its boundaries, comes back, and must end as if nothing had happened.

    python -m tests.chaos.sweep                                    what `make sweep` does
    python -m tests.chaos.sweep --all                              every scenario, engine, durability, and all pairs
    python -m tests.chaos.sweep C3 --engine langgraph --durability sync [--at 17]
    python -m tests.chaos.sweep C3 --at 17 --then 4                a second death, counted from the restart

`--at` takes a boundary's number or its name (`3.put.2.before`): the order of checkpoints and commits differs from run
to run with the durability `async`, names do not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.pool import Pool

from tests.chaos.scenarios import BY_ID, CATALOGUE, IN_ALL_PAIRS, IN_PAIRS, ON_EVERY_ENGINE
from tests.chaos.story import Case, Durability
from tests.chaos.work import Counted, Death, Result, count, die, kept_folder, shared_out, workers

DURABILITIES: tuple[Durability, ...] = ("exit", "sync", "async")
SAMPLE = 2  # second deaths for each first one, unless all are asked for
MOST_SHOWN = 40


@dataclass(slots=True)
class Row:
    """One case: how many boundaries it has, and how many deaths of one kind it survived."""

    case: Case
    kind: str
    boundaries: int
    survived: int = 0
    died: int = 0


@dataclass(slots=True)
class Swept:
    """What a sweep found."""

    rows: list[Row] = field(default_factory=list[Row])
    failed: list[Result] = field(default_factory=list[Result])
    broken: list[Counted] = field(default_factory=list[Counted])
    seconds: float = 0.0

    def total(self, kind: str) -> tuple[int, int]:
        """Survived, of how many."""
        rows = [each for each in self.rows if each.kind == kind]
        return sum(each.survived for each in rows), sum(each.died for each in rows)

    @property
    def whole(self) -> bool:
        return bool(self.rows) and not self.failed and not self.broken


def cases(scenarios: Sequence[str], engine: str | None, durability: Durability | None, *, every: bool) -> list[Case]:
    """The named scenarios, or all of them, on what is asked for; otherwise on what a scenario is swept on."""
    found: list[Case] = []
    for told in CATALOGUE:
        if scenarios and told.id not in scenarios:
            continue
        if engine != "langgraph" and durability is None:
            found.append(Case(told.id))
        if engine == "langgraph" or durability or (engine is None and (every or told.id in ON_EVERY_ENGINE)):
            found += [Case(told.id, "langgraph", each) for each in DURABILITIES if durability in (None, each)]
    return found


def sweep(chosen: Sequence[Case], pool: Pool, most: int | None, pairs: Sequence[str]) -> Swept:
    """Count, die once at every boundary, and die twice in the stories of `pairs` on the loop engine."""
    began = time.monotonic()
    swept = Swept()
    with kept_folder() as kept:
        asked = [Counted(each, kept / str(each)) for each in chosen]
        counted: list[Counted] = list(shared_out(pool, count, asked, ordered=True))
        swept.broken = [each for each in counted if each.problems]
        sound = [each for each in counted if not each.problems]
        found = sum(len(each.boundaries) for each in sound)
        print(f"{found} boundaries in {len(sound)} stories: dying at each of them", flush=True)
        _tally(swept, "once", sound, [death for each in sound for death in each.deaths()], pool)
        paired = [each for each in sound if each.case.engine == "loop" and each.case.scenario in pairs]
        twice = [death for each in paired for death in each.deaths(pairs=True, most=most)]
        _tally(swept, "twice", paired, twice, pool)
    swept.seconds = time.monotonic() - began
    return swept


def _tally(swept: Swept, kind: str, counted: Sequence[Counted], deaths: Sequence[Death], pool: Pool) -> None:
    rows = {each.case: Row(each.case, kind, len(each.boundaries)) for each in counted}
    for results in shared_out(pool, die, deaths):
        for each in results:
            row = rows[each.case]
            row.died += 1
            row.survived += not each.problems
            if each.problems:
                swept.failed.append(each)
    swept.rows += rows.values()


def told(swept: Swept) -> str:
    """The sweep as people read it."""
    lines = [f"{'scenario':<18}{'engine':<11}{'durability':<12}{'boundaries':>10}  {'died':<7}survived"]
    for row in swept.rows:
        case = row.case
        named = f"{case.scenario:<18}{case.engine:<11}{case.durability or '-':<12}{row.boundaries:>10}"
        lines.append(f"{named}  {row.kind:<7}{row.survived}/{row.died}")
    for each in swept.broken:
        lines.append(f"{each.case} is not right even without a death: {'; '.join(each.problems)}")
    for each in sorted(swept.failed, key=lambda each: (str(each.case), each.number))[:MOST_SHOWN]:
        lines += ["", f"not survived: {each.case} at {each.number} ({each.at})", f"  {each.replay}"]
        lines += [f"  {line}" for line in "\n".join(each.problems).splitlines()]
    if len(swept.failed) > MOST_SHOWN:
        lines += ["", f"and {len(swept.failed) - MOST_SHOWN} more"]
    (once, of_once), (twice, of_twice) = swept.total("once"), swept.total("twice")
    lines += ["", f"survived {once}/{of_once} single deaths and {twice}/{of_twice} pairs in {swept.seconds:.0f} s"]
    return "\n".join(lines)


def replay(case: Case, at: str, then: int | None, pool: Pool) -> list[Result]:
    """One story again: dead at this boundary, and once more at that one. Raises ValueError for a boundary it lacks."""
    with kept_folder() as kept:
        counted: Counted = pool.apply(count, (Counted(case, kept / "case"),))
        deaths = [each for each in counted.deaths(pairs=then is not None, then=then) if at in _names(each)]
        if not deaths:
            raise ValueError(f"{case} has no boundary {at}; it has {len(counted.boundaries)}")
        results: list[Result] = [each for each in pool.apply(die, (deaths[0],)) if each.then == then]
    if not results:
        raise ValueError(f"{case} has no boundary {then} after a death at {at}")
    return results


def _names(death: Death) -> tuple[str, str]:
    return str(death.number), str(death.first)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if everything was survived."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    chosen = cases(asked.scenarios, asked.engine, asked.durability, every=asked.all)
    with workers(asked.workers) as pool:
        if asked.at is not None:
            try:
                results = replay(chosen[0], asked.at, asked.then, pool)
            except ValueError as error:
                parser.error(str(error))
            for each in results:
                print(f"{each.case} at {each.at}: {'; '.join(each.problems) or 'survived'}")
            return int(any(each.problems for each in results))
        most, pairs = (None, IN_ALL_PAIRS) if asked.all else (asked.sample, IN_PAIRS)
        swept = sweep(chosen, pool, most, pairs)
    print(told(swept))
    return int(not swept.whole)


def _scenario(name: str) -> str:
    if name not in BY_ID:
        raise argparse.ArgumentTypeError(f"no scenario is called {name}; there are {', '.join(BY_ID)}")
    return name


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.sweep", description="Every story dies at each of its boundaries."
    )
    parser.add_argument("scenarios", nargs="*", type=_scenario, metavar="SCENARIO", help=", ".join(BY_ID))
    parser.add_argument("--engine", choices=["loop", "langgraph"])
    parser.add_argument("--durability", choices=DURABILITIES)
    parser.add_argument("--all", action="store_true", help="every engine for every scenario, and all pairs")
    parser.add_argument("--at", help="only this boundary, by number or name")
    parser.add_argument("--then", type=int, help="and this one, counted from the restart")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="second deaths for each first one")
    parser.add_argument("--workers", type=int, default=2)
    return parser


if __name__ == "__main__":
    sys.exit(main())
