"""Fields that a schema marks with `x-sensitive`: kept and used, never shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from state.digest import Json

MASK = "***"
MARK = "x-sensitive"
_IN_WORDS = 4  # a shorter text is hidden where it stands alone, not inside other words


@dataclass(slots=True)
class Masked:
    """A value without what is sensitive: where something was masked (JSON pointers), and the texts that were."""

    value: Any
    pointers: list[str] = field(default_factory=list[str])
    texts: set[str] = field(default_factory=set[str])


def masked(schema: Json | None, value: Any) -> Masked:
    """`schema` is a JSON Schema, or None where nobody knows it any more: then everything is masked."""
    found = Masked(value)
    root: Json = {MARK: True} if schema is None else schema
    found.value = _masked(root, root, value, "", found)
    return found


def without(value: Any, texts: set[str]) -> Any:
    """A JSON value in whose words none of these texts occur."""
    if not texts:
        return value
    if isinstance(value, str):
        return _without(value, texts)
    if isinstance(value, list):
        return [without(each, texts) for each in cast(list[Any], value)]
    if isinstance(value, dict):
        return {name: without(each, texts) for name, each in cast(Json, value).items()}
    return value


def _without(text: str, texts: set[str]) -> str:
    if text in texts:
        return MASK
    for each in sorted(texts, key=len, reverse=True):
        if len(each) >= _IN_WORDS:
            text = text.replace(each, MASK)
    return text


def _masked(root: Json, schema: Json, value: Any, pointer: str, found: Masked) -> Any:
    parts = _parts(root, schema, 0)
    if any(part.get(MARK) is True for part in parts):
        _collect(value, found.texts)
        found.pointers.append(pointer)
        return MASK
    if isinstance(value, dict):
        named = cast(Json, value)
        return {
            name: _masked(root, _inner(parts, name), each, f"{pointer}/{_escaped(name)}", found)
            for name, each in named.items()
        }
    if isinstance(value, list):
        items = cast(list[Any], value)
        return [_masked(root, _item(parts), each, f"{pointer}/{number}", found) for number, each in enumerate(items)]
    return value


def _parts(root: Json, schema: Json, depth: int) -> list[Json]:
    """The schema and every schema that it refers to or consists of: what one of them marks is marked."""
    parts = [schema]
    named = schema.get("$ref")
    if isinstance(named, str) and named.startswith("#/") and depth < 8:
        target: Any = root
        for step in named[2:].split("/"):
            target = target.get(step, {})
        parts += _parts(root, target, depth + 1)
    for word in ("anyOf", "allOf", "oneOf"):
        inner: list[Json] = schema.get(word, []) if depth < 8 else []
        for each in inner:
            parts += _parts(root, each, depth + 1)
    return parts


def _inner(parts: list[Json], name: str) -> Json:
    """What is said of one property: by its name, or of all that have no name."""
    said: list[Json] = []
    for part in parts:
        each = part.get("properties", {}).get(name, part.get("additionalProperties"))
        if isinstance(each, dict):
            said.append(cast(Json, each))
    return {"allOf": said}


def _item(parts: list[Json]) -> Json:
    return {
        "allOf": [
            each
            for part in parts
            for each in [part.get("items"), *part.get("prefixItems", [])]
            if isinstance(each, dict)
        ]
    }


def _collect(value: Any, texts: set[str]) -> None:
    if isinstance(value, dict):
        value = list(cast(Json, value).values())
    if isinstance(value, list):
        for each in cast(list[Any], value):
            _collect(each, texts)
    elif isinstance(value, str) and value:
        texts.add(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        texts.add(str(value))


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
