"""Sending what the outbox holds: at least once, in the order of need, by as many processes as like.

    claim ──A──> send ──B──> record      killed at A: not sent yet; at B: sent, and sent again under the same id

The claim is a row's compare-and-set, so of two processes one sends. It runs out after the longest that a sending may
take; then whoever looks next sends the message again. A message whose target refuses or falls silent waits, longer each
time, and is dead after its last try: `remit messages` shows it, and `remit messages retry` gives it all its tries anew.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

import typer

from service.notify_targets import Outcome, Removed, Target, targets_of
from state.errors import InputInvalid, RemitError
from store import outbox
from store.ledger import Ledger
from store.outbox import LONGEST_WAIT_MS, Message
from tools.backoff import backoff_ms
from tools.contract import CancelToken
from tools.notify_config import Notifications

FIRST_WAIT_MS = 5_000
MOST_WAIT_MS = 6 * 3600 * 1000
REST_MS = 60_000
SLACK_MS = 15_000  # of a claim, beyond the longest that its sending may take
POLL_MS = 1_000
BATCH = 100
END_OF_COMMAND_S = 4.0
STOP_WITHIN_S = 5.0
PAUSE_S = 5.0  # after a look that failed
_log = logging.getLogger("remit.notify")


class Notifier:
    """Sends for one process. Not for several threads at once; `stop` may be called from any."""

    def __init__(self, ledger: Ledger, notifications: Notifications | None) -> None:
        """Raises InputInvalid where no notification is configured."""
        if notifications is None:
            raise InputInvalid("Nobody is to be told anything: set REMIT_NOTIFY to a file (docs/notifications.md).")
        self._ledger = ledger
        self._targets: dict[str, Target] = targets_of(notifications, ledger.clock)
        self._token = CancelToken()
        self._rests: dict[str, int] = {}  # targets that fell silent, until when (of the monotonic clock)

    def stop(self) -> None:
        """Begin nothing more, and break off what is under way; it is sent again later."""
        self._token.trip("this process is going away")

    def follow(self) -> None:
        """Send what is due, whenever it is, until `stop`."""
        while self._token.tripped is None:
            if self.send_due(BATCH) < BATCH:
                self._ledger.clock.wait(POLL_MS, self._token.event)

    def send_due(self, limit: int, within_s: float | None = None) -> int:
        """Send at most `limit` messages that are due, and begin none after `within_s` seconds; how many were tried."""
        clock, tried = self._ledger.clock, 0
        until = None if within_s is None else clock.monotonic() + within_s * 1000

        def left_s() -> float:
            return float("inf") if until is None else (until - clock.monotonic()) / 1000

        for message in self._due():
            if tried == limit or left_s() <= 0 or self._token.tripped is not None:
                break
            if self._rests_for(message.target) <= 0:
                tried += self._sent(message, left_s)
        return tried

    def next_at(self) -> int | None:
        """When `send_due` has something to do again, in milliseconds since 1970 UTC; None if nothing is pending."""
        with self._ledger.database.read() as connection:
            found = outbox.next_at(connection, self._ledger.tenant)
        now = self._ledger.clock.now()
        if found is None or now < found <= now + LONGEST_WAIT_MS:
            return found
        rests = [each for each in map(self._rests_for, self._rests) if each > 0]
        return now + min(rests, default=0)

    def _due(self) -> Generator[Message]:
        ledger, last = self._ledger, None
        while True:
            with ledger.database.read() as connection:
                page = outbox.due(connection, ledger.tenant, ledger.clock.now(), last)
            yield from outbox.in_order(page)
            if len(page) < outbox.PAGE:
                return
            last = page[-1]

    def _rests_for(self, target: str) -> int:
        return self._rests.get(target, 0) - self._ledger.clock.monotonic()

    # --- one message ----------------------------------------------------------------------------------------

    def _sent(self, message: Message, left_s: Callable[[], float]) -> bool:
        """Claim it, send it, record what became of it; False if another process had it."""
        target = self._targets.get(message.target) or Removed()
        claimed = self._claimed(message, target)
        if claimed is None:
            return False
        if claimed.tries > target.tries:
            self._record(claimed, Outcome("dead", f"Begun {target.tries} times, and never heard of again."), target)
        else:
            self._record(claimed, target.send(claimed, self._token, left_s()), target)
        return True

    def _claimed(self, message: Message, target: Target) -> Message | None:
        ledger = self._ledger
        until = ledger.clock.now() + int(target.longest_s * 1000) + SLACK_MS
        with ledger.database.write() as connection:
            if not outbox.claim(connection, ledger.tenant, message, until):
                return None
        return replace(message, tries=message.tries + 1, next_at=until)

    def _record(self, message: Message, outcome: Outcome, target: Target) -> None:
        wait = self._wait_ms(message, outcome)
        if outcome.silent:
            self._rests[message.target] = self._ledger.clock.monotonic() + self._rest_ms(wait, outcome)
        status = {"sent": "sent", "dead": "dead", "again": "pending"}[outcome.kind]
        if status == "pending" and message.tries >= target.tries:
            status = "dead"
        ledger = self._ledger
        with ledger.database.write() as connection:
            now = ledger.clock.now()
            next_at = now + wait if status == "pending" else message.next_at
            outbox.record(connection, ledger.tenant, message, status, next_at, outcome.why, now)

    @staticmethod
    def _wait_ms(message: Message, outcome: Outcome) -> int:
        wait = backoff_ms(message.tries, base_ms=FIRST_WAIT_MS, cap_ms=MOST_WAIT_MS)
        return min(max(wait, int((outcome.retry_after_s or 0) * 1000)), LONGEST_WAIT_MS)

    @staticmethod
    def _rest_ms(wait: int, outcome: Outcome) -> int:
        """What the target asked for; else at most a minute, as other messages may find it well again."""
        return int(outcome.retry_after_s * 1000) if outcome.retry_after_s is not None else min(wait, REST_MS)


@contextmanager
def telling(ledger: Ledger, notifications: Notifications) -> Generator[None]:
    """After a command that added to a timeline: send what is due, for a few seconds, and fail nothing by it."""
    try:
        yield
    except typer.Exit:
        _tell(ledger, notifications)
        raise
    _tell(ledger, notifications)


def _tell(ledger: Ledger, notifications: Notifications) -> None:
    if ledger.outbox is None or not ledger.outbox.used:
        return
    try:
        Notifier(ledger, notifications).send_due(BATCH, END_OF_COMMAND_S)
    except (RemitError, OSError, sqlite3.Error):
        return  # what the command did stands; the messages are rows, and wait


@contextmanager
def sending(ledger: Ledger, notifications: Notifications | None) -> Generator[None]:
    """Inside the block a thread of this process sends what is due; nothing where no notification is configured."""
    if notifications is None:
        yield
        return
    notifier = Notifier(ledger, notifications)
    thread = threading.Thread(target=_goes_on_sending, args=(notifier,), name="remit-notifier", daemon=True)
    thread.start()
    try:
        yield
    finally:
        notifier.stop()
        thread.join(STOP_WITHIN_S)


def _goes_on_sending(notifier: Notifier) -> None:
    """What one look met (a store that does not answer, say) must not keep the next from being made."""
    while True:
        try:
            return notifier.follow()
        except Exception as error:
            _log.warning("Sending what is due failed (%s); trying again.", type(error).__name__)
            time.sleep(PAUSE_S)
