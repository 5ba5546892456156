"""Evidence: one JSON document from which an auditor can establish, without Remit, what a run did and who let it.

The format is `remit-evidence/1` (docs/evidence.md, docs/evidence-schema.json); `evidence_check.py` checks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphs.wiring import Parts
from service.evidence_masks import mask
from service.signing import Signer
from state.actor import Actor
from state.digest import Json, canonical, canonical_plain, sha256
from state.errors import NotAllowed, RunNotFound
from store import audit
from store.database import Connection
from store.evidence import SECTIONS, lines_of

FORMAT = "remit-evidence/1"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Exports for one actor, whom trusted code named."""

    parts: Parts
    actor: Actor
    signer: Signer

    def of(self, run_id: str) -> Json:
        """The document about a run, or about what is left of a pruned one. Raises RunNotFound, NotAllowed.

        Read in a write transaction: all lines are of one moment, and the audit knows the head that was given out.
        """
        ledger = self.parts.ledger
        with ledger.database.write() as connection:
            lines = lines_of(connection, ledger.tenant, run_id)
            if lines is None:
                raise RunNotFound(run_id)
            rule = self._rule(connection, lines)
            now = ledger.clock.now()
            if rule is None:
                self._note(connection, now, run_id, "denied", None, {})
            else:
                mask(lines, self.parts.agents)
                document = self._document(run_id, lines, now)
                said = {"head": document["head"], "lines": sum(map(len, lines.values())), "key": self.signer.key}
                self._note(connection, now, run_id, "exported", rule, said)
                return document
        raise NotAllowed(
            f"{self.actor.subject} may not export the evidence of run {run_id}. Somebody who may can say:"
            f" remit grants give {self.actor.subject} evidence"
        )

    def _rule(self, connection: Connection, lines: dict[str, list[Json]]) -> str | None:
        """Of a pruned run nobody knows the agent any more: it takes the right for all."""
        agent_id = lines["run"][0]["agent_id"] if lines["run"] else "*"
        ruling = self.parts.policy.may(connection, self.parts.ledger.tenant, self.actor.subject, "evidence", agent_id)
        return ruling.rule if ruling.allowed else None

    def _note(self, connection: Connection, now: int, run_id: str, result: str, rule: str | None, detail: Json) -> None:
        tenant, name = self.parts.ledger.tenant, f"run:{run_id}"
        audit.append(connection, tenant, now, self.actor, "evidence.export", name, result, rule=rule, detail=detail)

    def _document(self, run_id: str, lines: dict[str, list[Json]], now: int) -> Json:
        document = {
            "format": FORMAT,
            "tenant_id": self.parts.ledger.tenant,
            "run_id": run_id,
            "exported": {"at": now, "by": self.actor.subject},
        }
        chain, head = chained(document, lines)
        signed = self.signer.signed({"format": FORMAT, "run_id": run_id, "head": head})
        return {**document, "sections": lines, "chain": chain, "head": head, "signature": signed["signature"]}


def chained(head: Json, lines: dict[str, list[Json]]) -> tuple[dict[str, list[str]], str]:
    """The hash of each line, over it and its predecessor, section by section; and the last one."""
    previous = sha256(canonical(head))
    chain: dict[str, list[str]] = {name: [] for name in SECTIONS}
    for section in SECTIONS:
        form = canonical_plain if section == "events" else canonical  # as events are hashed themselves
        for number, line in enumerate(lines[section], 1):
            linked: dict[str, Any] = {"section": section, "number": number, "line": line, "previous": previous}
            previous = sha256(form(linked))
            chain[section].append(previous)
    return chain, previous
