"""An issuer's public keys (RFC 7517), by their ids, from a file or a URL.

Issuers change their keys: an unknown id makes us read them again. Anybody can send an unknown id, so that happens at
most once in ten seconds, by one request, while the others go on with the keys that there are.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any, cast

import httpx
import jwt

from service.identity import IdentityUnavailable
from state.clock import Clock
from state.errors import InputInvalid

ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
AGAIN_AFTER_MS = 10_000
FRESH_MS = 3_600_000  # after that they are read again, so that a key that the issuer took back is forgotten
STALE_MS = 86_400_000  # and after that not believed any more, if they could not be
TIMEOUT_S = 5.0
MAX_BYTES = 1024 * 1024
MAX_KEYS = 200
_log = logging.getLogger("remit.identity")


class Jwks:
    """Where the keys are, and those that were read last."""

    def __init__(self, where: str, clock: Clock) -> None:
        """A file is read now: raises InputInvalid for one that cannot be used. A URL is asked when a token comes."""
        self._where = where
        self._clock = clock
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._read_at: int | None = None
        self._tried_at: int | None = None
        self._reading = threading.Lock()
        if "://" not in where:
            self._keys, self._read_at = read_keys(_file(where), where), clock.monotonic()

    def key(self, kid: Any) -> jwt.PyJWK | None:
        """The key with this id; without an id, the only key that there is. Raises IdentityUnavailable without any."""
        found = self._known(kid)
        if found is None or self._older_than(FRESH_MS):
            self._read_again()
            found = self._known(kid)
        if self._older_than(STALE_MS):
            raise IdentityUnavailable("This server cannot check such a token at the moment; try again later.")
        return found

    def _known(self, kid: Any) -> jwt.PyJWK | None:
        keys = self._keys
        if kid is None:
            return next(iter(keys.values())) if len(keys) == 1 else None
        return keys.get(kid) if isinstance(kid, str) else None

    def _older_than(self, ms: int) -> bool:
        return self._read_at is None or self._clock.monotonic() - self._read_at > ms

    def _read_again(self) -> None:
        """Unless that is being done, or was a moment ago."""
        if not self._reading.acquire(blocking=self._read_at is None):
            return
        try:
            now = self._clock.monotonic()
            if self._tried_at is not None and now - self._tried_at < AGAIN_AFTER_MS:
                return
            self._tried_at = now
            self._keys, self._read_at = read_keys(self._content(), self._where), now
        except (InputInvalid, httpx.HTTPError) as error:
            _log.error("The issuer's keys could not be read from %s: %s", self._where, error)
        finally:
            self._reading.release()

    def _content(self) -> bytes:
        if "://" not in self._where:
            return _file(self._where)
        with httpx.stream("GET", self._where, timeout=TIMEOUT_S) as answer:
            answer.raise_for_status()
            content, until = b"", time.monotonic() + TIMEOUT_S
            for part in answer.iter_bytes():
                content += part
                if len(content) > MAX_BYTES or time.monotonic() > until:
                    raise InputInvalid(f"more than {MAX_BYTES} bytes, or more than {TIMEOUT_S:.0f} s")
            return content


def _file(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputInvalid(f"REMIT_OIDC_JWKS={path} cannot be read: {error.strerror}.") from None


def read_keys(content: bytes, where: str) -> dict[str | None, jwt.PyJWK]:
    """The keys that signatures can be checked with. Raises InputInvalid where there is none, or a secret one."""
    try:
        document: Any = json.loads(content[: MAX_BYTES + 1])
        listed = cast(list[Any], document["keys"])[:MAX_KEYS]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputInvalid(f'REMIT_OIDC_JWKS={where} is not a set of keys: {{"keys": [...]}} (RFC 7517).') from None
    keys: dict[str | None, jwt.PyJWK] = {}
    for each in listed:
        key = _key(each, where)
        if key is not None:
            keys[key.key_id] = key
    if not keys:
        raise InputInvalid(f"REMIT_OIDC_JWKS={where} holds no public RSA, EC or Ed25519 key for signatures.")
    return keys


def _key(given: Any, where: str) -> jwt.PyJWK | None:
    """One key; None for what is not for us to use."""
    if not isinstance(given, dict):
        return None
    fields = cast(dict[str, Any], given)
    if fields.get("kty") == "oct" or "d" in fields:
        raise InputInvalid(
            f"REMIT_OIDC_JWKS={where} holds a secret key: whoever can read it can be anybody. Take it out."
        )
    if fields.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK.from_dict(fields)
    except jwt.PyJWTError:
        return None
    return key if key.algorithm_name in ALGORITHMS else None
