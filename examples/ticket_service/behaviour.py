"""How good a service it is: what it supports, how slow it is, and which faults it has next."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

CALLS = ("create", "close", "lookup", "read", "version")
WHENS = ("before", "after")  # before or after what was asked for is committed
HOWS = ("status", "lose", "half", "hang")


@dataclass
class Fault:
    """`status` answers with it, `lose` closes the connection, `half` breaks off in the body, `hang` never answers.

    It comes to the first `times` calls after `skip` others.
    """

    on: str
    when: str = "before"
    how: str = "status"
    status: int = 503
    retry_after: str | None = None
    times: int = 1
    skip: int = 0

    def __post_init__(self) -> None:
        if self.on not in CALLS or self.when not in WHENS or self.how not in HOWS:
            raise ValueError(f"a fault is on one of {CALLS}, {WHENS}, and one of {HOWS}")


@dataclass
class Behaviour:
    """`hidden_*`: so many looks do not see what is there; `visible_after_ms`: nor do those that come too soon."""

    keys: bool = True
    lookup: bool = True
    slow_ms: int = 0
    visible_after_ms: int = 0
    hidden_lookups: int = 0
    hidden_reads: int = 0
    faults: list[Fault] = field(default_factory=list[Fault])

    def changed(self, given: dict[str, Any]) -> Behaviour:
        """Raises ValueError or TypeError for what it does not know."""
        unknown = set(given) - {each.name for each in fields(self)}
        if unknown:
            raise ValueError(f"no such behaviour: {', '.join(sorted(unknown))}")
        faults = [Fault(**each) for each in given["faults"]] if "faults" in given else map(replace, self.faults)
        return replace(self, **{**given, "faults": list(faults)})

    def next_fault(self, on: str, when: str) -> Fault | None:
        """The fault that comes now, if any; it is used up."""
        for each in self.faults:
            if (each.on, each.when) != (on, when) or each.times == 0:
                continue
            if each.skip == 0:
                each.times -= 1
                return each
            each.skip -= 1
        return None
