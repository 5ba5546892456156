"""Who is acting, for code that runs inside a graph: what trusted code set, or the local user."""

from __future__ import annotations

from dataclasses import dataclass

from state.actor import Actor, acting


@dataclass(frozen=True, slots=True)
class Identity:
    """`local` is who acts where no trusted code named anybody: the user of the operating system."""

    local: Actor

    def actor(self) -> Actor:
        """Never from config, context, metadata, state or a resume value."""
        return acting() or self.local
