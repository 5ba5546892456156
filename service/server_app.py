"""What the LangGraph server carries of ours beside its own API: a guard in front of everything, and the dispatcher.

The server asks for authentication on its API, but not on all that it offers beside it (metrics, its documentation, and
in development ways to delete everything or to start a deployment). So a guard stands before all of it; only whether the
server is up may be asked by anybody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from langgraph_sdk import get_client
from langgraph_sdk.errors import APIStatusError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from graphs.wiring import parts
from service.callers import CALLER, Refused, caller, known
from service.dispatcher import Dispatcher
from service.notify import sending

HEALTH = "/ok"
ANSWER_WITHIN_S = 5.0
STOP_WITHIN_S = 20.0


class Guard:
    """Answers nobody who may not call this server, whatever they ask for.

    It leaves who is calling for the server's own check.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"} or _is_open(scope):
            await self._app(scope, receive, send)
            return
        try:
            scope[CALLER] = await caller(scope)
        except Refused as refused:
            await _refuse(refused, scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_open(scope: Scope) -> bool:
    """Is the server up; what the server asks of itself, which no request can imitate; may a page of this origin ask?"""
    root = scope.get("root_path") or ""
    if root == "/noauth" or root.startswith("/noauth/"):
        return True
    if scope["type"] == "websocket":
        return False
    if scope["method"] == "OPTIONS":  # a browser asks without credentials, and is answered before any route
        return {b"origin", b"access-control-request-method"} <= {name for name, _ in scope["headers"]}
    return scope["path"] == HEALTH


async def _refuse(refused: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": refused.why})
        return
    headers: Mapping[str, str] = {
        401: {"WWW-Authenticate": "Bearer"},
        503: {"Retry-After": "10"},
    }.get(refused.status, {})
    await JSONResponse({"detail": refused.why}, refused.status, headers)(scope, receive, send)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """Refuses to start with settings that cannot be used; drives what nobody drives; lets go of its runs at the end."""
    del app
    logging.getLogger("remit").setLevel(logging.INFO)
    opened = await asyncio.to_thread(parts)
    if opened.settings.service is not None:
        await asyncio.to_thread(known)
    loop = asyncio.get_running_loop()

    def is_the_servers(run_id: str) -> bool:
        return asyncio.run_coroutine_threadsafe(_has_it(run_id), loop).result(ANSWER_WITHIN_S)

    dispatcher = Dispatcher(opened, is_the_servers)
    await asyncio.to_thread(dispatcher.start)
    with sending(opened.ledger, opened.notifications):
        try:
            yield
        finally:
            for each in list(opened.drivings):
                await asyncio.to_thread(each.drain)
            await asyncio.to_thread(dispatcher.stop, STOP_WITHIN_S)


async def _has_it(run_id: str) -> bool:
    """Has this server itself something to do on the run's thread? What is put off (`after_seconds`) does not count."""
    client: Any = get_client()
    try:
        found = [each for status in ("pending", "running") for each in await client.runs.list(run_id, status=status)]
    except APIStatusError:
        return False  # it does not know the thread
    now = datetime.now(UTC)
    return any(datetime.fromisoformat(str(each["created_at"])) <= now for each in found)


app = Starlette(lifespan=lifespan, middleware=[Middleware(Guard)])
