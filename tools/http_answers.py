"""What the answer of a target means. It is foreign data: read within bounds, compared, never believed beyond that."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

from state.clock import Clock
from state.digest import Json, same
from tools.http_line import Reply

MAX_RETRY_AFTER_S = 24 * 3600.0
MAX_ID = 500
MAX_VERSION = 2**63 - 1
MISSING = object()


class Unreadable(ValueError):
    """Why an answer cannot be used, in words."""


def content(reply: Reply) -> Any:
    """The JSON value of an answer. Raises Unreadable."""
    if reply.body is None:
        raise Unreadable(f"the answer cannot be read: {reply.why}")
    try:
        return json.loads(reply.body)
    except (ValueError, RecursionError):
        raise Unreadable("the answer is no JSON") from None


def dig(value: Any, path: str) -> Any:
    """What stands at `a.b.0` in a JSON value, or MISSING."""
    for step in path.split("."):
        if isinstance(value, dict):
            value = cast(Json, value).get(step, MISSING)
        elif isinstance(value, list) and step.isdigit() and len(step) < 7:
            items = cast(list[Any], value)
            value = items[int(step)] if int(step) < len(items) else MISSING
        else:
            return MISSING
    return value


def object_id(value: Any, path: str, hide: Callable[[str], str]) -> str:
    """Raises Unreadable unless a usable id stands there; one that repeats a secret is none."""
    found = dig(value, path)
    text = str(found) if type(found) is int else found
    if not isinstance(text, str) or not 0 < len(text) <= MAX_ID or not text.isprintable() or hide(text) != text:
        raise Unreadable(f"the answer has no usable id at {path!r}")
    return text


def version(value: Any, path: str) -> int:
    """The version of a resource: a whole number from 0 to 2^63 - 1. Raises Unreadable."""
    found = dig(value, path)
    if type(found) is not int or not 0 <= found <= MAX_VERSION:
        raise Unreadable(f"the answer has no version at {path!r} (a whole number, not negative, of 63 bits)")
    return found


def only_item(value: Any, path: str | None) -> Json | None:
    """The object that an answer describes. None only for an empty list: nothing else says that there is none.

    Raises Unreadable.
    """
    if path is None:
        return _object(value)
    items = value if path == "." else dig(value, path)
    if not isinstance(items, list):
        raise Unreadable(f"the answer has no list at {path!r}")
    found = cast(list[Any], items)
    if len(found) > 1:
        raise Unreadable(f"there are {len(found)} objects where there is one at most; a person has to look at them")
    return _object(found[0]) if found else None


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise Unreadable("the answer holds something that is no object where one belongs")
    return cast(Json, value)


def mapped(value: Any, paths: Mapping[str, str]) -> Json:
    """The fields of an object by the names of the arguments; what is missing there is missing here."""
    found = {name: dig(value, path) for name, path in paths.items()}
    return {name: each for name, each in found.items() if each is not MISSING}


def differing(fields: Json, arguments: Json, names: Mapping[str, str]) -> list[str]:
    """The arguments that an object does not hold as they were sent: same JSON type, same value."""
    return sorted(name for name in names if not same(fields.get(name, MISSING), arguments[name]))


def retry_after_s(headers: Mapping[str, str], clock: Clock) -> float | None:
    """Seconds that a target asks to be left alone for: `Retry-After` as seconds or as a date; at most a day."""
    given = headers.get("retry-after", "").strip()
    if not given:
        return None
    if given.isascii() and given.isdigit() and len(given) < 10:
        return min(float(given), MAX_RETRY_AFTER_S)
    try:
        seconds = parsedate_to_datetime(given).timestamp() - clock.now() / 1000
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)


def said(reply: Reply, hide: Callable[[str], str]) -> str:
    """The status and the beginning of the body, for people: bounded, on one line, without secrets."""
    text = hide((reply.body or b"").decode("utf-8", "replace"))  # before anything is cut: half a secret is one too
    line = hide("".join(each if each.isprintable() else " " for each in " ".join(text.split())[:300]))
    return f"{reply.status}: {line}" if line else str(reply.status)
