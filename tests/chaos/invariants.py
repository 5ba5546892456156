"""What must be true after any story, whenever and however often its processes died. Each breach is a sentence.

The stores are read as they are; what the product says of itself is compared with them.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from state.run import effect_of, effects_of
from store import events
from tests.chaos.declared import RUN, End
from tests.chaos.doors import TAKING_BACK
from tests.chaos.letters import box_of
from tests.chaos.story import Case, world_of
from tests.support.file_box import FileBox
from tests.support.world import RunInWorld, World

Rows = list[dict[str, Any]]

OPEN = ("planned", "awaiting_approval", "approved", "dispatched")
ENDS = ("completed", "failed", "cancelled", "denied", "timed_out", "budget_exceeded", "insufficient_evidence")
DRIVES = ("run.started", "run.resumed")


def problems(case: Case, folder: Path) -> list[str]:
    """Everything that is not right in this folder, where the story of the case is over."""
    world = world_of(case, folder)
    try:
        run, box = RunInWorld(world, RUN), box_of(world)
        ledger, business = _Tables(folder / "data" / "ledger.sqlite"), _Tables(folder / "data" / "business.sqlite")
        found = [
            *_wrong_end(case, world, run, box),
            *_wrong_calls(case, ledger, run, box),
            *_wrong_effects(ledger, business, box),
            *_unapproved(ledger, _made(business, box)),
        ]
        for each in _runs(ledger, world):
            found += [
                *_wrong_timeline(world, each),
                *_over_budget(each),
                *_wrong_driving(ledger, each),
                *_untrue(ledger, each),
            ]
        ledger.close()
        business.close()
        return found
    finally:
        world.close()


class _Tables:
    """The tables of one database, read past the product."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)
        self._connection.row_factory = sqlite3.Row

    def __getitem__(self, table: str) -> Rows:
        return [dict(row) for row in self._connection.execute(f"SELECT * FROM {table}")]

    def close(self) -> None:
        self._connection.close()


def _runs(ledger: _Tables, world: World) -> list[RunInWorld]:
    """Those that the story drove; what was there before is not looked at."""
    there = {each["run_id"] for each in ledger["runs"]}
    return [RunInWorld(world, each) for each in (RUN, TAKING_BACK) if each in there]


def _wrong_end(case: Case, world: World, run: RunInWorld, box: FileBox) -> list[str]:
    """Status, effect, turns and what is at the targets are the right ones of this story."""
    right = _right_end(case, run, box)
    tickets = [(each["observed"], each["recorded"]) for each in reversed(world.tickets)]
    told = {
        "status": (run.status, right.status),
        "effect": (run.effect, right.effect),
        "turns": (run.row.used["turns"], right.turns),
        "recorded turns": (run.decided, right.turns),
        "tickets": (tickets, list(right.tickets)),
        "withdrawals": (len(world.withdrawals), right.withdrawals),
        "letters": (box.letters, list(right.letters)),
        "notes": (world.notes, []),
    }
    return [f"{name}: {found}, not {wanted}" for name, (found, wanted) in told.items() if found != wanted]


def _right_end(case: Case, run: RunInWorld, box: FileBox) -> End:
    """Nothing sent is right only after a claim of which nobody heard again."""
    told = case.told
    if told.unsent is not None and not box.letters and ("call", "lost") in run.tried:
        return told.unsent
    return told.end


def _wrong_calls(case: Case, ledger: _Tables, run: RunInWorld, box: FileBox) -> list[str]:
    """The box was called so often and no more, each time under a claim; and the timeline tells what the story is of."""
    found = [f"{each} is not on the timeline" for each in case.told.passes if each not in run.timeline]
    claims = sum(each["kind"] == "call" for each in ledger["tries"])
    if len(box.calls) > min(case.told.most_calls, claims):
        found.append(f"the box was called {len(box.calls)} times, of at most {case.told.most_calls}, {claims} claims")
    return found


def _made(business: _Tables, box: FileBox) -> Rows:
    """Every effect at any target."""
    sent = zip(box.keys, box.digests.items(), strict=True)
    letters = [{"operation_key": key, "digest": digest, "object_id": id_} for key, (id_, digest) in sent]
    return [*business["effects"], *letters]


def _wrong_effects(ledger: _Tables, business: _Tables, box: FileBox) -> list[str]:
    """One key, one object; and ledger and target agree on what has happened."""
    made = _made(business, box)
    tables = [*business["tickets"], *business["notes"], *business["withdrawals"]]
    objects = {each["object_id"] for each in tables} | set(box.digests)
    found = [f"{count} objects under the key {key}" for key, count in _more_than_one(made, "operation_key")]
    if objects != {each["object_id"] for each in made}:
        found.append(f"objects without a key, or keys without an object: {objects ^ {e['object_id'] for e in made}}")
    at_the_target = {(e["operation_key"], e["digest"], e["object_id"]) for e in made}
    recorded = {
        (e["operation_key"], e["digest"], e["object_id"]) for e in ledger["effects"] if e["status"] == "committed"
    }
    if recorded != at_the_target:
        found.append(f"recorded as committed is {sorted(recorded)}, at the target is {sorted(at_the_target)}")
    return found


def _more_than_one(rows: Rows, column: str) -> list[tuple[Any, int]]:
    return [(value, count) for value, count in Counter(each[column] for each in rows).items() if count > 1]


def _unapproved(ledger: _Tables, everything: Rows) -> list[str]:
    """Each object was approved by a person, with exactly this digest, before the call that made it."""
    owners = {each["operation_key"]: each["operation_id"] for each in ledger["effects"]}
    asked = {each["operation_id"]: each for each in ledger["approvals"]}
    answers = ledger["decisions"]
    begun = {}
    for each in ledger["tries"]:
        begun[each["operation_id"]] = min(each["started_at"], begun.get(each["operation_id"], each["started_at"]))
    found: list[str] = []
    for made in everything:
        operation = owners.get(made["operation_key"], "")
        approval = asked.get(operation)
        given = [
            each
            for each in answers
            if approval is not None
            and each["approval_id"] == approval["approval_id"]
            and (each["answer"], each["digest_seen"]) == ("approve", made["digest"])
            and each["at"] <= begun.get(operation, 0)
        ]
        if approval is None or not given or (approval["status"], approval["digest"]) != ("approved", made["digest"]):
            found.append(f"{made['object_id']} was made without an approval of exactly that")
    return found


def _wrong_timeline(world: World, run: RunInWorld) -> list[str]:
    """Numbered without a gap, chained whole, and with one end, its last line."""
    with world.parts.ledger.database.read() as connection:
        broken = events.first_broken(connection, "local", run.run_id)
        lines = [each["type"] for each in events.page(connection, "local", run.run_id, 0, 10_000)]
    found = [] if broken is None else [f"the timeline is broken at {broken}"]
    if run.row.seq != len(lines):
        found.append(f"the run counts {run.row.seq} events, the timeline has {len(lines)}")
    ends = [line for line in lines if line in {f"run.{end}" for end in ENDS}]
    said = "run.completed" if run.row.status == "succeeded" else f"run.{run.row.status}"
    if ends != [said] or said not in lines[-2:]:  # a late answer may be recorded as refused after the end
        found.append(f"the timeline ends {lines[-3:]}, the run is {run.status}")
    return found


def _over_budget(run: RunInWorld) -> list[str]:
    return [
        f"{measure}: used {run.row.used[measure]} of {limit}"
        for measure, limit in run.row.limits.items()
        if limit is not None and run.row.used[measure] > limit
    ]


def _wrong_driving(ledger: _Tables, run: RunInWorld) -> list[str]:
    """One driver at a time: each is written off before the next one comes. In the end nobody holds the run."""
    found: list[str] = []
    driving: int | None = None
    for each in run.events:
        attempt = each["payload"].get("attempt")
        if each["type"] in DRIVES and attempt is not None:
            if driving is not None:
                found.append(f"attempt {attempt} begins while attempt {driving} drives")
            driving = attempt
        elif each["type"] == "attempt.ended":
            if driving != attempt:
                found.append(f"attempt {attempt} ends while {driving} drives")
            driving = None
    attempts = [each for each in ledger["attempts"] if each["run_id"] == run.run_id]
    if sorted(each["fence"] for each in attempts) != list(range(1, run.row.fence + 1)):
        found.append(f"attempts {[each['fence'] for each in attempts]}, fence {run.row.fence}")
    found += [f"attempt {each['fence']} never ended" for each in attempts if each["ended_at"] is None]
    row = run.row
    if (row.nonce, row.owner, row.lease_until, row.inflight, row.desired_action) != (None, None, 0, 0, "none"):
        found.append(f"a lease is left: {row.owner}, {row.lease_until}, inflight {row.inflight}, {row.desired_action}")
    return found


def _untrue(ledger: _Tables, run: RunInWorld) -> list[str]:
    """What the end says is what the records hold, and nothing is left open."""
    mine = [each for each in ledger["operations"] if each["run_id"] == run.run_id]
    result = run.row.result or {}
    committed = [each for each in mine if (each["effect"], each["status"]) == ("write", "committed")]
    done = sorted(f"{each['tool']} {each['object_id']}" for each in committed)
    found = [f"{each['operation_id']} is still {each['status']}" for each in mine if each["status"] in OPEN]
    found += [f"approval {e['approval_id']} is still pending" for e in ledger["approvals"] if e["status"] == "pending"]
    found += [f"{each['kind']} {each['number']} never ended" for each in run.tries if each["ended_at"] is None]
    if sorted(result.get("done", [])) != done:
        found.append(f"the end says {result.get('done')}, done is {done}")
    if result.get("complete") != (run.row.status == "succeeded"):
        found.append(f"the end says complete={result.get('complete')}, the run is {run.status}")
    if run.row.status == "succeeded" and any(each["verified"] != 1 for each in committed):
        found.append("success without a read-back")
    word = effect_of(effects_of([{**each} for each in mine]))
    return found if word == run.effect else [*found, f"effect is {run.effect}, the operations say {word}"]
