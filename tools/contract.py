"""The tool contract: what a tool must say about itself, so that Remit can hold its promises for it.

A tool is a class. A `ReadTool` looks at something; a `WriteTool` has an effect, and then says who it is to the world:
its operation key, the resource it touches, how to look an outcome up, and how to read back what it did.
"""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar, cast
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from state.clock import Permit
from state.digest import Json, plain_text
from state.errors import ErrorClass, InputInvalid, ToolError
from tools.secrets import redacted, redacted_end

MAX_VERSION = 2**63
T = TypeVar("T")
_NAME = re.compile(r"^[a-z][a-z0-9_]{0,63}$")


class Arguments(BaseModel):
    """Base of all argument schemas: strict types, unknown fields refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, str_max_length=20_000)


class CancelToken:
    """Tripped by cancel, deadline, loss of the lease and drain. Long calls look at it, or wait for `event`."""

    def __init__(self) -> None:
        self._why: str | None = None
        self.event = threading.Event()

    def trip(self, why: str) -> None:
        self._why = self._why or why
        self.event.set()

    @property
    def tripped(self) -> str | None:
        """Why the call should stop, or None."""
        return self._why


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, as trusted code makes it. `task` is the run's recorded input."""

    run_id: str
    operation_id: str
    key: str
    digest: str
    arguments: Json
    principal: str
    resource: str | None = None
    resource_version: int | None = None
    task: Json = field(default_factory=dict[str, Any])
    permit: Permit | None = None  # a write checks it immediately before it happens
    token: CancelToken = field(default_factory=CancelToken)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that an effect has happened: the target's id for what it made, and the digest it was made with."""

    object_id: str
    digest: str


class Tool(ABC):
    """Common to all tools. `name@version` is how an agent's definition names it.

    * `longest_call_s`: after so long a call (act, read, lookup or read-back) is given up.
    * `ends_with_its_call`: nothing of a call is under way any more when it has returned, raised, or lost its process (a
      local read or write; not a request to another machine). Such a call is waited for.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    description: ClassVar[str]
    effect: ClassVar[Literal["read", "write"]]
    arguments: ClassVar[type[Arguments]]
    longest_call_s: ClassVar[float] = 60.0
    ends_with_its_call: ClassVar[bool] = False

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"

    def schema(self) -> Json:
        """JSON Schema of the arguments; made once, not to be changed by whoever gets it."""
        return _schema(self.arguments)

    def check(self) -> None:
        """Refuse a tool that is described wrongly, when it is registered. Raises InputInvalid."""
        if not _NAME.match(self.name):
            raise InputInvalid(f"Tool name {self.name!r}: use lower-case letters, digits and '_'.")
        if self.arguments.model_config.get("extra") != "forbid" or not self.arguments.model_config.get("strict"):
            raise InputInvalid(f"Tool {self.name}: derive its arguments from tools.contract.Arguments.")


class ReadTool(Tool):
    """Looks at something. It may be called again at any time, and what it gave is recorded."""

    effect = "read"

    @abstractmethod
    def read(self, call: Call) -> Json:
        """JSON-plain result, bounded in size. Raises ToolError."""


class WriteTool(Tool):
    """Has an effect. Whatever it declares here is what Remit can promise for it.

    About repeating and looking up:

    * `dedups_by_key`: the target itself makes at most one object per key, for `key_valid_for_s` seconds from the first
      claim on (None: for ever). After that time it counts as a target without keys.
    * `lookup_is_authoritative`: "not found" from `lookup` means "has not happened", once no call can be under way any
      more and all that was done is visible: twice `longest_call_s` (a call begins within one) and `visible_within_s`
      after the claim.
    * `visible_within_s`: how long what was done may stay invisible to `lookup` and `read_back`.
    * `lookups`: how often an unknown outcome is looked up, with growing waits, before a person is asked. 0: never, the
      target cannot be asked; where it dedups by key, the call is repeated instead.

    About a call that is going on:

    * `longest_call_s`: after so long the outcome of an act is unknown.
    * `cancellable`: what a tripped token does: `yes`, the call ends by itself; `kill`, its process is killed; `no`,
      it is given up. In each case its outcome is unknown until it is looked up.

    `compensates` names the tool whose effect this one takes back; see `compensation`.
    """

    effect = "write"
    needs_approval: ClassVar[bool] = True
    dedups_by_key: ClassVar[bool] = False
    key_valid_for_s: ClassVar[float | None] = None
    lookup_is_authoritative: ClassVar[bool] = False
    visible_within_s: ClassVar[float] = 0.0
    lookups: ClassVar[int] = 6
    cancellable: ClassVar[Literal["yes", "kill", "no"]] = "no"
    compensates: ClassVar[str | None] = None

    def operation_key(self, arguments: Json) -> str | None:
        """The business effect that the arguments name, or None for a key from run, turn and index."""
        del arguments
        return None

    def amount(self, arguments: Json) -> int | None:
        """What a policy may limit, as a whole number from 0 on (money in its smallest unit, rows), or None."""
        del arguments
        return None

    def resource(self, arguments: Json) -> str | None:
        """The versioned resource that is touched, or None."""
        del arguments
        return None

    def resource_version(self, resource: str) -> int | None:
        """The version of a resource now, or None where the target has none."""
        del resource
        return None

    def compensation(self, arguments: Json, object_id: str) -> Json:
        """The arguments with which this tool takes back an effect of the tool that it compensates.

        `arguments` are those of the effect, `object_id` is what it made.
        """
        raise NotImplementedError(f"{self.name} compensates nothing.")

    @abstractmethod
    def permitted(self, principal: str, resource: str | None) -> str | None:
        """The live grant at the target under which the principal may do this, by name, or None."""

    @abstractmethod
    def preview(self, arguments: Json) -> Json:
        """What an approver is shown beside the arguments: for a change, the difference."""

    @abstractmethod
    def act(self, call: Call) -> Receipt:
        """Do it. Raises ToolError; `unknown_outcome` for anything after which the effect may have happened."""

    @abstractmethod
    def lookup(self, call: Call) -> Receipt | None:
        """What has happened under the call's key, or None. Raises ToolError if that cannot be found out now.

        `key_conflict` means that nothing of this operation has happened: only for what was certainly not made by it.
        What may be its own, changed meanwhile, is an `unknown_outcome`.
        """

    @abstractmethod
    def read_back(self, object_id: str) -> Json | None:
        """The object's fields as an independent reader sees them, or None if it is not there. Raises ToolError."""


@cache
def _schema(arguments: type[Arguments]) -> Json:
    return arguments.model_json_schema()


def foreign(call: Callable[[], T], unforeseen: ErrorClass) -> T:
    """Call a tool. It is foreign code: whatever it raises is its answer, as a ToolError of the class `unforeseen`.

    What it answers or raises holds no secret that was looked up in this process. A receipt that would is none.
    """
    try:
        return _clean(call())
    except ToolError as error:
        clean = redacted_end(str(error))
        if clean == str(error):
            raise
        raise ToolError(error.error_class, clean, retry_after_s=error.retry_after_s) from None
    except (Exception, SystemExit, GeneratorExit) as error:
        said = in_words(error)
        raise ToolError(unforeseen, said) from (None if "***" in said else error)


def _clean(answer: T) -> T:
    if isinstance(answer, Receipt):
        return cast(T, answer if redacted(answer.object_id) == answer.object_id else Receipt("", answer.digest))
    return redacted(answer)


def version_of(tool: WriteTool, resource: str) -> int | None:
    """The version of a resource now. Raises ToolError where the target does not say one that can be kept."""
    version: Any = foreign(lambda: tool.resource_version(resource), "transient")
    if version is None or (type(version) is int and abs(version) < MAX_VERSION):
        return version
    raise ToolError("internal", f"{tool.name}: the version of {resource} is no whole number of 63 bits.")


def amount_of(tool: WriteTool, arguments: Json) -> int | None:
    """What a policy may limit. Raises ToolError where the tool does not say a whole number."""
    amount: Any = foreign(lambda: tool.amount(arguments), "internal")
    if amount is None or (type(amount) is int and 0 <= amount < MAX_VERSION):
        return amount
    raise ToolError("internal", f"{tool.name}: its amount is no whole number from 0 to 63 bits.")


def in_words(error: BaseException) -> str:
    """A foreign exception as bounded text, whatever its own words do."""
    try:
        said = redacted(f"{type(error).__name__}: {error}")  # before it is cut: half a secret is one too
    except Exception:  # its words are foreign code too
        said = type(error).__name__
    return plain_text(said[:500])


def business_key(kind: str, *parts: str) -> str:
    """`kind:part:part`, each part escaped so that no two lists of parts give the same key."""
    return ":".join([kind, *[quote(part, safe=" /@+,;=()'!*~") for part in parts]])
