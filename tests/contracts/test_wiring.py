"""Wrong wiring is refused when things are put together, with a message that says how to mend it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from graphs import ticket
from graphs.wiring import Outside, Settings, open_parts, settings_from_environment
from nodes.agent import Agent, Agents
from nodes.deciders.scripted import Scripted
from state.errors import AgentNotFound, InputInvalid
from tools.contract import Arguments, Call, ReadTool
from tools.registry import Registry


class Nothing(Arguments):
    """No arguments."""


class Looks(ReadTool):
    """Reads nothing."""

    name = "look"
    version = "1"
    description = "look"
    arguments: ClassVar[Any] = Nothing

    def read(self, call: Call) -> dict[str, Any]:
        return {}


class Lax(BaseModel):
    """Takes anything."""


def test_a_tool_with_lax_arguments_is_refused() -> None:
    with pytest.raises(InputInvalid, match=r"derive its arguments from tools\.contract\.Arguments"):
        Registry([type("Bad", (Looks,), {"arguments": Lax})()])


def test_a_tool_with_a_name_that_models_cannot_say_is_refused() -> None:
    with pytest.raises(InputInvalid, match="use lower-case letters"):
        Registry([type("Bad", (Looks,), {"name": "Look at!"})()])


def test_a_tool_registered_twice_is_refused() -> None:
    with pytest.raises(InputInvalid, match="registered twice"):
        Registry([Looks(), Looks()])


def test_an_agent_whose_tool_is_missing_is_refused() -> None:
    with pytest.raises(InputInvalid, match="There is no tool create_ticket@1; registered are look@1"):
        Agents([ticket.agent()], Registry([Looks()]))


def test_an_agent_given_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match="given twice"):
        open_parts(Settings(tmp_path, "ada"), Outside(agents=lambda _: [ticket.agent(), ticket.agent()]))


def test_an_agent_with_a_decider_that_its_definition_does_not_name_is_refused() -> None:
    with pytest.raises(InputInvalid, match="give a decider where the definition names one"):
        replace(ticket.agent(), decider=Scripted([]))
    assert isinstance(ticket.agent(), Agent)


def test_an_unknown_agent_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    parts = open_parts(Settings(tmp_path, "ada"))

    with pytest.raises(AgentNotFound, match="there are catalog-check, compensation, ticket"):
        parts.agents.get("nobody")

    parts.close()


def test_a_mode_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_MODE", "strict")

    with pytest.raises(InputInvalid, match="the modes are local and service"):
        settings_from_environment()
