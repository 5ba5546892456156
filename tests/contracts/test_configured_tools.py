"""A configured tool takes a place in an agent: same arguments, a version of its own, and grants under its own name."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphs.wiring import Outside, Settings, open_parts, settings_from_environment
from service.grants import Grants
from state.actor import Actor
from state.errors import InputInvalid
from tests.support.ticket_service import CONFIGURATION, VERSIONED, TicketService, configuration
from tests.support.world import USER, World

NOWHERE = "http://127.0.0.1:1"


def test_the_environment_names_the_file_of_configured_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(CONFIGURATION.parent)
    monkeypatch.setenv("REMIT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("REMIT_TOOLS", CONFIGURATION.name)

    parts = open_parts(settings_from_environment())
    tools = parts.agents.get("ticket").definition.tools
    parts.close()

    assert [tool.name for tool in parts.configured] == ["create_ticket", "close_ticket"]
    assert tools == (parts.configured[0].id,)


def test_an_agent_with_a_configured_tool_is_another_version(loop_world: World, tmp_path: Path) -> None:
    before = loop_world.parts.agents.get("catalog-check").definition
    loop_world.restart()
    loop_world.tools_file = configuration(tmp_path, NOWHERE)

    now = loop_world.parts.agents.get("catalog-check").definition

    assert now.tools[:2] == before.tools[:2]
    assert (before.tools[2], now.tools[2].startswith("create_ticket@http-1+")) == ("create_ticket@1", True)
    assert now.version_id != before.version_id


EXTRA = 'extra = { type = "string", default = "" }\n\n[tools.operation_key]\nkind = "ticket"'


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ('max = 2000, description = "what the source', 'max = 99, description = "what the source'),
            "differ in observed",
        ),
        (('[tools.operation_key]\nkind = "ticket"', EXTRA), "differ in extra: for extra write nothing instead of"),
    ],
)
def test_a_tool_that_takes_other_arguments_cannot_take_the_place(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    path = configuration(tmp_path, NOWHERE, change)

    with pytest.raises(InputInvalid, match=r"takes the place of create_ticket@1") as raised:
        open_parts(Settings(tmp_path / "data", USER, tools_file=path))

    assert str(raised.value).startswith(f"{path}: tool create_ticket: arguments: ")
    assert said in str(raised.value)


def test_a_configured_write_cannot_take_the_place_of_a_read(tmp_path: Path) -> None:
    path = configuration(tmp_path, NOWHERE, ('name = "close_ticket"', 'name = "read_notice"'))

    with pytest.raises(InputInvalid, match=r"tool read_notice: name: .* only reads; rename it"):
        open_parts(Settings(tmp_path / "data", USER, tools_file=path))


def test_what_is_taken_back_is_taken_back_where_it_was_made(loop_world: World, tmp_path: Path) -> None:
    loop_world.tools_file = configuration(tmp_path, NOWHERE)

    agents = loop_world.parts.agents

    assert not agents.registered("withdraw_ticket")
    assert "close_ticket" in agents.tools("compensation")


def test_a_run_waits_where_its_tool_was_configured_otherwise_meanwhile(world: World, tickets: TicketService) -> None:
    world.writes_to(tickets)
    run = world.check().approve(drive=False)
    world.restart()
    world.writes_to(tickets, ("timeout_s = 5\n", "timeout_s = 4\n"))

    run.goes_on()
    assert (run.status, tickets.calls()) == ("waiting/migration", [])
    world.restart()
    world.writes_to(tickets)
    run.goes_on()

    assert (run.status, len(tickets.tickets)) == ("succeeded/completed", 1)


def test_the_first_user_may_write_with_configured_tools_and_gives_that_to_others(
    loop_world: World, tickets: TicketService
) -> None:
    loop_world.writes_to(tickets)
    grants = Grants(loop_world.parts, Actor(USER))

    given = grants.give("bob", "write:create_ticket", "record:r1")
    revoked = grants.revoke(USER, "write:create_ticket", "*")

    assert [(each["action"], each["changed"]) for each in given + revoked] == [("write:create_ticket", True)] * 2
    assert "write:close_ticket" in [each["action"] for each in grants.give("bob", "write", "*")]
    with pytest.raises(InputInvalid, match="There is no action 'write:nothing'"):
        grants.give("bob", "write:nothing", "*")


def test_a_grant_that_is_revoked_while_a_run_waits_stops_it_before_anything_is_sent(
    loop_world: World, tickets: TicketService
) -> None:
    loop_world.writes_to(tickets)
    run = loop_world.check()
    loop_world.parts.business.revoke(USER, "write:create_ticket")

    run.approve()

    assert (run.status, run.effect, tickets.calls()) == ("denied/permission_revoked", "none", [])


def test_secrets_are_in_no_record_and_no_repr(loop_world: World, tickets: TicketService) -> None:
    from tests.support.ticket_service import TOKEN

    loop_world.writes_to(tickets).will("status", status=500)
    loop_world.check().approve()
    loop_world.close()

    kept = [path.read_bytes() for path in (loop_world.folder / "data").rglob("*") if path.is_file()]
    assert [TOKEN.encode() in each for each in kept] == [False] * len(kept)
    assert TOKEN not in repr(Outside(secrets={"REMIT_SECRET_TICKETS_TOKEN": TOKEN}))


APRIL = "Rule on widgets\n\nPublished: January 5, 2026\n\nEffective date: April 1, 2026\n"


def test_of_two_approved_runs_on_one_version_the_second_is_asked_again(
    loop_world: World, tickets: TicketService
) -> None:
    loop_world.writes_to(tickets, *VERSIONED)
    first, second = loop_world.check(), loop_world.check(notice=APRIL)

    first.approve()
    second.approve()
    assert (second.status, second.writes) == ("waiting/approval", ["superseded", "awaiting_approval"])
    second.approve()

    assert (first.status, second.status) == ("succeeded/completed", "succeeded/completed")
    assert [each["status"] for each in tickets.calls("create")] == [201, 201]


@pytest.mark.parametrize("answered", [0, 1])
def test_a_version_that_cannot_be_asked_for_stops_the_write_before_it_is_sent(
    loop_world: World, tickets: TicketService, answered: int
) -> None:
    loop_world.writes_to(tickets, *VERSIONED).will("lose", on="version", skip=answered, times=99)

    run = loop_world.check().approve()

    assert (run.status, run.effect, tickets.calls("create")) == ("failed/tool_failed", "none", [])
