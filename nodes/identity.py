"""Who is acting, for code that runs inside a graph: what trusted code set, whom a server authenticated, or the local
user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from state.actor import Actor, acting
from state.errors import NotAllowed

# Where a LangGraph server puts the user of a run, over whatever a client had put there.
SERVERS_USER = "langgraph_auth_user"


@dataclass(frozen=True, slots=True)
class Identity:
    """`local` is who acts where no trusted code named anybody. `strict`: on a server, nobody does without a proof."""

    local: Actor
    strict: bool = False

    def actor(self) -> Actor:
        """Never from config, context, metadata, state or a resume value."""
        return acting() or self.local

    def on_a_server(self, config: Mapping[str, Any] | None) -> Actor:
        """Who acts in a run of a server, whose config the server itself has written.

        In strict mode only the user whom the server authenticated. Raises NotAllowed where there is none, as for a call
        from inside the server, and where the user is not one that Remit's own authentication named: the server's
        objects are told from what came in as JSON, and ours by their tenant.
        """
        if not self.strict:
            return self.actor()
        configurable: Mapping[str, Any] = (config or {}).get("configurable") or {}
        return self.of_user(configurable.get(SERVERS_USER))

    def of_user(self, user: Any) -> Actor:
        """The actor behind a server's user. Raises NotAllowed for any user whom Remit's authentication did not name."""
        subject: Any = getattr(user, "identity", None)  # a dict, which is what JSON becomes, has none
        if not isinstance(subject, str) or not subject or not getattr(user, "is_authenticated", False):
            raise NotAllowed("Nobody who has proved who they are asks for this: send a bearer token of this server.")
        if getattr(user, "tenant", None) != self.local.tenant:
            raise NotAllowed(f"{subject} does not belong to the tenant of this server.")
        return Actor(subject, self.local.tenant, "server")
