"""Drives one run and dies in window B: the effect has happened, and nobody has recorded it.

    claim --A--> effect --B--> settle --C--> checkpoint

The business store of this process kills the process with SIGKILL as soon as it has committed; nothing can be caught,
cleaned up or written after that.
"""

from __future__ import annotations

import os
import signal
import sys

from graphs.engines.langgraph import LangGraphEngine
from graphs.wiring import Outside, open_parts, settings_from_environment
from store.business import BusinessStore, Found, Write


class DiesAfterCommit(BusinessStore):
    """Commits as every business store does, and does not live to tell."""

    def create(self, write: Write) -> Found:
        found = super().create(write)
        os.kill(os.getpid(), signal.SIGKILL)
        return found


if __name__ == "__main__":
    parts = open_parts(settings_from_environment(), Outside(business=DiesAfterCommit))
    LangGraphEngine(parts).drive(sys.argv[1])
