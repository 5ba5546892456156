"""Static tokens: a file that says whom each one stands for, and that holds none of them.

    [tokens]
    "sha256:2bd806c9…" = { subject = "grace", tenant = "local", expires = 2027-01-31T12:00:00Z }
    "secret://NIGHTLY" = { subject = "nightly-check", tenant = "local" }

A token is named by its SHA-256 digest (`remit tokens new` prints one, and its line), or by reference to where its value
is kept (`tools/secrets.py`). A changed file counts from the next request on. Digests are compared in constant time, and
all of them, so that how long an answer takes says nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import secrets
import stat
import threading
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from service.identity import Identified, IdentityUnavailable
from state.actor import SUBJECTS, is_a_subject
from state.clock import Clock
from state.errors import InputInvalid, ToolError
from tools.secrets import REFERENCE, Secrets

MAX_FILE_BYTES = 1024 * 1024
MIN_SECRET = 20
PREFIX = "remit_"  # so that a scanner for leaked secrets can tell what it found
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_FIELDS = {"subject", "tenant", "expires"}
_log = logging.getLogger("remit.identity")


@dataclass(frozen=True, slots=True)
class Token:
    """One line of the file. `expires` is in milliseconds since 1970 UTC; `name` is a digest or a reference."""

    name: str
    subject: str
    tenant: str
    expires: int | None


def new_token(subject: str, tenant: str, expires: int | None) -> tuple[str, str]:
    """A token, which is kept nowhere, and its line for the file. Raises InputInvalid for a name nobody can have."""
    if not is_a_subject(subject):
        raise InputInvalid(f"Nobody can be called {subject!r}: {SUBJECTS}.")
    token = PREFIX + secrets.token_urlsafe(32)
    texts = {"subject": subject, "tenant": tenant}
    fields = [f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in texts.items()]  # as TOML has them
    if expires is not None:
        fields.append(f"expires = {datetime.fromtimestamp(expires // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}")
    return token, f'"sha256:{_sha256(token)}" = {{ {", ".join(fields)} }}'


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class TokenFile:
    """The tokens of one file, as the file is now."""

    def __init__(self, path: Path, secrets: Secrets, clock: Clock) -> None:
        """Raises InputInvalid, with what is wrong where and what to write."""
        self._path = path
        self._secrets = secrets
        self._clock = clock
        self._lock = threading.Lock()
        self._read_at = _version(path)
        self._tokens: list[Token] | None = read_tokens(path)
        for each in self._tokens:
            self._check_secret(each)

    def identify(self, token: str) -> Identified | None:
        """As `Source`. Raises IdentityUnavailable while the file cannot be used: a revocation may be in it."""
        given, found = _sha256(token), None
        for each in self._current():
            if hmac.compare_digest(self._digest(each), given):
                found = each
        if found is None or (found.expires is not None and found.expires <= self._clock.now()):
            return None
        return Identified(found.subject, found.tenant)

    def _current(self) -> list[Token]:
        with self._lock:
            try:
                version = _version(self._path)
                if self._tokens is None or version != self._read_at:
                    self._read_at, self._tokens = version, read_tokens(self._path)
            except InputInvalid as error:
                self._tokens = None
                _log.error("Nobody is let in by a token of the file: %s", error)
                raise IdentityUnavailable(
                    "This server cannot say at the moment who you are; try again later."
                ) from None
            return self._tokens

    def _digest(self, token: Token) -> str:
        """Of a reference: of its value as it is now; a missing value is nobody's token."""
        digest = _DIGEST.fullmatch(token.name)
        if digest is not None:
            return digest[1]
        try:
            return _sha256(self._secrets.reveal(token.name, []))
        except ToolError:
            return ""

    def _check_secret(self, token: Token) -> None:
        if not REFERENCE.fullmatch(token.name):
            return
        try:
            value = self._secrets.reveal(token.name, [])
        except ToolError as error:
            raise InputInvalid(f"{self._path}, {token.name}: {error}") from None
        if len(value) < MIN_SECRET:
            raise InputInvalid(f"{self._path}, {token.name}: its value is too short; give {MIN_SECRET} characters.")


def _version(path: Path) -> tuple[int, int, int]:
    """Another one for another content. Raises InputInvalid."""
    try:
        found = path.stat()
    except OSError as error:
        raise InputInvalid(f"REMIT_TOKENS={path} cannot be read: {error.strerror}.") from None
    if found.st_mode & stat.S_IWOTH:
        raise InputInvalid(f"REMIT_TOKENS={path} may be written by everybody on this machine: chmod o-w {path}")
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_tokens(path: Path) -> list[Token]:
    """What the file says. Raises InputInvalid; its text names the line or the entry, never what could be a token."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputInvalid(f"REMIT_TOKENS={path} cannot be read: {error.strerror}.") from None
    if len(content) > MAX_FILE_BYTES:
        raise InputInvalid(f"REMIT_TOKENS={path} is larger than {MAX_FILE_BYTES} bytes.")
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputInvalid(f"REMIT_TOKENS={path} is not TOML: {_where(error)}.") from None
    listed: Any = document.get("tokens")
    if set(document) != {"tokens"} or not isinstance(listed, dict):
        raise InputInvalid(
            f'{path}: write one table [tokens], with a line "sha256:DIGEST" = {{ subject = … }} for each.'
        )
    entries = cast(dict[str, Any], listed)
    return [_token(f"{path}, [tokens], entry {at}", *each) for at, each in enumerate(entries.items(), 1)]


def _where(error: Exception) -> str:
    """The place, without what stands there."""
    place = re.search(r"\(at (.+)\)$", str(error))
    return (
        place[1] if place else "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "look at its quotes"
    )


def _token(where: str, name: str, given: Any) -> Token:
    if not _DIGEST.fullmatch(name) and not REFERENCE.fullmatch(name):
        raise InputInvalid(
            f"{where}: name it sha256: and 64 lower-case hexadecimal digits, or secret://NAME. A token itself never"
            " belongs into this file; `remit tokens new SUBJECT` prints the line for a new one."
        )
    if not isinstance(given, dict) or set(cast(dict[str, Any], given)) - _FIELDS:
        raise InputInvalid(f"{where}: write {{ subject = …, tenant = …, expires = … }} and nothing else.")
    fields = cast(dict[str, Any], given)
    subject, tenant = fields.get("subject"), fields.get("tenant")
    if not is_a_subject(subject):
        raise InputInvalid(f"{where}, subject: {SUBJECTS}.")
    if not isinstance(tenant, str) or not tenant:
        raise InputInvalid(f"{where}, tenant: name the tenant, as REMIT_TENANT does (by default local).")
    return Token(name, cast(str, subject), tenant, _expires(where, fields.get("expires")))


def _expires(where: str, given: Any) -> int | None:
    if given is None:
        return None
    if not isinstance(given, datetime) or given.tzinfo is None:
        raise InputInvalid(f"{where}, expires: write a time with its zone and without quotes, as 2027-01-31T12:00:00Z.")
    return int(given.timestamp() * 1000)
