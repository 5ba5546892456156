"""Which tools there are: `name@version` to tool. Only trusted code registers one, before any run starts."""

from __future__ import annotations

from collections.abc import Iterable

from state.errors import InputInvalid
from tools.contract import Tool, WriteTool


class Registry:
    """Tools by id. Raises InputInvalid for a tool that is described wrongly or registered twice."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            tool.check()
            if tool.id in self._tools:
                raise InputInvalid(f"The tool {tool.id} is registered twice.")
            self._tools[tool.id] = tool

    def get(self, tool_id: str) -> Tool | None:
        """The tool registered as `name@version`, or None."""
        return self._tools.get(tool_id)

    def all(self) -> list[Tool]:
        """Every tool, in the order of registration."""
        return list(self._tools.values())

    def known(self, name: str) -> bool:
        """Is there any version of a tool with this name?"""
        return any(tool.name == name for tool in self._tools.values())

    def compensating(self) -> dict[str, WriteTool]:
        """The tools that take an effect back, by the plain name of the tool whose effect it is.

        Raises InputInvalid where two tools take back the same.
        """
        found: dict[str, WriteTool] = {}
        for tool in self._tools.values():
            if isinstance(tool, WriteTool) and tool.compensates is not None:
                if tool.compensates in found:
                    other = found[tool.compensates].id
                    raise InputInvalid(f"{other} and {tool.id} both compensate {tool.compensates}: register one.")
                found[tool.compensates] = tool
        return found

    def of(self, tool_ids: Iterable[str]) -> dict[str, Tool]:
        """An agent's tools by plain name, as deciders name them. Raises InputInvalid for an unknown id."""
        found: dict[str, Tool] = {}
        for tool_id in tool_ids:
            tool = self._tools.get(tool_id)
            if tool is None:
                raise InputInvalid(f"There is no tool {tool_id}; registered are {', '.join(sorted(self._tools))}.")
            found[tool.name] = tool
        return found
