"""Who is calling a server, asked of every request but the one for its health.

Local mode trusts this computer and nobody else: a caller must come from a loopback address, under a loopback name (a
name that a stranger's DNS points here is refused), and not from a page of another site (a browser would send such a
request from here as well); Studio's own pages are let in. Whoever passes acts as the local user of the data directory.

Service mode trusts nobody: whoever calls proves with a bearer token who they are (`service/identity.py`).
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from graphs.wiring import ORDINARY, parts
from service.identity import Identities, IdentityUnavailable, Unauthenticated, identities
from state.actor import Actor
from state.errors import NotAllowed

STUDIO = {"smith.langchain.com", "eu.smith.langchain.com"}

# Where the guard leaves who is calling: a key of the request's scope, which no request can write to.
CALLER = "remit.caller"


class Refused(Exception):
    """A request that is not answered: HTTP status and text."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


@functools.cache
def known() -> Identities:
    """Everybody whom this process knows, from its settings. Raises InputInvalid."""
    return identities(parts(), ORDINARY.secrets)


async def caller(scope: Mapping[str, Any]) -> Actor:
    """Who sends this request. Raises Refused."""
    opened = await asyncio.to_thread(parts)
    if opened.settings.service is None:
        _refuse_strangers(scope)
        return opened.identity.local
    sent = [value for name, value in cast(Sequence[tuple[bytes, bytes]], scope["headers"]) if name == b"authorization"]
    try:
        return await asyncio.to_thread(lambda: known().actor(sent))
    except Unauthenticated as error:
        raise Refused(401, str(error)) from None
    except NotAllowed as error:
        raise Refused(403, str(error)) from None
    except IdentityUnavailable as error:
        raise Refused(503, str(error)) from None


def _refuse_strangers(scope: Mapping[str, Any]) -> None:
    headers = dict(cast(Sequence[tuple[bytes, bytes]], scope["headers"]))
    client = cast("Sequence[Any] | None", scope.get("client"))
    host = headers.get(b"host", b"").decode("latin-1")
    origin = headers.get(b"origin", b"").decode("latin-1")
    if client is None or not _is_loopback(str(client[0])):
        raise Refused(403, "In local mode Remit answers only this computer; the caller is another one.")
    if not _is_loopback(_name(f"//{host}")):
        raise Refused(403, f"In local mode Remit answers only to localhost and loopback addresses, not to {host!r}.")
    if origin and not (_is_loopback(_name(origin)) or _is_studio(origin)):
        raise Refused(403, f"A page of {origin} may not use this server.")


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
