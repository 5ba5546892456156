"""What every engine does: drive a run until it waits or ends.

All engines run the same nodes in the order of `flow.next_node`.
"""

from __future__ import annotations

from typing import Protocol


class Engine(Protocol):
    """Drives runs that the ledger knows. Starting, answering, cancelling and pausing are the doors' work."""

    name: str

    def drive(self, run_id: str) -> None:
        """Drive until the run waits, is paused or has ended; nothing happens if it has ended.

        Safe to call again at any time, from any process. Raises RunNotFound, and RunBusy while another driver
        holds the run.
        """
        ...
