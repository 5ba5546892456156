"""Runs of older state versions go on as runs of this program's: by explicit steps, one for each version, or not at all.

What a version means is written in no database; so a run whose version nobody wrote a step for is parked, never guessed
at (P11). A step is pure: from the facts of a run to the columns of its row that change. It is applied by the driver of
the run, in one transaction with the new version number, a line of the timeline and one of the audit: a process that
dies leaves the old version or the new one, and no step is made twice. A step that fails changes nothing.

Tables and columns are migrated by `remit db upgrade` (`store/upgrade.py`); this is about what runs mean by them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from state.budget import MEASURES
from state.errors import InputInvalid, MigrationFailed
from state.run import STATE_VERSION, Lease
from store import audit
from store.ledger import REMIT, Facts, Ledger

Step = Callable[[Facts], Mapping[str, Any]]

# Version 1 is the only one there ever was. A step stands under the version that it leads on from, by one.
STEPS: dict[int, Step] = {}

# Not whose a run is, what it was admitted with, who drives it, how it stands, and its place on the timeline.
CHANGEABLE = frozenset(
    {"repairs", "priority", "wake_at", "deadline", "budget_refused"}
    | {f"max_{measure}" for measure in MEASURES}
    | {f"used_{measure}" for measure in MEASURES}
)


@dataclass(frozen=True, slots=True)
class StateVersions:
    """The state version that this program writes, and the older ones that it can bring up to it.

    Raises InputInvalid where the steps would leave a version on the way without one.
    """

    current: int = STATE_VERSION
    steps: Mapping[int, Step] = field(default_factory=lambda: dict(STEPS))

    def __post_init__(self) -> None:
        wanted = range(self.current - len(self.steps), self.current)
        if sorted(self.steps) != list(wanted):
            raise InputInvalid(
                f"State version {self.current}: give a step for each version from the oldest one on, without a gap;"
                f" given are steps from {', '.join(map(str, sorted(self.steps)))}."
            )

    def lacks(self, facts: Facts) -> str | None:
        """Why a run cannot go on here by its state version, in words; None if it can, once it is brought up."""
        version = facts.run.state_version
        if version == self.current:
            return None
        if version not in self.steps:
            known = f"this program writes {self.current}"
            known += f" and brings up {min(self.steps)} and later ones" if self.steps else " and knows no other"
            return f"it was written in state version {version}; {known}"
        try:
            self.changes(facts)
        except MigrationFailed as error:
            return str(error)
        return None

    def changes(self, facts: Facts) -> dict[str, Any]:
        """What the step from this run's version on changes. Raises MigrationFailed."""
        version = facts.run.state_version
        where = f"its state version {version} could not be brought to {version + 1}"
        try:
            changes = dict(self.steps[version](facts))
        except Exception as error:  # whatever a step meets in an old run, the run has to stay what it was
            raise MigrationFailed(f"{where}: {type(error).__name__}: {error}"[:1000]) from error
        wrong = sorted(set(changes) - CHANGEABLE)
        if wrong:
            raise MigrationFailed(f"{where}: a step must not change {', '.join(wrong)}")
        odd = sorted(name for name, value in changes.items() if type(value) not in {int, type(None)})
        if odd:
            raise MigrationFailed(f"{where}: these have to be whole numbers or None: {', '.join(odd)}")
        return changes


def bring_up(ledger: Ledger, versions: StateVersions, lease: Lease) -> None:
    """Make the steps that lead from a run's version to this program's, each in a transaction of its own.

    Does nothing for a version without a step. Raises MigrationFailed (the steps before it stand), LeaseLost.
    """
    version = ledger.run(lease.run_id).state_version
    while version in versions.steps:
        with ledger.settling(lease) as tx:
            changes = versions.changes(ledger.facts_in(tx.connection, tx.run_id))
            tx.set(**changes, state_version=version + 1)
            said = {"from": version, "to": version + 1}
            tx.event("run.migrated", said)
            name = f"run:{tx.run_id}"
            audit.append(tx.connection, tx.tenant, tx.now, REMIT, "run.migrate", name, "migrated", detail=said)
        version += 1
