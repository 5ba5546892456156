"""SIGTERM and Ctrl-C while a run is driven: what is going on is stopped or finished, and then the run is let go.

A second one does not wait for that: it interrupts where the process stands, which loses nothing either.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

AGAIN_S = 0.1  # an engine may be made after the signal came


@dataclass(slots=True)
class Asked:
    """Has somebody asked this process to go away?"""

    yes: bool = False


@contextmanager
def draining(drain: Callable[[], None]) -> Generator[Asked]:
    """While the block runs in the main thread: the first signal calls `drain`, a second raises KeyboardInterrupt."""
    asked = Asked()
    told: queue.SimpleQueue[bool] = queue.SimpleQueue()  # the one thing that may be done in a signal handler
    done = threading.Event()

    def on_signal(number: int, frame: Any) -> None:
        del number, frame
        if asked.yes:
            raise KeyboardInterrupt
        asked.yes = True
        told.put(True)

    def listen() -> None:
        if told.get():
            drain()
            while not done.wait(AGAIN_S):
                drain()

    listener = threading.Thread(target=listen, name="remit-drain", daemon=True)
    listener.start()
    try:
        with handling((signal.SIGINT, signal.SIGTERM), on_signal):
            yield asked
    finally:
        done.set()
        told.put(False)
        listener.join()


@contextmanager
def handling(signals: Iterable[signal.Signals], handler: Callable[[int, Any], None]) -> Generator[None]:
    """Handle these signals, but none that our caller wants ignored; in a thread that is not the main one, none."""
    before: dict[signal.Signals, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for each in signals:
                if signal.getsignal(each) is not signal.SIG_IGN:
                    before[each] = signal.signal(each, handler)
        yield
    finally:
        for each, old in before.items():
            signal.signal(each, old)


def as_ctrl_c(number: int, frame: Any) -> None:
    """Another signal does what Ctrl-C does."""
    del number, frame
    raise KeyboardInterrupt
