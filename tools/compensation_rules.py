"""The rules of a compensation: which effect is taken back, and with which call exactly.

What is called for follows from the recorded effect and from the tool that declares to compensate it; nobody gives
arguments. It is an action like any other: planned, approved, claimed and read back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from state.acceptance import Expectation
from state.digest import Json
from state.errors import Conflict, InputInvalid
from state.operation import Action, Operation
from store.operations import Source
from tools.contract import WriteTool


@dataclass(frozen=True, slots=True)
class Known:
    """What this program and its ledger know.

    `registered` says of a tool's id whether this program has it: what another version did is not for us to take back.
    `done` says what was made under an operation key, if anything: nothing is taken back twice. `maker` is the run that
    made it: it is taken back where it was made.
    """

    registered: Callable[[str], bool]
    done: Callable[[str], str | None]
    maker: Callable[[str], str | None]


class CompensationRules:
    """`find` gives an operation; `tools` are those that compensate, by the name of the tool whose effect it is."""

    def __init__(
        self,
        find: Callable[[str], Operation],
        tools: Mapping[str, WriteTool],
        known: Known,
    ) -> None:
        self._find = find
        self._tools = tools
        self._known = known

    def run_of(self, given: Json) -> str | None:
        """The run whose effect is named, None where none is. Raises OperationNotFound."""
        operation_id: Any = given.get("operation")
        return self._find(operation_id).run_id if isinstance(operation_id, str) and operation_id else None

    def accept_input(self, given: Json) -> Json:
        """Raises InputInvalid, OperationNotFound, and Conflict for what is not there to be taken back."""
        operation_id: Any = given.get("operation")
        if not isinstance(operation_id, str) or not operation_id:
            raise InputInvalid('Name the effect to take back: {"operation": "op_..."}; `remit show RUN` names them.')
        operation = self._find(operation_id)
        if operation.effect != "write" or operation.status != "committed" or operation.object_id is None:
            raise Conflict(f"{operation_id} is {operation.status}: only an effect that is committed can be taken back.")
        if operation.adopted:
            maker = self._known.maker(operation.operation_key)
            made = f"{operation_id} made nothing: {operation.object_id} was made by run {maker}"
            raise Conflict(f"{made}; take it back there.")
        tool = self._tools.get(operation.tool)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            raise Conflict(f"No tool takes back what {operation.tool} does; there is one for: {known}.")
        made_by = f"{operation.tool}@{operation.tool_version}"
        if not self._known.registered(made_by):
            raise Conflict(
                f"{operation_id} was done by {made_by}, which this program does not have: take it back there."
            )
        arguments = tool.compensation(operation.arguments, operation.object_id)
        key = tool.operation_key(arguments)
        before = None if key is None else self._known.done(key)
        if before is not None:
            raise Conflict(f"{operation.object_id} was taken back already, by {before}.")
        made = {"run": operation.run_id, "object_id": operation.object_id}
        return {"operation": operation_id, **made, "tool": tool.name, "arguments": arguments}

    def expectation(self, task: Json, sources: Sequence[Source]) -> Expectation:
        effect = Action(tool=task["tool"], arguments=task["arguments"])
        return Expectation("effect", f"{task['object_id']} of run {task['run']} is taken back.", effect=effect)
