"""A world in which somebody is told: its configuration, its messages, and whoever sends them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from service.notify import Notifier
from tests.support.hook_receiver import SECRETS, HookReceiver
from tests.support.world import World
from tools.notify_config import read_notifications


class Told:
    """Around a world: `told.of(hooks)` says who is told, before the first run."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.secrets = world.secrets | SECRETS

    # --- given ----------------------------------------------------------------------------------------------

    def by(self, **targets: dict[str, Any]) -> Told:
        """These targets are configured from the next process on."""
        path = self.world.folder / "notify.json"
        path.write_text(json.dumps({"targets": targets}), "utf-8")
        self.world.notify_file = path
        return self

    def by_webhook(self, hooks: HookReceiver | str, **more: Any) -> Told:
        """One target, `ops`."""
        url = hooks if isinstance(hooks, str) else hooks.url
        return self.by(ops={"url": url, "keys": ["secret://HOOK_KEY"], **more})

    def by_command(self, script: str, **more: Any) -> Told:
        """One target, `desk`: a shell script that gets the message on its standard input."""
        return self.by(desk={"command": ["/bin/sh", "-c", script], **more})

    def sender(self) -> Notifier:
        """Another one, as another process has it."""
        assert self.world.notify_file is not None
        return Notifier(self.world.parts.ledger, read_notifications(self.world.notify_file, self.world.secrets))

    # --- when -----------------------------------------------------------------------------------------------

    def sends(self, limit: int = 1000) -> int:
        """What is due now, by a process of its own."""
        return self.sender().send_due(limit)

    def waits_and_sends(self) -> int:
        """Until the next message is due, and then sends. Answers how long that was, in milliseconds."""
        (pending,) = {each["next_at"] for each in self.rows if each["status"] == "pending"}
        wait = pending - self.world.clock.now()
        self.world.clock.passes(seconds=wait / 1000)
        self.sends()
        return wait

    # --- then -----------------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.world.rows("outbox")

    @property
    def one(self) -> dict[str, Any]:
        (row,) = self.rows
        return row

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(each["payload"]) for each in self.rows]

    @property
    def said(self) -> list[tuple[str, int]]:
        """Type and number of each message."""
        return [(each["type"], each["data"]["seq"]) for each in self.bodies]


def log(folder: Path) -> list[str]:
    """The lines of the file that a command of a test wrote."""
    path = folder / "log"
    return path.read_text("utf-8").splitlines() if path.exists() else []
