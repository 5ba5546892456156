"""A target outside Remit: a letter box. What arrived stays there, whatever the caller learns of it.

Its contract is set per test: whether it knows keys, whether its "not found" can be trusted, what it does to callers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from state.errors import ToolError
from tools.contract import Arguments, Call, Receipt, WriteTool, business_key


class LetterArguments(Arguments):
    """To whom, and what."""

    to: str
    text: str = ""


@dataclass
class Box:
    """The outside world. `answers` are done to the calls in turn, after (or instead of) the letter's arrival."""

    letters: list[str] = field(default_factory=list)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    answers: list[Callable[[Receipt], Any]] = field(default_factory=list)
    before: list[Callable[[], Any]] = field(default_factory=list)
    lookup_fails: int = 0
    hides: int = 0  # so many lookups do not find yet what is there
    forgets: bool = False
    knows_keys: bool = False

    def arrive(self, call: Call) -> Receipt:
        self.called(call)
        if self.before:
            self.before.pop(0)()
        if self.knows_keys and call.key in self.receipts:
            return self.receipts[call.key]
        receipt = Receipt(f"letter-{len(self.letters) + 1}", call.digest)
        self.keep(call, receipt)
        return self.answers.pop(0)(receipt) if self.answers else receipt

    def called(self, call: Call) -> None:
        self.calls.append(call.key)

    def keep(self, call: Call, receipt: Receipt) -> None:
        self.letters.append(call.arguments["to"])
        self.receipts[call.key] = receipt

    def find(self, key: str) -> Receipt | None:
        """What somebody who looks for this key is told."""
        if self.lookup_fails:
            self.lookup_fails -= 1
            raise TimeoutError("the box does not answer")
        if self.hides:
            self.hides -= 1
            return None
        return None if self.forgets else self.receipts.get(key)


def breaks(_: Receipt) -> Receipt:
    """The letter arrived, and the line broke."""
    raise ConnectionError("the line broke")


def refuses() -> None:
    """The letter is not taken."""
    raise ToolError("refused_by_target", "the box is full")


def is_lost() -> None:
    """The letter is lost on its way, and nobody knows."""
    raise ConnectionError("no answer")


def is_busy(retry_after_s: float | None = None) -> Callable[[], None]:
    """The letter is not taken now; it may be later."""

    def refuse() -> None:
        raise ToolError("rate_limited", "come back later", retry_after_s=retry_after_s)

    return refuse


class SendLetter(WriteTool):
    """Sends a letter; subclasses declare another contract."""

    name = "send_letter"
    version = "1"
    description = "Send one letter."
    arguments: ClassVar[Any] = LetterArguments
    box: ClassVar[Box]
    granted: ClassVar[bool] = True

    def operation_key(self, arguments: dict[str, Any]) -> str:
        return business_key("letter", arguments["to"])

    def permitted(self, principal: str, resource: str | None) -> str | None:
        return "*" if self.granted else None

    def preview(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"summary": f"a letter to {arguments['to']}", "difference": []}

    def act(self, call: Call) -> Receipt:
        return self.box.arrive(call)

    def lookup(self, call: Call) -> Receipt | None:
        return self.box.find(call.key)

    def read_back(self, object_id: str) -> dict[str, Any] | None:
        number = int(object_id.removeprefix("letter-"))
        return {"to": self.box.letters[number - 1], "text": ""} if number <= len(self.box.letters) else None


def send_letter(box: Box, **contract: Any) -> SendLetter:
    """The tool with this contract: `dedups_by_key`, `lookup_is_authoritative`, `needs_approval`, `granted`."""
    return type("SendLetter", (SendLetter,), {"box": box, **contract})()


def letters(*names: str) -> dict[str, Any]:
    """A proposal for one letter to each, in one turn."""
    return {"kind": "actions", "actions": [{"tool": "send_letter", "arguments": {"to": each}} for each in names]}
