"""Signing webhooks, and what a receiver checks: the scheme of Standard Webhooks (standardwebhooks.com), version `v1`.

    webhook-id: the message's id, the same at each try        webhook-timestamp: seconds since 1970 UTC, of this try
    webhook-signature: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64; several, one for each key, by spaces

This file imports nothing of Remit's: a receiver may copy it. `verify` proves who sent a message, and that this was
within five minutes; that a message is handled once is up to whoever keeps the ids that it has handled.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping

PREFIX = "whsec_"
TOLERANCE_S = 300
KEY_BYTES = range(24, 65)


class BadSignature(Exception):
    """The request is not from whom it says, or not from now; the message says which, and holds nothing of the key."""


class BadKey(ValueError):
    """What was given is no signing key; the message says how to make one, and holds nothing of it."""


def sign(message_id: str, timestamp: int, body: bytes, keys: Iterable[str]) -> str:
    """The value of `webhook-signature`, one signature for each key (`whsec_` and base64). Raises BadKey."""
    content = f"{message_id}.{timestamp}.".encode() + body
    return " ".join(f"v1,{_mac(_key(each), content)}" for each in keys)


def verify(
    headers: Mapping[str, str],
    body: bytes,
    keys: Iterable[str],
    *,
    now: float | None = None,
    tolerance_s: int = TOLERANCE_S,
) -> str:
    """The message's id, if one of the keys signed exactly this body within the tolerance (seconds, both ways).

    `headers` by name, in any case; `body` as it came in, before it is parsed. Raises BadSignature, BadKey.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp, signatures = (given.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not message_id or not signatures:
        raise BadSignature("webhook-id or webhook-signature is missing")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 15):
        raise BadSignature("webhook-timestamp is no number of seconds")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance_s:
        raise BadSignature("webhook-timestamp is too far from now: a message sent again by somebody, or a wrong clock")
    expected = sign(message_id, int(timestamp), body, keys).split(" ")
    # Every pair is compared, in constant time: how long it takes says nothing about which of them was close.
    matches = [hmac.compare_digest(a.encode(), b.encode()) for a in expected for b in signatures.split(" ")]
    if not any(matches):
        raise BadSignature("no signature is of this message under any of the keys")
    return message_id


def _mac(key: bytes, content: bytes) -> str:
    return base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def _key(given: str) -> bytes:
    try:
        key = base64.b64decode(given.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not given.startswith(PREFIX) or len(key) not in KEY_BYTES:
        raise BadKey(
            "a signing key is whsec_ and 24 to 64 bytes in base64; make one: echo whsec_$(openssl rand -base64 32)"
        )
    return key
