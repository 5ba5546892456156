"""Names for runs that have no thread: UUIDv7, so that they sort by the time they were made."""

from __future__ import annotations

import secrets
import uuid


def new_run_id(now: int) -> str:
    """A UUIDv7 (RFC 9562, section 5.7): 48 bits of `now` in milliseconds since 1970 UTC, 74 random bits."""
    value = (now & (1 << 48) - 1) << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))
