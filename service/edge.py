"""The edge of the command line: where errors become messages and exit codes, and nothing becomes a traceback.

With `--json` there is exactly one JSON object on standard output, also for an error.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer

from state.errors import DriverError, InputInvalid, RemitError

SUCCEEDED = 0
UNREAD = 1
REFUSED = 2
NOT_ENDED = 3
ENDED_OTHERWISE = 4
INTERRUPTED = 130

EXIT_CODES = (
    "Exit codes: 0 the run succeeded (and for show and lists); 2 wrong usage or input, or the command was refused; "
    "3 the run has not ended (queued, running, waiting, paused, cancelling, or driven by another process); "
    "4 the run ended otherwise; 130 interrupted; 1 a bug, or nobody read the output."
)


class Interrupted(Exception):
    """Somebody pressed Ctrl-C; the message says what is true and how to go on."""


def guarded(command: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Run a command to its exit code. Bugs are raised; everything that can be told to a person is told."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # no character is worth a traceback
            stream.reconfigure(errors="backslashreplace")
    try:
        _refuse_undecodable(arguments)
        exit_code = command(arguments)
        sys.stdout.flush()
        return exit_code
    except (BrokenPipeError, SystemExit):  # whoever read our output has gone; typer and rich say so by an exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except (KeyboardInterrupt, Exception) as error:
        told = _told(error)
        if told is None:
            raise
    code, message, exit_code = told
    _tell(code, message, as_json="--json" in arguments)
    return exit_code


def _told(error: BaseException) -> tuple[str, str, int] | None:
    """Code, message and exit code of an error that is nobody's bug; None for any other."""
    if isinstance(error, Interrupted):
        return "INTERRUPTED", str(error), INTERRUPTED
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "INTERRUPTED", "Interrupted. `remit show` lists the runs.", INTERRUPTED
    if isinstance(error, typer.TyperException):
        return "USAGE", _usage(error), REFUSED
    if isinstance(error, RemitError):
        return error.code, _with_notes(error), NOT_ENDED if isinstance(error, DriverError) else REFUSED
    if isinstance(error, OSError | sqlite3.Error):
        return "DEPENDENCY_UNAVAILABLE", _with_notes(error, _outside(error)), REFUSED
    return None


def _refuse_undecodable(arguments: Sequence[str]) -> None:
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            shown = argument.encode("utf-8", "backslashreplace").decode()
            raise InputInvalid(f"The argument {shown} is not UTF-8 text. Rename the file or give the name in UTF-8.")


def _usage(error: typer.TyperException) -> str:
    said = error.format_message()
    if not said:  # no arguments were given, and the help was shown instead
        return ""
    context: Any = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "remit"
    return f"{said} See: {command} --help"


def _open_closed_streams() -> None:
    """A stream that our caller closed is None to Python; nothing comes from it, and nobody reads it."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open as long as the process
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _with_notes(error: BaseException, said: str | None = None) -> str:
    """The error's words and what the places it came through added: which run it was about, and how to go on."""
    return "\n".join([said or str(error), *getattr(error, "__notes__", [])])


def _outside(error: BaseException) -> str:
    from graphs.wiring import data_dir_from_environment

    return (
        f"The data directory {data_dir_from_environment()} cannot be used: {error}. Check that it is a folder you may"
        " write to and that the disk has room, or give another REMIT_DATA_DIR; what was committed before is safe."
    )


def _tell(code: str, message: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"error": {"code": code, "message": message}})
    elif message:
        from service.terminal import Screen

        Screen().error(message)


def print_json(value: dict[str, Any]) -> None:
    """One object on standard output; escaped where the terminal's encoding could not show it."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(json.dumps(value, ensure_ascii=not unicode, indent=2))
