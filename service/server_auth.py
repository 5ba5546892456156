"""Who may do what on the LangGraph server, and the door for answers there.

Nothing in a request says who somebody is: that is found out before any of it is looked at (`service/callers.py`). What
the server offers is denied, except what runs need: to see the graphs, and to make, read, change and delete threads and
their runs. The server's verbs act on threads and checkpoints, which may be lost; none of them changes what the ledger
says about a run.

In local mode there is one user, who may do all of that; so a thread may be made again under an id that the ledger
knows. In service mode threads carry the tenant, put there by these handlers, and nobody sees those of another one.
Inside a tenant everybody may read; to start, drive, change and answer is for those whom `service/admission.py` names.

An answer (`command.resume`) is recorded here, for the caller, before the server makes a run of it; what goes on to
the graph is an empty input, so the graph has nothing to take a decision from. Its own door is shut under a server: one
path, one door, and no answer counts twice or for somebody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar, cast

from langgraph_sdk import Auth, get_client
from langgraph_sdk.errors import NotFoundError

from graphs.wiring import Parts, parts
from nodes.answers import Recorded
from nodes.shapes import ids_alone
from service.admission import Admission
from service.callers import CALLER, Refused, caller
from state.actor import Actor
from state.errors import (
    AnswerRefused,
    ApprovalAlreadyDecided,
    Denied,
    InputInvalid,
    NotAllowed,
    RemitError,
    RunAlreadyTerminal,
    RunNotFound,
)

T = TypeVar("T")

auth = Auth()

PROJECT = "default"

_STATELESS = (
    "Give the run a thread: POST /threads, then POST /threads/{thread_id}/runs. Without one, it stays unanswered."
)
_UNKNOWN_THREAD = (
    "The server does not know thread {0}. If the run exists (`remit show {0}`), make its thread again and repeat the"
    " answer: POST /threads with thread_id, if_exists=do_nothing and metadata.graph_id; or answer with `remit approve`."
)


@auth.authenticate
async def authenticate(scope: dict[str, Any]) -> Auth.types.MinimalUserDict:
    """Whom `service/callers.py` knows, or 401 or 403. The guard in front of the server has asked already."""
    try:
        actor: Actor = scope.get(CALLER) or await caller(scope)
    except Refused as refused:
        _refuse(401 if refused.status == 401 else 403, refused.why)
    user: Any = {"identity": actor.subject, "tenant": actor.tenant, "permissions": []}
    return user


def _refuse(status: int, why: str) -> NoReturn:
    raise Auth.exceptions.HTTPException(status_code=status, detail=why)


# --- what is allowed; everything else is denied ---------------------------------------------------------------


@auth.on
async def deny(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Without this, whatever has no handler of its own would be allowed."""
    del ctx, value
    return False


async def _look(ctx: Auth.types.AuthContext, value: Any) -> Any:
    """To see: the graphs, which are everybody's, and the threads of one's own tenant."""
    del value
    opened, _ = await _acting(ctx)
    if opened.settings.service is None or ctx.resource != "threads":
        return True
    return _of_tenant(opened)


async def _change(ctx: Auth.types.AuthContext, value: Any) -> Any:
    """To make, change and delete a thread, or to cancel on it. In service mode all that a request names is asked about,
    and a request that names none (cancel all) is refused.
    """
    opened, actor = await _acting(ctx)
    if opened.settings.service is None:
        return True
    known = True
    for each in value.get("thread_ids") or [value.get("thread_id")]:
        if each is None:
            _refuse(403, "Name the thread: what is not about one thread is not offered in service mode.")
        known &= await _allowed(lambda thread=str(each): Admission(opened).to_touch(actor, thread))
    _mark(value, opened, actor if ctx.action == "create" else None)
    return _of_tenant(opened) if known or ctx.action == "create" else _own(opened, actor)


auth.on.assistants.read(_look)
auth.on.assistants.search(_look)
auth.on.threads.read(_look)
auth.on.threads.search(_look)
auth.on.threads.create(_change)
auth.on.threads.update(_change)
auth.on.threads.delete(_change)


async def _acting(ctx: Auth.types.AuthContext) -> tuple[Parts, Actor]:
    """In service mode the user has to be one whom our own authentication has named; Studio's is not."""
    opened = await asyncio.to_thread(parts)
    if opened.settings.service is None:
        return opened, Actor(ctx.user.identity, opened.ledger.tenant, "server")
    try:
        return opened, opened.identity.of_user(ctx.user)
    except NotAllowed as error:
        _refuse(403, str(error))


async def _allowed(asks: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(asks)
    except RemitError as error:
        _refuse(404 if isinstance(error, RunNotFound) else 403, str(error))


def _of_tenant(opened: Parts) -> dict[str, str]:
    return {"tenant": opened.ledger.tenant}


def _own(opened: Parts, actor: Actor) -> dict[str, str]:
    """Before there is a run, a thread is its maker's: nobody else lays down what a run will find there."""
    return {**_of_tenant(opened), "made_by": actor.subject}


def _mark(value: Any, opened: Parts, maker: Actor | None = None) -> None:
    """Whose a thread is, over whatever a client says; a change does not change its maker."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return
    marks = cast(dict[str, Any], metadata)
    marks.update(tenant=opened.ledger.tenant, project=PROJECT)
    marks.pop("made_by", None)
    if maker is not None:
        marks["made_by"] = maker.subject


# --- the door ---------------------------------------------------------------------------------------------------


@auth.on.threads.create_run
async def create_run(ctx: Auth.types.AuthContext, value: Auth.types.RunsCreate) -> Any:
    """422 for a run without a thread, 404 for an answer to no run, 409 to one that has ended; else it may start.

    In service mode: 403 with an input for those who may not start the agent or have no part in the run, with a command
    for those who may not decide. The answer stands also if the server then makes no run of it (a busy thread, say):
    whoever drives next finds it. A malformed or stale answer is recorded as refused, and the run that starts asks
    again. What the caller is told with a status of its own, because asking again would hide it: 403 not an approver,
    409 decided already, 422 an edit that does not hold, and an answer without ids where these are needed.
    """
    opened, actor = await _acting(ctx)
    kwargs = value.get("kwargs", {})
    thread_id = value.get("thread_id")
    if thread_id is None and kwargs.get("temporary"):
        _refuse(422, _STATELESS)
    mine = True if opened.settings.service is None else await _admitted(opened, actor, value)
    if thread_id is not None and _is_answer(kwargs):
        shown = await _shown(str(thread_id))
        answer = cast(dict[str, Any], kwargs["command"]).get("resume")
        await asyncio.to_thread(record_answer, opened, actor, str(thread_id), answer, shown)
        kwargs["command"], kwargs["input"] = None, {}
    return mine


async def _admitted(opened: Parts, actor: Actor, value: Auth.types.RunsCreate) -> dict[str, str]:
    """Which threads may have this run: those of the tenant, or while nothing runs there, one's own."""
    thread = value.get("thread_id")
    thread_id = None if thread is None else str(thread)
    _mark(value, opened, actor)
    admission = Admission(opened)
    if thread_id is not None and value.get("kwargs", {}).get("command") is not None:
        await _allowed(lambda: admission.to_decide(actor, thread_id))
        return _of_tenant(opened)
    agent_id = await _agent(str(value.get("assistant_id")))
    known = await _allowed(lambda: admission.to_start_or_drive(actor, thread_id, agent_id))
    return _of_tenant(opened) if known else _own(opened, actor)


async def _agent(assistant_id: str) -> str:
    """The agent whose graph this is, asked of this server itself."""
    if assistant_id not in _agents:
        _agents[assistant_id] = (await get_client().assistants.get(assistant_id))["graph_id"]
    return _agents[assistant_id]


_agents: dict[str, str] = {}


def _is_answer(kwargs: Mapping[str, Any]) -> bool:
    """Is there an answer in this command? The SDK sends an answer of None as an empty command without an input."""
    command = kwargs.get("command")
    if not isinstance(command, Mapping):
        return False
    return "resume" in command or (not command and kwargs.get("input") is None)


async def _shown(thread_id: str) -> Sequence[Any]:
    """The interrupts pending on the thread, asked of this server itself. 404 where it does not know the thread."""
    try:
        state = await get_client().threads.get_state(thread_id)
    except NotFoundError:
        _refuse(404, _UNKNOWN_THREAD.format(thread_id))
    return cast(Sequence[Any], cast(dict[str, Any], state).get("interrupts") or [])


def record_answer(opened: Parts, actor: Actor, run_id: str, answer: Any, shown: Sequence[Any]) -> None:
    """The door: what somebody whom the server knows sent, while the thread showed these interrupts (as over HTTP).

    Raises HTTPException for what the caller is told with a status; whatever else is refused is asked again.
    """
    ids_needed = not opened.settings.answers_without_ids
    try:
        recorded = opened.answers.record(
            actor, run_id, answer, ids_alone(lambda: shown) if ids_needed else lambda: shown
        )
    except RunNotFound as error:
        _refuse(404, str(error))
    except RunAlreadyTerminal as error:
        _refuse(409, str(error))
    except Denied as error:
        _refuse(403, str(error))
    else:
        _tell(recorded, ids_needed)


def _tell(recorded: Recorded, ids_needed: bool) -> None:
    """Say what asking again would hide; but once an answer was taken, the run must go on."""
    if recorded.decided:
        return
    for error in recorded.refused:
        status = _status_of(error)
        if status is not None:
            _refuse(status, str(error))
        if ids_needed and isinstance(error, AnswerRefused):
            _refuse(422, f"{error} Each decision needs the `approval_id` and the `digest` that were shown.")


def _status_of(error: RemitError) -> int | None:
    told: list[tuple[type[RemitError], int]] = [(Denied, 403), (ApprovalAlreadyDecided, 409), (InputInvalid, 422)]
    return next((status for kind, status in told if isinstance(error, kind)), None)
