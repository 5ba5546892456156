"""Offices outside, one for each kind of contract, that take letters and may lose them or their receipts.

Between the moment a letter is handed over and the moment it arrives, and again before the receipt is back, the calling
process may stand still for as long as a schedule likes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from state.clock import Clock
from state.errors import ToolError
from tests.support.schedule import boundary
from tests.support.target import LetterArguments
from tools.contract import Call, Receipt, WriteTool, business_key

MOODS = ("loses the letter", "loses the receipt", "refuses", "is busy", "fine")


@dataclass(frozen=True)
class Arrival:
    """One letter that is there."""

    key: str
    digest: str
    operation_id: str
    arguments: dict[str, Any]


@dataclass
class Office:
    """`moods` are what happens to the next calls, in turn; `silent` is how many lookups get no answer, `hides` how
    many do not find what is there.
    """

    clock: Clock
    dedups: bool
    tracks: bool
    arrived: list[Arrival] = field(default_factory=list)
    moods: list[str] = field(default_factory=list)
    silent: int = 0
    hides: int = 0
    granted: bool = True
    handed_over: list[str] = field(default_factory=list)  # keys of calls that were not plainly refused
    excused: list[str] = field(default_factory=list)  # keys that are free again: proven or said not to have been used
    inside: list[str] = field(default_factory=list)  # keys of calls that stand still in here

    def take(self, call: Call) -> Receipt:
        mood = self.moods.pop(0) if self.moods else "fine"
        self.inside.append(call.key)
        try:
            return self._taken(call, mood)
        finally:
            self.inside.remove(call.key)

    def _taken(self, call: Call, mood: str) -> Receipt:
        boundary()
        if not self.dedups and call.permit is not None and call.permit.is_over(self.clock):
            raise ToolError("refused_by_target", "the permit has run out")  # nothing stands still after this check
        if mood == "refuses":
            raise ToolError("refused_by_target", "not taken")
        if mood == "is busy":
            raise ToolError("transient", "come again")
        self.handed_over.append(call.key)
        if mood == "loses the letter":
            raise ConnectionError("no answer")
        receipt = self._arrives(call)
        boundary()
        if mood == "loses the receipt":
            raise ConnectionError("the line broke")
        return receipt

    def _arrives(self, call: Call) -> Receipt:
        known = self.found(call.key) if self.dedups else None
        if known is not None and known.digest != call.digest:
            raise ToolError("key_conflict", "another letter has this key")
        if known is None:
            self.arrived.append(Arrival(call.key, call.digest, call.operation_id, call.arguments))
        return known or Receipt(f"letter-{len(self.arrived)}", call.digest)

    def look_up(self, call: Call) -> Receipt | None:
        boundary()
        if self.silent:
            self.silent -= 1
            raise TimeoutError("no answer")
        if self.hides:
            self.hides -= 1
            return None
        found = self.found(call.key)
        if found is None and self.tracks and call.key not in self.inside:
            self.excused.append(call.key)
        return found

    def found(self, key: str) -> Receipt | None:
        for number, each in enumerate(self.arrived, start=1):
            if each.key == key:
                return Receipt(f"letter-{number}", each.digest)
        return None


class Send(WriteTool):
    """Sends a letter by one of the offices."""

    version = "1"
    description = "Send one letter."
    arguments: ClassVar[Any] = LetterArguments
    ends_with_its_call = True  # so that it runs in its task and can stand still there

    def __init__(self, office: Office) -> None:
        self.office = office

    def operation_key(self, arguments: dict[str, Any]) -> str:
        return business_key(self.name, arguments["to"])

    def permitted(self, principal: str, resource: str | None) -> str | None:
        return "*" if self.office.granted else None

    def preview(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"summary": f"a letter to {arguments['to']}", "difference": []}

    def act(self, call: Call) -> Receipt:
        return self.office.take(call)

    def lookup(self, call: Call) -> Receipt | None:
        return self.office.look_up(call)

    def read_back(self, object_id: str) -> dict[str, Any] | None:
        number = int(object_id.removeprefix("letter-"))
        return self.office.arrived[number - 1].arguments if number <= len(self.office.arrived) else None


class SendKeyed(Send):
    """The office itself makes one letter per key."""

    name = "send_keyed"
    dedups_by_key = True


class SendTracked(Send):
    """The office knows no keys, but what it does not find has not arrived."""

    name = "send_tracked"
    lookup_is_authoritative = True


class SendPlain(Send):
    """The office knows neither; it may be asked, and that proves nothing."""

    name = "send_plain"

    def lookup(self, call: Call) -> Receipt | None:
        boundary()
        return None


class SendRemote(SendTracked):
    """As tracked, but a call may go on without its caller: it runs in a thread of its own."""

    name = "send_remote"
    ends_with_its_call = False
    longest_call_s = 50.0
    visible_within_s = 5.0


SENDERS: tuple[type[Send], ...] = (SendKeyed, SendTracked, SendPlain, SendRemote)
