"""What clients send (`tests/fixtures/answers/`), how they read a question, and the doors that answers come through."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from langgraph.types import Command
from langgraph_sdk.auth.exceptions import HTTPException

from service.server_auth import record_answer
from state.actor import Actor
from tests.support.world import USER, RunInWorld, World, final, notes

FOLDER = Path(__file__).parents[1] / "fixtures" / "answers"
CLIENTS = ("langchain", "agent-chat-ui", "agent-inbox", "agent-inbox-decisions", "remit")


def recorded(client: str) -> list[dict[str, Any]]:
    """The answers of one client, or `malformed` ones of all."""
    return json.loads((FOLDER / f"{client}.json").read_text("utf-8"))


def asks_for_notes(world: World, *subjects: str) -> RunInWorld:
    """A run that asks for a note about each of these, on a thread of its own."""
    world.decider_says(notes(*subjects), final())
    return world.noter()


def shown(run: RunInWorld) -> Sequence[Any]:
    """The interrupts that are pending on the run's thread."""
    return _graph(run).get_state(_thread(run)).interrupts


def over_http(run: RunInWorld) -> list[dict[str, Any]]:
    """The same, as the server's API gives them."""
    given = [{"value": each.value, "id": each.id, "response_schema": each.response_schema} for each in shown(run)]
    return json.loads(json.dumps(given))


def filled(run: RunInWorld, sent: Any) -> Any:
    """The recorded answer, with the ids and digests that this run shows."""
    (interrupt,) = shown(run)
    text = json.dumps(sent).replace("$interrupt", interrupt.id)
    for number, approval in enumerate(interrupt.value["approvals"], 1):
        text = text.replace(f"$id{number}", approval["id"]).replace(f"$digest{number}", approval["digest"])
    return json.loads(text)


# --- doors ------------------------------------------------------------------------------------------------------


def _at_the_graph(run: RunInWorld, answer: Any) -> None:
    _graph(run).invoke(Command(resume=answer), _thread(run))


def _at_the_ledger(run: RunInWorld, answer: Any) -> None:
    interrupts = shown(run)
    run.world.parts.answers.record(Actor(USER), run.run_id, answer, lambda: interrupts)
    run.goes_on()


def _at_the_server(run: RunInWorld, answer: Any) -> None:
    with suppress(HTTPException):
        record_answer(run.world.parts, Actor(USER, via="server"), run.run_id, answer, over_http(run))
    run.goes_on()


DOORS: dict[str, Callable[[RunInWorld, Any], None]] = {
    "the graph's door": _at_the_graph,
    "the ledger's door": _at_the_ledger,
    "the server's door": _at_the_server,
}


def _graph(run: RunInWorld) -> Any:
    return cast(Any, run.world.engine).graph(run.row.agent_id)


def _thread(run: RunInWorld) -> Any:
    return {"configurable": {"thread_id": run.run_id}}


# --- how clients read a question ----------------------------------------------------------------------------------


def as_agent_chat_ui(value: dict[str, Any]) -> list[tuple[str, Any, list[str]]]:
    """Name, arguments and possible decisions of each request; it shows nothing where one of the lists is empty."""
    requests, configs = value["action_requests"], value["review_configs"]
    assert requests
    assert configs
    by_name = {each["action_name"]: each["allowed_decisions"] for each in configs}
    return [(each["name"], each["args"], by_name[each["name"]]) for each in requests]


def as_agent_inbox(value: dict[str, Any]) -> tuple[str, Any, dict[str, bool]]:
    """Action, arguments and possible answers of the first request; it reads `arguments`, and no other request."""
    request, allowed = value["action_requests"][0], value["review_configs"][0]["allowed_decisions"]
    may = {"accept": "approve" in allowed, "edit": "edit" in allowed, "respond": "reject" in allowed}
    return request["name"], request["arguments"], may
