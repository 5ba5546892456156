"""The page about mutants: per file how many were made and noticed, and every survivor with what is to be said of it."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Sequence
from typing import Any

from tests.mutation.covering import ROOT
from tests.mutation.trials import Trial

DATA = ROOT / "docs" / "proof" / "mutation.json"
PAGE = DATA.with_suffix(".md")
SAID = ROOT / "tests" / "mutation" / "survivors.json"  # by file, line of code and change: why a mutant survives


def write(path: str, trials: Sequence[Trial], sample: int, seed: int) -> None:
    """Keeps the result of one file beside those of the others, and writes the page anew."""
    DATA.parent.mkdir(parents=True, exist_ok=True)
    known: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {}
    text = (ROOT / path).read_text()
    code = text.splitlines()
    left = [each for each in trials if each.outcome in {"survived", "uncovered"}]
    known[path] = {
        "commit": _commit(),
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "made": len(trials),
        "timeouts": sum(each.outcome == "timeout" for each in trials),
        "survivors": [[each.line, code[each.line - 1].strip(), each.change, each.outcome] for each in left],
        "sample": {"of": sample, "seed": seed} if sample else None,
    }
    DATA.write_text(json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(_page(known))


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _page(known: dict[str, Any]) -> str:
    said: dict[str, str] = json.loads(SAID.read_text()) if SAID.exists() else {}
    rows, listed, made, left, equal = [], [], 0, 0, 0
    for path, result in known.items():
        reasons = [said.get(_key(path, each), "") for each in result["survivors"]]
        same = sum(each.startswith("equivalent") for each in reasons)
        some = "" if not result["sample"] else f" (sample, seed {result['sample']['seed']})"
        rows.append(f"| {path}{some} | {result['made']} | {len(reasons)} | {same} | {result['commit']} |")
        made, left, equal = made + result["made"], left + len(reasons), equal + same
        for each, why in zip(result["survivors"], reasons, strict=True):
            listed.append(f"* `{path}:{each[0]}` {each[2]} — {why or 'a test is to come'}")
    share = f"{100 * (left - equal) / made:.1f}" if made else "0"
    return "\n".join([
        "# What the tests do not notice",
        "",
        f"{made} small changes to the code were made, one at a time; {made - left} made a test fail, {left} survived.",
        f"{equal} of these change nothing that can be observed: {share} % are left. Made by `make mutation`.",
        "What is never changed, by rule, is said in `tests/mutation/mutants.py`. Tests that take longer than four",
        "seconds, those of the command line and those of real processes are not asked.",
        "",
        "| file | made | survived | of these equivalent | commit |",
        "|---|---|---|---|---|",
        *rows,
        "",
        *listed,
        "",
    ])  # fmt: skip


def _key(path: str, survivor: Sequence[Any]) -> str:
    return f"{path} | {survivor[1]} | {survivor[2]}"
