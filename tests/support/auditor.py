"""An auditor: somebody who has an evidence document, the two checkers, and nothing else."""

from __future__ import annotations

import json
from typing import Any

from service.evidence import Evidence, chained
from service.evidence_check import Check, digest
from service.evidence_signature import wrong
from service.signing import Signer, signer
from state.actor import Actor
from tests.support.run_in_world import USER
from tests.support.world import World

Document = dict[str, Any]


def signer_of(world: World) -> Signer:
    return signer(world.parts.settings, {})


def evidence(world: World, run_id: str, by: str = USER) -> Document:
    """The document as it arrives: through JSON, and nothing shared with the program that wrote it."""
    return json.loads(json.dumps(Evidence(world.parts, Actor(by), signer_of(world)).of(run_id)))


def problems(document: Document, key: str | None = None) -> list[str]:
    """What both checkers say, without the database."""
    return Check(document).problems + wrong(document, key)


def effects(document: Document) -> list[str]:
    return Check(document).effects


def changed(document: Document, section: str, number: int, /, **fields: Any) -> Document:
    """The same document with other fields in one line."""
    lines = [*document["sections"][section]]
    lines[number - 1] = {**lines[number - 1], **fields}
    return {**document, "sections": {**document["sections"], section: lines}}


def rechained(document: Document) -> Document:
    """What somebody makes of a changed document who knows the format, but has neither the database nor the key."""
    head = {name: document[name] for name in ("format", "tenant_id", "run_id", "exported")}
    chain, last = chained(head, document["sections"])
    return {**document, "chain": chain, "head": last}


def another(value: Any) -> Any:
    """Some other value of the same kind."""
    if value is None:
        return 1
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, list):
        return [*value, "x"]
    return {**value, "x": "x"}


def retold(document: Document) -> Document:
    """The same by somebody who makes the timeline fit as well, as if the ledger had been so."""
    previous = "0" * 64
    events = [{**line, "seq": seq} for seq, line in enumerate(document["sections"]["events"], 1)]
    for line in events:
        content = {name: each for name, each in line.items() if name != "hash"}
        line["hash"] = previous = digest({**content, "previous": previous})
    sections = {**document["sections"], "events": events}
    ends = {"seq": len(events), "last_hash": previous}
    return rechained(changed({**document, "sections": sections}, "run", 1, **ends))
