"""Tools that create one object in the business store: a ticket, a note, the withdrawal of a ticket.

Kept by the store itself: one object per key, the live grant and the resource version checked inside its write
transaction, an authoritative lookup. So a call may be repeated with the same key after any crash.
"""

from __future__ import annotations

import re
from typing import ClassVar, Protocol

from pydantic import Field

from state.digest import Json
from state.errors import ToolError
from store.business import BusinessStore, Write
from tools.contract import Arguments, Call, Receipt, WriteTool, business_key

_SHA256 = re.compile(r"^[0-9a-f]{64}$")


class Reader(Protocol):
    """Reads objects back; not the connection that wrote them."""

    def read(self, kind: str, object_id: str) -> Json | None: ...
    def withdrawn(self, ticket: str) -> bool: ...


class CreateObject(WriteTool):
    """What creating a ticket and creating a note have in common."""

    kind: ClassVar[str]
    dedups_by_key = True
    lookup_is_authoritative = True
    ends_with_its_call = True

    def __init__(self, store: BusinessStore, reader: Reader) -> None:
        self._store = store
        self._reader = reader

    def resource_version(self, resource: str) -> int:
        return self._store.resource_version(resource)

    def permitted(self, principal: str, resource: str | None) -> str | None:
        return self._store.may(principal, f"write:{self.kind}", resource)

    def act(self, call: Call) -> Receipt:
        found = self._store.create(
            Write(
                kind=self.kind,
                key=call.key,
                digest=call.digest,
                fields=call.arguments,
                principal=call.principal,
                resource=call.resource,
                resource_version=call.resource_version,
                permit=call.permit,
            )
        )
        return Receipt(found.object_id, found.digest)

    def lookup(self, call: Call) -> Receipt | None:
        found = self._store.lookup(call.key)
        if found is None:
            return None
        if found.digest != call.digest:
            raise ToolError("key_conflict", f"The key {call.key!r} stands for {found.object_id}, made otherwise.")
        return Receipt(found.object_id, found.digest)

    def read_back(self, object_id: str) -> Json | None:
        return self._reader.read(self.kind, object_id)


class TicketArguments(Arguments):
    """A difference between what a source says and what a record holds. `observed` is the source's value."""

    source: str = Field(min_length=1, max_length=500, description="where the observed value comes from")
    source_sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$", description="content hash of the source")
    record: str = Field(default="", max_length=200, description="id of the record that differs")
    field: str = Field(min_length=1, max_length=200, description="the record's field that differs")
    observed: str = Field(min_length=1, max_length=2000, description="what the source says")
    recorded: str = Field(max_length=2000, description="what the record says")


class CreateTicket(CreateObject):
    """A ticket asking people to correct a record; the record itself is not changed."""

    name = "create_ticket"
    version = "1"
    description = "Create one ticket that says where a record differs from its source."
    kind = "ticket"
    arguments = TicketArguments

    def read_back(self, object_id: str) -> Json | None:
        """A ticket that was taken back is not there any more."""
        return None if self._reader.withdrawn(object_id) else super().read_back(object_id)

    def operation_key(self, arguments: Json) -> str:
        source = arguments["source_sha256"] or arguments["source"]
        if not arguments["source_sha256"] and _SHA256.match(source):
            source = f"named {source}"  # a name that looks like a content hash is none
        return business_key("ticket", source, arguments["record"], arguments["field"])

    def resource(self, arguments: Json) -> str | None:
        return f"record:{arguments['record']}" if arguments["record"] else None

    def preview(self, arguments: Json) -> Json:
        return {
            "summary": f"create a ticket: {arguments['field']} differs from {arguments['source']}",
            "difference": [
                {
                    "field": arguments["field"],
                    "recorded": arguments["recorded"],
                    "observed": arguments["observed"],
                }
            ],
        }


class NoteArguments(Arguments):
    """A note about a subject."""

    subject: str = Field(min_length=1, max_length=500, description="what the note is about")
    text: str = Field(min_length=1, max_length=10_000, pattern=r"\S", description="the note itself")


class CreateNote(CreateObject):
    """A note; one per subject."""

    name = "create_note"
    version = "1"
    description = "Create one note about a subject."
    kind = "note"
    arguments = NoteArguments

    def operation_key(self, arguments: Json) -> str:
        return business_key("note", arguments["subject"])

    def preview(self, arguments: Json) -> Json:
        return {
            "summary": f"create a note about {arguments['subject']}",
            "difference": [{"field": "text", "recorded": "", "observed": arguments["text"]}],
        }


class WithdrawalArguments(Arguments):
    """Which ticket is taken back, and why."""

    ticket: str = Field(min_length=1, max_length=200, description="the ticket's id")
    reason: str = Field(min_length=1, max_length=2000, pattern=r"\S", description="why it is taken back")


class WithdrawTicket(CreateObject):
    """Takes a ticket back: the ticket stays, and whoever reads it sees that it no longer holds. Once per ticket."""

    name = "withdraw_ticket"
    version = "1"
    description = "Take one ticket back."
    kind = "withdrawal"
    arguments = WithdrawalArguments
    compensates = CreateTicket.name

    def operation_key(self, arguments: Json) -> str:
        return business_key("withdrawal", arguments["ticket"])

    def compensation(self, arguments: Json, object_id: str) -> Json:
        return {"ticket": object_id, "reason": f"not wanted: {arguments['field']} of {arguments['source']}"[:2000]}

    def preview(self, arguments: Json) -> Json:
        return {
            "summary": f"withdraw the ticket {arguments['ticket']}",
            "difference": [{"field": "withdrawn", "recorded": "", "observed": arguments["reason"]}],
        }
