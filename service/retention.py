"""Pruning: who may, in which order, and what is noted.

Of each run that goes, one signed line stays in the audit: how long its timeline was, and the head of its chain.
Checkpoints go first: one that is gone before its run is no loss, one that is left after it would stay for ever.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from graphs.wiring import Parts, environment
from service.signing import Signer, signer
from state.actor import Actor
from state.clock import iso
from state.digest import Json
from state.errors import InputInvalid, NotAllowed
from store import audit, prune
from store.database import Connection

Forget = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Retention:
    """Prunes for one actor, whom trusted code named. `batch` runs go in one transaction, with an entry in the audit."""

    parts: Parts
    actor: Actor
    batch: int = prune.BATCH

    def prune(self, older_than_ms: int, *, dry_run: bool = False) -> Json:
        """`{before, dry_run, counts}`: what went, or would go, owners' files too. Raises NotAllowed, InputInvalid."""
        if older_than_ms < 0:
            raise InputInvalid("Only what is over can be pruned: give a time that lies behind.")
        before = self.parts.clock.now() - older_than_ms
        self._check()
        counts = self._count(before) if dry_run else self._remove(before)
        found = {name: counts[name] for name in prune.COUNTED} | {"owner_files": self._bury(dry_run)}
        return {"before": iso(before), "dry_run": dry_run, "counts": found}

    def _check(self) -> None:
        """Whoever may not is told so, and it is noted."""
        ledger = self.parts.ledger
        with ledger.database.write() as connection:
            if self._rule(connection) is not None:
                return
            audit.append(connection, ledger.tenant, ledger.clock.now(), self.actor, "prune", "runs", "denied")
        raise NotAllowed(f"{self.actor.subject} may not prune: remit grants give {self.actor.subject} prune.")

    def _rule(self, connection: Connection) -> str | None:
        ruling = self.parts.policy.may(connection, self.parts.ledger.tenant, self.actor.subject, "prune", "*")
        return ruling.rule if ruling.allowed else None

    def _count(self, before: int) -> Counter[str]:
        counts, ledger, after = Counter[str](), self.parts.ledger, ""
        while True:
            with ledger.database.read() as connection:
                found = prune.over(connection, ledger.tenant, ledger.clock.now(), before, after=after, limit=self.batch)
                for run_id in found:
                    counts += prune.counted(connection, ledger.tenant, run_id)
            if not found:
                return counts
            after = found[-1]

    def _remove(self, before: int) -> Counter[str]:
        counts, ledger, after = Counter[str](), self.parts.ledger, ""
        signs = signer(self.parts.settings, environment())
        with self._forgetting() as forget:
            while True:
                with ledger.database.read() as connection:
                    now = ledger.clock.now()
                    found = prune.over(connection, ledger.tenant, now, before, after=after, limit=self.batch)
                if not found:
                    return counts
                for run_id in found:
                    forget(run_id)
                counts += self._remove_batch(found, before, signs)
                after = found[-1]

    def _remove_batch(self, run_ids: list[str], before: int, signer: Signer) -> Counter[str]:
        ledger = self.parts.ledger
        with ledger.database.write() as connection:
            now, rule = ledger.clock.now(), self._rule(connection)
            if rule is None:
                raise NotAllowed(f"{self.actor.subject} may not prune any more; what was pruned before stays so.")
            removed = prune.remove(connection, ledger.tenant, now, before, run_ids, self.actor.subject)
            if removed.heads:
                kept = [signer.signed(each) for each in removed.heads]
                detail = {"before": iso(before), "counts": dict(removed.counts), "runs": kept}
                audit.append(
                    connection, ledger.tenant, now, self.actor, "prune", "runs", "removed", rule=rule, detail=detail
                )
            return removed.counts

    @contextmanager
    def _forgetting(self) -> Generator[Forget]:
        """Deletes a run's checkpoints, where there are any."""
        path = self.parts.settings.checkpoints_path
        if not path.exists():
            yield lambda _: None
            return
        from graphs.checkpointers import sqlite_saver

        with sqlite_saver(path) as saver:
            yield saver.delete_thread

    def _bury(self, dry_run: bool) -> int:
        """Files of owners that are proven dead, and that no run and no effect in doubt names any more."""
        idle: list[str] = []

        def needed(owner: str) -> bool:
            with self.parts.ledger.database.read() as connection:
                if prune.needs_owner(connection, owner):
                    return True
            idle.append(owner)
            return dry_run

        self.parts.owner.bury(needed)
        return len(idle)
