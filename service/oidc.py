"""Tokens of an OpenID Connect issuer: JWTs (RFC 7519), signed with an asymmetric key that the issuer publishes.

A token is believed if the issuer's key signed it by one of the pinned algorithms, if it is made out by this issuer for
this audience, and if it holds now, give or take the clocks' difference. Whatever else it says, it names a subject and
perhaps a tenant; it grants nothing.
"""

from __future__ import annotations

from typing import Any

import jwt

from graphs.modes import OidcSettings
from service.identity import Identified
from service.jwks import ALGORITHMS, Jwks
from state.actor import is_a_subject
from state.clock import Clock

SKEW_S = 30  # how far the issuer's clock and ours may be apart


class Oidc:
    """One issuer's tokens."""

    def __init__(self, settings: OidcSettings, tenant: str, clock: Clock) -> None:
        """Raises InputInvalid for a file of keys that cannot be used."""
        self._settings = settings
        self._tenant = tenant
        self._keys = Jwks(settings.jwks, clock)
        self._required = ["exp", "iss", "aud", *(["nbf"] if settings.nbf_required else [])]

    def identify(self, token: str) -> Identified | None:
        """As `Source`. Raises IdentityUnavailable as long as no key of the issuer could be read."""
        if token.count(".") != 2:
            return None
        try:
            header = jwt.get_unverified_header(token)
            if str(header.get("alg")) not in ALGORITHMS:
                return None
            key = self._keys.key(header.get("kid"))
            return None if key is None else self._identified(self._claims(token, key))
        except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError):
            return None  # whatever it is that somebody sent, it proves nothing

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        """Raises what PyJWT raises."""
        return jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name],
            audience=self._settings.audience,
            issuer=self._settings.issuer,
            leeway=SKEW_S,
            options={"require": self._required, "enforce_minimum_key_length": True},
        )

    def _identified(self, claims: dict[str, Any]) -> Identified | None:
        claim = self._settings.tenant_claim
        subject, tenant = claims.get(self._settings.subject_claim), self._tenant if claim is None else claims.get(claim)
        if not isinstance(subject, str) or not is_a_subject(subject) or not isinstance(tenant, str):
            return None
        return Identified(subject, tenant)
