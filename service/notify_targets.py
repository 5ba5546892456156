"""How a message is sent: a signed webhook, or a command of this machine. What became of it is a value, never an error.

Of an answer only the status counts, and of a command only how it ended: what they say is neither kept nor logged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from service.webhook_signature import BadKey, sign
from state.clock import Clock
from state.errors import ToolError
from store.outbox import Message
from tools.contract import Call, CancelToken
from tools.http_answers import retry_after_s
from tools.http_line import Line, Lost, NotSent, Reply, Request
from tools.notify_config import Command, Notifications, Webhook
from tools.process import BARE, run_process
from tools.secrets import Secrets, hide

GONE = 410
GRACE_S = 1.0

Tripped = Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`again`: it may go better later. `silent`: the target did not answer, so others need not try it either now."""

    kind: Literal["sent", "again", "dead"]
    why: str | None = None
    retry_after_s: float | None = None
    silent: bool = False


class Target(Protocol):
    """Somebody who is told. `longest_s` bounds one sending, in seconds."""

    tries: int
    longest_s: float

    def send(self, message: Message, token: CancelToken, left_s: float) -> Outcome:
        """Send it now, within `left_s` seconds, unless the token is tripped."""
        ...


class WebhookTarget:
    """POSTs the message, signed anew at each try; follows no redirect."""

    def __init__(self, spec: Webhook, line: Line, secrets: Secrets, clock: Clock) -> None:
        self.tries = spec.tries
        self.longest_s = spec.timeout_s + GRACE_S
        self._spec = spec
        self._line = line
        self._secrets = secrets
        self._clock = clock

    def send(self, message: Message, token: CancelToken, left_s: float) -> Outcome:
        revealed: list[str] = []
        body = message.payload.encode()
        try:
            request = Request("POST", self._spec.url, self._headers(message.message_id, body, revealed), body)
            reply = self._line.exchange(request, lambda: None, self._tripped(token, left_s))
        except (ToolError, BadKey) as error:
            return Outcome("again", hide(f"It could not be signed: {error}", revealed), silent=True)
        except (NotSent, Lost) as error:
            return Outcome("again", f"No answer: {hide(str(error), revealed)}.", silent=True)
        return self._judged(reply)

    def _headers(self, message_id: str, body: bytes, revealed: list[str]) -> dict[str, str]:
        keys = [self._secrets.reveal(each, revealed) for each in self._spec.keys]
        timestamp = self._clock.now() // 1000
        return {
            "Content-Type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(message_id, timestamp, body, keys),
        }

    def _tripped(self, token: CancelToken, left_s: float) -> Tripped:
        until = self._clock.monotonic() + left_s * 1000
        return lambda: token.tripped or ("time is up" if self._clock.monotonic() > until else None)

    def _judged(self, reply: Reply) -> Outcome:
        if 200 <= reply.status < 300:
            return Outcome("sent")
        if reply.status == GONE:
            return Outcome("dead", "HTTP 410: the receiver wants no more.")
        after = retry_after_s(reply.headers, self._clock)
        what = ", a redirect, which is not followed" if 300 <= reply.status < 400 else ""
        return Outcome("again", f"HTTP {reply.status}{what}.", after, silent=after is not None)


class CommandTarget:
    """Runs a program with the message on its standard input; 0 is success."""

    def __init__(self, spec: Command, environment: Mapping[str, str]) -> None:
        self.tries = spec.tries
        self.longest_s = spec.timeout_s + 2 * GRACE_S
        self._spec = spec
        self._environment = environment

    def send(self, message: Message, token: CancelToken, left_s: float) -> Outcome:
        given = {name: self._environment[name] for name in self._spec.environment if name in self._environment}
        call = Call(message.run_id or "", message.message_id, message.message_id, "", {}, "remit", token=token)
        try:
            run_process(
                self._spec.command,
                call=call,
                timeout_s=min(self._spec.timeout_s, left_s),
                grace_s=GRACE_S,
                stdin=message.payload.encode(),
                env={**BARE, **given},
            )
        except ToolError as error:
            ended, _, _ = str(error).partition(". ")  # what follows is what the program wrote
            return Outcome("again", f"{ended.rstrip('.')}.", silent=ended.startswith("Stopped"))
        return Outcome("sent")


class Removed:
    """Stands in for a target that the configuration names no more: its messages wait for it, and then they are dead."""

    tries = 10
    longest_s = 0.0

    def send(self, message: Message, token: CancelToken, left_s: float) -> Outcome:
        del token, left_s
        return Outcome("again", f"REMIT_NOTIFY names no target {message.target!r} any more.")


def targets_of(notifications: Notifications, clock: Clock) -> dict[str, Target]:
    """Every target of a configuration, by name."""
    secrets, made = Secrets(notifications.environment), dict[str, Target]()
    for name, spec in notifications.targets.items():
        if isinstance(spec, Webhook):
            made[name] = WebhookTarget(spec, notifications.line(spec), secrets, clock)
        else:
            made[name] = CommandTarget(spec, notifications.environment)
    return made
