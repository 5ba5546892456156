"""The installation's own signature (Ed25519): what it exports or keeps of a pruned run can be held against its key.

Whoever can write to the database alone cannot sign. The key is made when it is first needed, in the data directory and
for its owner alone, or is named by reference (`REMIT_SIGNING_KEY=secret://NAME`); docs/decisions/0011.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from graphs.wiring import Settings
from state.digest import Json, canonical
from state.errors import InputInvalid
from tools.secrets import REFERENCE, Secrets

_KEY = re.compile(r"^[0-9a-f]{64}$")
FILE = "signing.key"


class Signer:
    """Signs JSON values. `key` is the public key, 64 hexadecimal digits."""

    def __init__(self, secret: str) -> None:
        if not _KEY.match(secret):
            raise InputInvalid("The signing key must be 64 hexadecimal digits, as `openssl rand -hex 32` prints.")
        self._private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret))
        self.key = self._private.public_key().public_bytes_raw().hex()

    def signed(self, value: Json) -> Json:
        """The value with its `signature`: `{key, value}`, over the RFC 8785 form of all the rest."""
        made = self._private.sign(canonical(value))
        return {**value, "signature": {"key": self.key, "value": made.hex()}}


def signer(settings: Settings, environment: Mapping[str, str]) -> Signer:
    """The signer of an installation. Raises InputInvalid for a key that is none, or that others may read."""
    named = settings.signing_key
    if named is not None:
        if not REFERENCE.fullmatch(named):
            raise InputInvalid("REMIT_SIGNING_KEY names a secret, it does not hold one: give secret://NAME.")
        return Signer(Secrets(environment).reveal(named, []))
    path = settings.data_dir / FILE
    if not path.exists():
        _make(path)
    if path.stat().st_mode & 0o077:
        raise InputInvalid(f"Others may read {path}, so that it proves nothing: chmod 600 it, or make a new one.")
    return Signer(path.read_text("ascii").strip())


def _make(path: Path) -> None:
    """Whole or not at all, and the first one stays, however many processes make one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{FILE}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32) + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
