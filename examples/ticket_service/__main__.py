"""Start the ticket service: `python -m examples.ticket_service --port 8711 --db FILE`. It prints its address.

A token in TICKET_SERVICE_TOKEN is asked of every caller. The other options make it a worse service than it could be.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from examples.ticket_service.app import Service
from examples.ticket_service.behaviour import Behaviour
from examples.ticket_service.store import Store


class Protocol(H11Protocol):
    """Hands the connection to the application, so that it can close it instead of answering."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}


def main() -> None:
    parser = argparse.ArgumentParser(prog="ticket_service", description=__doc__, add_help=True)
    parser.add_argument("--port", type=int, default=8711, help="0 takes any free one")
    parser.add_argument("--db", type=Path, required=True, help="the SQLite file that tickets are kept in")
    parser.add_argument("--no-keys", action="store_true", help="every call makes a ticket, whatever its key")
    parser.add_argument("--no-lookup", action="store_true", help="nothing is looked up by key")
    parser.add_argument("--slow-ms", type=int, default=0, help="every call takes so long")
    parser.add_argument("--visible-after-ms", type=int, default=0, help="a ticket is seen only so long after")
    parser.add_argument("--lose", type=int, default=0, metavar="N", help="lose the first N answers after committing")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="answer the first N creations with 429")
    given = parser.parse_args()
    behaviour = Behaviour(not given.no_keys, not given.no_lookup, given.slow_ms, given.visible_after_ms).changed(
        {
            "faults": [
                {"on": "create", "how": "status", "status": 429, "retry_after": "1", "times": given.busy},
                {"on": "create", "when": "after", "how": "lose", "times": given.lose},
            ]
        }
    )
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", given.port))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    asyncio.run(_serve(Service(Store(given.db), behaviour, os.environ.get("TICKET_SERVICE_TOKEN")), listener))


async def _serve(service: Service, listener: socket.socket) -> None:
    config = uvicorn.Config(service.app(), http=Protocol, log_level="critical", ws="none", lifespan="off")
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    main()
