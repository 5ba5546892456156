"""The service's HTTP interface: tickets are created, looked up by key, read and closed.

POST /tickets                 makes one; with `Idempotency-Key` at most one per key (if keys are supported)
GET  /tickets?key=K           those made under a key (if lookup is supported)
GET  /tickets/T-1
POST /tickets/T-1/close       makes a closure, which has an id and a key of its own
GET  /closures?key=K, /closures/C-2
GET  /records/R               how many tickets there are about a record: its version, for `If-Match`
/control, /control/calls      for tests: its behaviour, and every call that came in
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from examples.ticket_service.behaviour import Behaviour, Fault
from examples.ticket_service.store import Store

FIELDS = {"about": ("record", "field"), "values": ("found", "on_record"), "source": ("name", "sha256")}
Doing = Callable[[Request, int], Awaitable[Response]]


class Answered(Exception):
    """The call is over before it is done."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


def refused(status: int, why: str, **headers: str) -> Response:
    return JSONResponse({"error": why}, status, headers)


class Service:
    """One store, one behaviour. `token`, if there is one, is asked for as `Authorization: Bearer`."""

    def __init__(self, store: Store, behaviour: Behaviour, token: str | None) -> None:
        self.store = store
        self.usual = behaviour
        self.now = behaviour.changed({})
        self._token = token
        self._came = asyncio.Condition()

    def app(self) -> Starlette:
        def route(path: str, method: str, on: str, do: Doing) -> Route:
            return Route(path, self._logged(on, do), methods=[method])

        return Starlette(
            routes=[
                route("/tickets", "POST", "create", self._create),
                route("/tickets", "GET", "lookup", self._found("ticket")),
                route("/tickets/{id}", "GET", "read", self._read("ticket")),
                route("/tickets/{id}/close", "POST", "close", self._close),
                route("/closures", "GET", "lookup", self._found("closure")),
                route("/closures/{id}", "GET", "read", self._read("closure")),
                route("/records/{record:path}", "GET", "version", self._version),
                Route("/control", self._control, methods=["PUT", "DELETE"]),
                Route("/control/calls", self._calls, methods=["GET"]),
                Route("/control/tickets", self._tickets, methods=["GET"]),
            ]
        )

    # --- around every call ------------------------------------------------------------------------------------

    def _logged(self, on: str, do: Doing) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            key = request.headers.get("idempotency-key") or request.query_params.get("key")
            n = self.store.came_in(on, key)
            async with self._came:
                self._came.notify_all()
            try:
                self._check_token(request)
                await asyncio.sleep(self.now.slow_ms / 1000)
                await self._faulty(request, on, "before")
                response = await do(request, n)
                await self._faulty(request, on, "after")
            except Answered as answered:
                response = answered.response
            if not isinstance(response, Nothing):
                self.store.noted(n, status=response.status_code)
            return response

        return endpoint

    def _check_token(self, request: Request) -> None:
        if self._token is not None and request.headers.get("authorization") != f"Bearer {self._token}":
            raise Answered(refused(401, "Who are you?"))

    async def _faulty(self, request: Request, on: str, when: str) -> None:
        fault = self.now.next_fault(on, when)
        if fault is not None:
            raise Answered(await _suffered(request, fault))

    # --- tickets ----------------------------------------------------------------------------------------------

    async def _create(self, request: Request, n: int) -> Response:
        body = _ticket(await _json(request))
        if body is None:
            return refused(422, f"A ticket has texts in {FIELDS}.")
        key = request.headers.get("idempotency-key")
        before = self.store.by_key("ticket", key) if key and self.now.keys else []
        if before:
            return self._again(n, before[0], body)
        record = body["about"]["record"]
        expected = request.headers.get("if-match")
        if expected is not None and expected != str(self.store.version(record)):
            return refused(412, f"{record} has version {self.store.version(record)} by now.")
        made = self.store.make("ticket", key, body, record)
        self.store.noted(n, did="created")
        return JSONResponse(made, 201)

    async def _close(self, request: Request, n: int) -> Response:
        ticket, given = self.store.by_id("ticket", request.path_params["id"]), await _json(request)
        if ticket is None:
            return refused(404, "There is no such ticket.")
        body = {"ticket": ticket["id"], "reason": str(given.get("reason", ""))}
        key = request.headers.get("idempotency-key")
        before = self.store.by_key("closure", key) if key and self.now.keys else []
        if before:
            return self._again(n, before[0], body)
        if ticket["state"] == "closed":
            return refused(422, "It is closed already.")
        made = self.store.make("closure", key, body)
        self.store.noted(n, did="closed")
        return JSONResponse(made, 201)

    def _again(self, n: int, before: dict[str, Any], body: dict[str, Any]) -> Response:
        if not body.items() <= before.items():
            return refused(409, f"This key stands for {before['id']}, which was made otherwise.")
        self.store.noted(n, did="answered again")
        return JSONResponse(before, 200)

    def _found(self, kind: str) -> Doing:
        async def found(request: Request, n: int) -> Response:
            if not self.now.lookup:
                return refused(501, "This service looks nothing up by key.")
            if self.now.hidden_lookups > 0:
                self.now.hidden_lookups -= 1
                return JSONResponse({"items": []})
            key = request.query_params.get("key", "")
            return JSONResponse({"items": [each for each in self.store.by_key(kind, key) if self._visible(each)]})

        return found

    def _read(self, kind: str) -> Doing:
        async def read(request: Request, n: int) -> Response:
            found = self.store.by_id(kind, request.path_params["id"])
            if self.now.hidden_reads > 0:
                self.now.hidden_reads -= 1
                found = None
            if found is None or not self._visible(found):
                return refused(404, f"There is no such {kind}.")
            return JSONResponse(found)

        return read

    def _visible(self, found: dict[str, Any]) -> bool:
        return time.time() - found["made_at"] >= self.now.visible_after_ms / 1000

    async def _version(self, request: Request, n: int) -> Response:
        return JSONResponse({"version": self.store.version(request.path_params["record"])})

    # --- for tests --------------------------------------------------------------------------------------------

    async def _control(self, request: Request) -> Response:
        """PUT changes the behaviour; DELETE makes it the usual one again, and empties everything."""
        if request.method == "DELETE":
            self.now = self.usual.changed({})
            self.store.empty()
            return Response(status_code=204)
        try:
            self.now = self.now.changed(await _json(request))
        except (ValueError, TypeError) as error:
            return refused(422, str(error))
        return Response(status_code=204)

    async def _calls(self, request: Request) -> Response:
        """Every call so far; with `at_least`, as soon as there are so many (at most 10 s later)."""
        wanted = int(request.query_params.get("at_least", 0))
        async with self._came:
            enough = self._came.wait_for(lambda: len(self.store.calls()) >= wanted)
            try:
                await asyncio.wait_for(enough, 10)
            except TimeoutError:
                return refused(504, f"only {len(self.store.calls())} calls came in")
        return JSONResponse({"calls": self.store.calls()})

    async def _tickets(self, request: Request) -> Response:
        """Every ticket, whether it is visible or not."""
        return JSONResponse({"tickets": self.store.all("ticket")})


class Nothing(Response):
    """No answer: the connection is closed, after `half` of one if asked for."""

    def __init__(self, transport: Any, half: bool = False) -> None:
        super().__init__()
        self._transport, self._half = transport, half

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._half:
            headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
            await send({"type": "http.response.start", "status": 201, "headers": headers})
            await send({"type": "http.response.body", "body": b'{"id": "T-', "more_body": True})
            self._transport.close()  # after what is written was sent
        else:
            self._transport.abort()


async def _suffered(request: Request, fault: Fault) -> Response:
    transport = request.scope["state"]["transport"]
    if fault.how == "status":
        after = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
        return refused(fault.status, "Not now.", **after)
    if fault.how == "hang":
        while not await request.is_disconnected():
            await asyncio.sleep(0.01)
    return Nothing(transport, half=fault.how == "half")


async def _json(request: Request) -> dict[str, Any]:
    try:
        given = await request.json()
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _ticket(given: dict[str, Any]) -> dict[str, Any] | None:
    """The ticket in a body, or None: every field is a text."""
    body = {part: {name: (given.get(part) or {}).get(name) for name in names} for part, names in FIELDS.items()}
    texts = [value for part in body.values() for value in part.values()]
    return body if all(isinstance(each, str) for each in texts) else None
