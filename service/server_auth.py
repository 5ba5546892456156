"""Who may do what on the LangGraph server, and the door for answers there. For `REMIT_MODE=local`.

Local mode trusts this computer and nobody else: a caller must come from a loopback address, under a loopback name (a
name that a stranger's DNS points here is refused), and not from a page of another site (a browser would send such a
request from here as well); Studio's own pages are let in. Whoever passes acts as the local user of the data directory:
Studio too. Nothing in a request says who somebody is.

What the server offers is denied, except what runs need: to see the graphs, and to make, read, change and delete threads
and their runs. The server's verbs act on threads and checkpoints, which may be lost; none of them changes what the
ledger says about a run. That is why a thread may be made again under an id that the ledger knows: there is one local
user, who finds the run there as it was.

An answer (`command.resume`) is recorded here, for the caller, before the server makes a run of it; what goes on to
the graph is an empty input, so the graph has nothing to take a decision from. Its own door is shut under a server: one
path, one door, and no answer counts twice or for somebody else.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from langgraph_sdk import Auth, get_client
from langgraph_sdk.errors import NotFoundError

from graphs.wiring import Parts, parts
from nodes.answers import Recorded
from state.actor import Actor
from state.errors import ApprovalAlreadyDecided, Denied, InputInvalid, RemitError, RunAlreadyTerminal, RunNotFound

auth = Auth()

STUDIO = {"smith.langchain.com", "eu.smith.langchain.com"}

_STATELESS = (
    "Give the run a thread: POST /threads, then POST /threads/{thread_id}/runs. Without one, it stays unanswered."
)
_UNKNOWN_THREAD = (
    "The server does not know thread {0}. If the run exists (`remit show {0}`), make its thread again and repeat the"
    " answer: POST /threads with thread_id, if_exists=do_nothing and metadata.graph_id; or answer with `remit approve`."
)


@auth.authenticate
async def authenticate(scope: dict[str, Any], headers: dict[bytes, bytes]) -> Auth.types.MinimalUserDict:
    """The local user, for callers on this computer. 403 for all others."""
    client = cast("Sequence[Any] | None", scope.get("client"))
    host = headers.get(b"host", b"").decode("latin-1")
    origin = headers.get(b"origin", b"").decode("latin-1")
    if client is None or not _is_loopback(str(client[0])):
        _refuse(403, "In local mode Remit answers only this computer; the caller is another one.")
    if not _is_loopback(_name(f"//{host}")):
        _refuse(403, f"In local mode Remit answers only to localhost and loopback addresses, not to {host!r}.")
    if origin and not (_is_loopback(_name(origin)) or _is_studio(origin)):
        _refuse(403, f"A page of {origin} may not use this server.")
    opened = await asyncio.to_thread(parts)
    return {"identity": opened.identity.local.subject, "permissions": []}


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _is_studio(origin: str) -> bool:
    return origin.startswith("https://") and _name(origin) in STUDIO


def _refuse(status: int, why: str) -> None:
    raise Auth.exceptions.HTTPException(status_code=status, detail=why)


# --- what is allowed; everything else is denied ---------------------------------------------------------------


@auth.on
async def deny(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Without this, whatever has no handler of its own would be allowed."""
    del ctx, value
    return False


async def _allow(ctx: Auth.types.AuthContext, value: Any) -> bool:
    del ctx, value
    return True


auth.on.assistants.read(_allow)
auth.on.assistants.search(_allow)
auth.on.threads.create(_allow)
auth.on.threads.read(_allow)
auth.on.threads.update(_allow)
auth.on.threads.delete(_allow)
auth.on.threads.search(_allow)


# --- the door ---------------------------------------------------------------------------------------------------


@auth.on.threads.create_run
async def create_run(ctx: Auth.types.AuthContext, value: Auth.types.RunsCreate) -> bool:
    """422 for a run without a thread, 404 for an answer to no run, 409 to one that has ended; else it may start.

    The answer stands also if the server then makes no run of it (a busy thread, say): whoever drives next finds it. A
    malformed or stale answer is recorded as refused, and the run that starts asks again. What the caller is told
    with a status of its own, because asking again would hide it: 403 not an approver, 409 decided already, 422 an edit
    that does not hold.
    """
    kwargs = value.get("kwargs", {})
    thread_id = value.get("thread_id")
    if thread_id is None and kwargs.get("temporary"):
        _refuse(422, _STATELESS)
    if thread_id is None or not _is_answer(kwargs):
        return True
    shown = await _shown(str(thread_id))
    opened = await asyncio.to_thread(parts)
    actor = Actor(ctx.user.identity, opened.ledger.tenant, "server")
    answer = cast(dict[str, Any], kwargs["command"]).get("resume")
    await asyncio.to_thread(_record, opened, actor, str(thread_id), answer, shown)
    kwargs["command"], kwargs["input"] = None, {}
    return True


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
        raise
    return cast(Sequence[Any], cast(dict[str, Any], state).get("interrupts") or [])


def _record(opened: Parts, actor: Actor, run_id: str, answer: Any, shown: Sequence[Any]) -> None:
    try:
        recorded = opened.answers.record(actor, run_id, answer, lambda: shown)
    except RunNotFound as error:
        _refuse(404, str(error))
    except RunAlreadyTerminal as error:
        _refuse(409, str(error))
    else:
        _tell(recorded)


def _tell(recorded: Recorded) -> None:
    """Say what asking again would hide; but once an answer was taken, the run must go on."""
    if recorded.decided:
        return
    for error in recorded.refused:
        status = _status_of(error)
        if status is not None:
            _refuse(status, str(error))


def _status_of(error: RemitError) -> int | None:
    told: list[tuple[type[RemitError], int]] = [(Denied, 403), (ApprovalAlreadyDecided, 409), (InputInvalid, 422)]
    return next((status for kind, status in told if isinstance(error, kind)), None)
