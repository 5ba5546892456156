"""The two modes, as settings: `local`, for this computer and nobody else, and `service`, where everybody has to prove
who they are.

Read from an environment that is handed in. What cannot be right is refused with the name of the variable and what to
write; what the files hold is read by whoever uses them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from state.errors import InputInvalid

LOCAL, SERVICE = "local", "service"
OIDC = ("REMIT_OIDC_ISSUER", "REMIT_OIDC_AUDIENCE", "REMIT_OIDC_JWKS")
_ONLY_IN_SERVICE = ("REMIT_TOKENS", *OIDC, "REMIT_ANSWERS_WITHOUT_IDS")
_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """Whose tokens are believed, for whom they have to be made out, and where the issuer's public keys are.

    `jwks` is an https URL (http for loopback only) or the path of a file. Without `tenant_claim`, everybody whom the
    issuer vouches for belongs to this server's tenant. With `nbf_required`, a token must say from when on it holds.
    """

    issuer: str
    audience: str
    jwks: str
    subject_claim: str = "sub"
    tenant_claim: str | None = None
    nbf_required: bool = True


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """How callers prove who they are, and whether an answer may leave out which approval it is about."""

    tokens_file: Path | None = None
    oidc: OidcSettings | None = None
    answers_without_ids: bool = False


def tenant_of(environment: Mapping[str, str]) -> str:
    """`REMIT_TENANT`, by default `local`. Raises InputInvalid."""
    tenant = environment.get("REMIT_TENANT") or "local"
    if not _TENANT.fullmatch(tenant):
        raise InputInvalid(
            f"REMIT_TENANT={tenant}: a tenant is named by lower-case letters, digits, - and _, at most 63 of them."
        )
    return tenant


def service_settings(environment: Mapping[str, str]) -> ServiceSettings | None:
    """What `REMIT_MODE=service` needs; None in local mode. Raises InputInvalid."""
    mode = environment.get("REMIT_MODE") or LOCAL
    if mode not in {LOCAL, SERVICE}:
        raise InputInvalid(f"REMIT_MODE={mode}: the modes are {LOCAL} and {SERVICE}.")
    if mode == LOCAL:
        _refuse_unused(environment)
        return None
    tokens = environment.get("REMIT_TOKENS")
    oidc = _oidc(environment)
    if not tokens and oidc is None:
        raise InputInvalid(
            "REMIT_MODE=service, but nobody could prove who they are: set REMIT_TOKENS to a file of tokens"
            f" (`remit tokens new SUBJECT` prints a line for it), or {', '.join(OIDC)}."
        )
    if not environment.get("REMIT_USER"):
        raise InputInvalid(
            "REMIT_MODE=service: set REMIT_USER to the subject who administers this server. The first opening of an"
            " empty data directory gives that subject every right, and the command line on this machine acts as it."
        )
    return ServiceSettings(
        tokens_file=Path(os.path.abspath(tokens)) if tokens else None,
        oidc=oidc,
        answers_without_ids=_choice(environment, "REMIT_ANSWERS_WITHOUT_IDS", "refuse", "allow") == "allow",
    )


def _refuse_unused(environment: Mapping[str, str]) -> None:
    """Whoever lists tokens believes that they are asked for: in local mode they would not be."""
    for name in _ONLY_IN_SERVICE:
        if environment.get(name):
            raise InputInvalid(f"{name} is set, but means nothing in local mode: set REMIT_MODE=service, or unset it.")


def _choice(environment: Mapping[str, str], name: str, ordinary: str, other: str) -> str:
    chosen = environment.get(name) or ordinary
    if chosen not in {ordinary, other}:
        raise InputInvalid(f"{name}={chosen}: write {ordinary} or {other}.")
    return chosen


def _oidc(environment: Mapping[str, str]) -> OidcSettings | None:
    given = {name: environment.get(name) or "" for name in OIDC}
    if not any(given.values()):
        return None
    missing = [name for name, value in given.items() if not value]
    if missing:
        raise InputInvalid(f"{', '.join(missing)}: not set, and needed with the other settings of REMIT_OIDC_*.")
    issuer, audience, jwks = given.values()
    return OidcSettings(
        issuer=issuer,
        audience=audience,
        jwks=_jwks(jwks),
        subject_claim=environment.get("REMIT_OIDC_SUBJECT_CLAIM") or "sub",
        tenant_claim=environment.get("REMIT_OIDC_TENANT_CLAIM") or None,
        nbf_required=_choice(environment, "REMIT_OIDC_NBF", "required", "optional") == "required",
    )


def _jwks(given: str) -> str:
    """An absolute path, or the URL. Keys that come over a line that others can write to prove nothing."""
    if "://" not in given:
        return os.path.abspath(given)
    url = urlsplit(given)
    if url.scheme == "https" or (url.scheme == "http" and url.hostname in _LOOPBACK):
        return given
    raise InputInvalid(f"REMIT_OIDC_JWKS={given}: give an https URL, or the path of a file.")
