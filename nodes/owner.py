"""One process as a driver of runs, and the proof that another one is dead.

An owner holds a `flock` on a file of its own as long as it lives, so a process on the same host can prove its death at
once; a missing file proves nothing, and then the lease has to run out.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


class Owner:
    """This process as a driver of runs: a name nobody else has, and a locked file for as long as it lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.name = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._file = self._locked()

    def _locked(self) -> TextIO:
        """Our file, held open until the process ends; anew if somebody buried it before it was locked."""
        while True:
            file = open(self._folder / self.name, "w")  # noqa: SIM115
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:
                return file
            file.close()

    def is_dead(self, other: str) -> bool:
        """Is this owner proven dead? True only if its file is here and nobody holds the lock on it."""
        with self._lock_of(other) as dead:
            return dead

    def bury(self, needed: Callable[[str], bool]) -> list[str]:
        """Take away the files of owners that are proven dead and whose death nobody needs to prove any more."""
        buried: list[str] = []
        for path in sorted(self._folder.iterdir()):
            with self._lock_of(path.name) as dead:  # held, so that an owner who is just being born sees what happened
                if dead and not needed(path.name):
                    path.unlink(missing_ok=True)
                    buried.append(path.name)
        return buried

    @contextmanager
    def _lock_of(self, other: str) -> Generator[bool]:
        """Hold another owner's lock, if nobody has it."""
        if other == self.name:
            yield False
            return
        try:
            file = open(self._folder / other)  # noqa: SIM115 - closed below
        except OSError:
            yield False
            return
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True

    def close(self) -> None:
        """Let go of the lock and take the file away."""
        (self._folder / self.name).unlink(missing_ok=True)
        self._file.close()
