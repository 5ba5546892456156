"""From a recorded proposal to checked actions and what they would be: the same answer however often it is asked.

Pure but for reading resource versions of the target: `validate` and `authorize` both call it, so neither trusts what
the other left in the graph's state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from state.acceptance import Expectation
from state.digest import Json, canonical, digest_of, json_object, operation_digest, plain_text
from state.errors import ToolError
from state.operation import RESERVED_NAMES, Action, Proposal
from store.operations import Planned, Source
from tools.contract import Tool, WriteTool, foreign, version_of
from tools.policy import Ruling

MAX_ARGUMENT_BYTES = 64 * 1024
MAX_DEPTH = 8
MAX_NAME = 2_000
MAX_PREVIEW_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a proposal is not taken; told to the decider. `denied` is for a tool that exists but is not the agent's."""

    why: str
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """An action whose tool is known and whose arguments are valid."""

    tool: Tool
    arguments: Json


def read_proposal(recorded: Json) -> Proposal | Refusal:
    """The proposal that was recorded, or why it cannot be read as one."""
    try:
        return Proposal.model_validate(recorded)
    except ValidationError as error:
        return Refusal(f"The proposal has the wrong shape: {_first(error)}.")


def check(
    proposal: Proposal,
    tools: Mapping[str, Tool],
    known: Mapping[str, bool],
    expectation: Expectation,
    sources: Sequence[Source],
) -> list[Checked] | Refusal:
    """Every check of a proposal that asks for actions. `known` says of a name whether such a tool is registered."""
    if not proposal.actions:
        return Refusal("A proposal of kind 'actions' needs at least one action.")
    checked: list[Checked] = []
    for action in proposal.actions:
        found = _tool(action, tools, known)
        if isinstance(found, Refusal):
            return found
        arguments = valid_arguments(found, action.arguments)
        if isinstance(arguments, Refusal):
            return arguments
        problem = _against_sources(found, arguments, action, expectation, sources)
        if problem is not None:
            return Refusal(problem)
        checked.append(Checked(found, arguments))
    return _without_duplicates(checked)


def _tool(action: Action, tools: Mapping[str, Tool], known: Mapping[str, bool]) -> Tool | Refusal:
    tool = tools.get(action.tool)
    if tool is not None:
        return tool
    if known.get(action.tool, False):
        return Refusal(f"This agent may not use the tool {action.tool!r}.", denied=True)
    return Refusal(f"There is no tool {action.tool!r}; there are {', '.join(sorted(tools))}.")


def valid_arguments(tool: Tool, given: Json) -> Json | Refusal:
    """Arguments as the tool's strict schema takes them, defaults filled in; or why they are refused."""
    reserved = _reserved(given, MAX_DEPTH)
    if reserved is not None:
        return Refusal(f"{tool.name}: {reserved}")
    try:
        if len(canonical(given)) > MAX_ARGUMENT_BYTES:
            return Refusal(f"{tool.name}: the arguments are longer than {MAX_ARGUMENT_BYTES} bytes.")
        return tool.arguments.model_validate(given).model_dump(mode="json")
    except ValidationError as error:
        return Refusal(f"{tool.name}: {_first(error)}.")
    except (ValueError, RecursionError) as error:
        return Refusal(f"{tool.name}: the arguments are not plain JSON ({error}).")


def _reserved(value: Any, depth: int) -> str | None:
    if depth == 0:
        return f"the arguments are nested deeper than {MAX_DEPTH} levels."
    inner: list[Any] = []
    if isinstance(value, dict):
        named = cast(dict[str, Any], value)
        for name in named:
            if str(name).lower() in RESERVED_NAMES:
                return f"{name!r} is not for a proposal to say."
        inner = list(named.values())
    elif isinstance(value, list):
        inner = cast(list[Any], value)
    return next((found for each in inner if (found := _reserved(each, depth - 1)) is not None), None)


def _against_sources(
    tool: Tool, arguments: Json, action: Action, expectation: Expectation, sources: Sequence[Source]
) -> str | None:
    """Preconditions, acceptance and citations of one action; None if all hold."""
    if isinstance(tool, WriteTool):
        if expectation.kind == "incomplete":
            return f"{tool.name} comes too early: {expectation.explanation}"
        if not expectation.admits(tool.name, arguments):
            wrong = ", ".join(expectation.differences(arguments))
            said = f" (differs in {wrong})" if wrong else ""
            return f"{tool.name} is not what the recorded sources call for{said}: {expectation.explanation}"
    read = {(source.result.get("material"), source.result.get("sha256")): source.result for source in sources}
    for citation in action.cites:
        result = read.get((citation.material, citation.sha256))
        if result is None:
            return f"It cites {citation.material} {citation.sha256[:12]}, which this run has not read."
        if citation.quote not in str(result.get("text", result.get("record", ""))):
            return f"It cites words that {citation.material} does not contain."
    return None


def _without_duplicates(checked: list[Checked]) -> list[Checked] | Refusal:
    seen: set[str] = set()
    for each in checked:
        digest = operation_digest(each.tool.name, each.tool.version, each.arguments)
        if digest in seen:
            return Refusal(f"{each.tool.name} is asked for twice with the same arguments.")
        seen.add(digest)
    return checked


def operation_id(run_id: str, turn: int, index: int, generation: int) -> str:
    """The same for the same place in the journal, so that planning twice writes once; opaque to everybody else."""
    return "op_" + digest_of([run_id, turn, index, generation])[:24]


@dataclass(frozen=True, slots=True)
class Aim:
    """What trusted code says of an action: the effect that it names, and the versioned resource that it touches."""

    key: str
    resource: str | None = None
    version: int | None = None


def aim_of(tool: WriteTool, arguments: Json, default_key: str) -> Aim:
    """Raises ToolError where the tool or its target cannot say, or says what cannot be kept."""
    key = _text(foreign(lambda: tool.operation_key(arguments), "internal"), "operation key") or default_key
    resource = _text(foreign(lambda: tool.resource(arguments), "internal"), "resource")
    if resource is None:
        return Aim(key)
    return Aim(key, resource, version_of(tool, resource))


def _text(given: Any, what: str) -> str | None:
    """Raises ToolError unless it is a text of bounded length, or None."""
    if given is None or (isinstance(given, str) and len(given) <= MAX_NAME and given == plain_text(given)):
        return given
    raise ToolError("internal", f"The tool's {what} is no text of at most {MAX_NAME} characters.")


def preview_of(tool: WriteTool, arguments: Json) -> Json:
    """Raises ToolError unless it is a JSON object of bounded size."""
    preview = json_object(foreign(lambda: tool.preview(arguments), "internal"), MAX_PREVIEW_BYTES)
    if preview is None:
        raise ToolError("internal", f"The tool's preview is no JSON object of at most {MAX_PREVIEW_BYTES} bytes.")
    return preview


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the journal an operation stands, and who proposed it."""

    run_id: str
    turn: int
    index: int
    generation: int
    source: str

    @property
    def key(self) -> str:
        """The operation key where the tool names no business effect: never from an attempt, a clock or a proposal."""
        return f"{self.run_id}/{self.turn}/{self.index}"


def plan(place: Place, checked: Checked, status: str, aim: Aim | None = None, ruling: Ruling | None = None) -> Planned:
    """The operation of one checked action."""
    tool, arguments = checked.tool, checked.arguments
    aim = aim or Aim(place.key)
    return Planned(
        operation_id=operation_id(place.run_id, place.turn, place.index, place.generation),
        turn=place.turn,
        index=place.index,
        generation=place.generation,
        operation_key=aim.key,
        digest=operation_digest(tool.name, tool.version, arguments),
        tool=tool.name,
        tool_version=tool.version,
        effect=tool.effect,
        arguments=arguments,
        source=place.source,
        resource=aim.resource,
        resource_version=aim.version,
        policy_version=None if ruling is None else ruling.version,
        policy_rule=None if ruling is None else ruling.rule,
        needs=None if ruling is None else ruling.needs,
        status=status,
    )


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
