"""From a bearer token to an actor, for `REMIT_MODE=service`.

A token is a secret: it is in no record, no log, no error and no repr. One that is not accepted gets one answer,
whatever is wrong with it. One process serves one tenant: who belongs to another one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from graphs.wiring import Parts
from state.actor import Actor
from state.errors import Denied, InputInvalid, NotAllowed, RemitError
from tools.secrets import Secrets

MAX_HEADER = 8 * 1024
_BEARER = re.compile(r"bearer +([A-Za-z0-9\-._~+/]+=*) *", re.IGNORECASE)  # RFC 6750, section 2.1


class Unauthenticated(Denied):
    """Nobody knows who is asking. The text is always the same: it helps nobody to guess."""

    code = "UNAUTHENTICATED"

    def __init__(self) -> None:
        super().__init__("Send `Authorization: Bearer TOKEN` with a token that this server accepts.")


class IdentityUnavailable(RemitError):
    """Who is asking cannot be found out at the moment; the token may be good. Nobody is let in."""

    code = "DEPENDENCY_UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class Identified:
    """Whom a token stands for."""

    subject: str
    tenant: str


class Source(Protocol):
    """One kind of tokens."""

    def identify(self, token: str) -> Identified | None:
        """Whom this token stands for; None if it is not one of these, or does not hold now.

        Raises IdentityUnavailable.
        """
        ...


class Identities:
    """Everybody whom this server knows, by the tokens they send."""

    def __init__(self, tenant: str, sources: Sequence[Source]) -> None:
        self._tenant = tenant
        self._sources = tuple(sources)

    def actor(self, authorization: Sequence[bytes]) -> Actor:
        """Who sends these `Authorization` headers: exactly one, with one bearer token.

        May read files and fetch keys, so it is called in a thread. Raises Unauthenticated, NotAllowed for somebody of
        another tenant, IdentityUnavailable.
        """
        token = _bearer(authorization)
        for source in self._sources:
            found = source.identify(token)
            if found is not None:
                return self._of_this_tenant(found)
        raise Unauthenticated

    def _of_this_tenant(self, found: Identified) -> Actor:
        if found.tenant != self._tenant:
            raise NotAllowed("This token is for another tenant than this server's.")
        return Actor(found.subject, found.tenant, "server")


def _bearer(authorization: Sequence[bytes]) -> str:
    if len(authorization) != 1 or len(authorization[0]) > MAX_HEADER:
        raise Unauthenticated
    found = _BEARER.fullmatch(authorization[0].decode("latin-1"))
    if found is None:
        raise Unauthenticated
    return found[1]


def identities(parts: Parts, environment: Mapping[str, str]) -> Identities:
    """What the settings name, read and checked; `environment` is where secrets are looked up. Raises InputInvalid."""
    service = parts.settings.service
    if service is None:
        raise InputInvalid("In local mode nobody sends a token: set REMIT_MODE=service.")
    sources: list[Source] = []
    if service.tokens_file is not None:
        from service.tokens import TokenFile

        sources.append(TokenFile(service.tokens_file, Secrets(environment), parts.clock))
    if service.oidc is not None:
        from service.oidc import Oidc

        sources.append(Oidc(service.oidc, parts.settings.tenant, parts.clock))
    return Identities(parts.settings.tenant, sources)
