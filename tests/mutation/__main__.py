"""`python -m tests.mutation [--only FILE ...] [--sample N] [--seed S] [--jobs J]`: what the tests do not notice.

Writes `docs/proof/mutation.json` and, from it, `docs/proof/mutation.md`. A file keeps its last result until it changes.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.mutation.covering import ROOT, Covering, covering, sources
from tests.mutation.in_place import try_in_place
from tests.mutation.mutants import changes
from tests.mutation.reloading import import_foreign, try_reloaded
from tests.mutation.report import write
from tests.mutation.trials import KILLS, Trial

Try = Callable[[dict[str, list[Trial]], dict[str, float], int], None]
FOLDERS = ("store/", "nodes/")
FILES = ("tools/gateway.py", "tools/claim.py", "tools/settle.py", "tools/calling.py", "graphs/flow.py")


def main() -> None:
    options = _options()
    known = covering_in_a_child()
    import_foreign()
    chosen = _sampled({path: _trials(path, known) for path in options.only or _all()}, options.sample, options.seed)
    _in_a_child(try_in_place, chosen, known, options.jobs)
    for path, trials in chosen.items():
        if trials:
            _in_a_child(try_reloaded, {path: trials}, known, options.jobs)
            counted = {each: sum(trial.outcome == each for trial in trials) for each in ("killed", "timeout")}
            print(f"{path}: {len(trials)} mutants, {sum(counted.values())} killed", flush=True)
            for each in trials:
                if each.outcome in {"survived", "uncovered"}:
                    print(f"  {each.outcome} {path}:{each.line} {each.change}", flush=True)
            write(path, trials, options.sample, options.seed)


def covering_in_a_child() -> Covering:
    """The tests are run in another process, so that this one has imported nothing that is to be changed."""
    pid = os.fork()
    if not pid:
        try:
            covering()
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("The tests have to pass before anything is changed.")
    return covering()


def _options() -> Any:
    parser = argparse.ArgumentParser(prog="make mutation ARGS=", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="FILE", help="only these files")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many mutants, chosen at random")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    return parser.parse_args()


def _all() -> list[str]:
    chosen = [path for path in sources() if path.startswith(FOLDERS) or path in FILES]
    return sorted(path for path in chosen if "migrations/" not in path and not path.endswith("__init__.py"))


def _trials(path: str, known: Covering) -> list[Trial]:
    tree = ast.parse((ROOT / path).read_text())
    return [
        Trial(
            number,
            each.line,
            each.words,
            known.tests_of(path, each.lines, each.names) or known.tests_of(path, (), each.function),
            bool(each.names),
        )
        for number, each in enumerate(changes(tree))
    ]


def _sampled(trials: dict[str, list[Trial]], size: int, seed: int) -> dict[str, list[Trial]]:
    everything = [(path, each) for path, listed in trials.items() for each in listed]
    if not size or size >= len(everything):
        return trials
    chosen = {(path, each.number) for path, each in random.Random(seed).sample(everything, size)}
    return {path: [each for each in listed if (path, each.number) in chosen] for path, listed in trials.items()}


def _in_a_child(how: Try, trials: dict[str, list[Trial]], known: Covering, jobs: int) -> None:
    """A process of its own, so that this one imports nothing that is to be changed."""
    answer = ROOT / ".mutation" / "outcomes.json"
    listed = [each for of_file in trials.values() for each in of_file]
    pid = os.fork()
    if not pid:
        code = 1
        try:
            how(trials, known.seconds, jobs)
            answer.write_text(json.dumps([[each.outcome, each.killer] for each in listed]))
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("The process that tried the mutants died.")
    for trial, (outcome, killer) in zip(listed, json.loads(answer.read_text()), strict=True):
        trial.outcome, trial.killer = outcome, killer
    KILLS.update(each.killer for each in listed if each.outcome == "killed")


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    main()
