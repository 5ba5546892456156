"""The arguments of a configured tool: a strict pydantic model made from what the file declares."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, create_model
from pydantic_core import SchemaError

from state.operation import RESERVED_NAMES
from tools.contract import Arguments
from tools.http_config import Argument
from tools.http_templates import as_text, not_in_a_path

_TYPES: dict[str, type[Any]] = {"string": str, "integer": int, "boolean": bool}
_BOUNDS = {"string": ("min_length", "max_length"), "integer": ("ge", "le")}
MAX_INTEGER = 2**53 - 1  # what canonical JSON can hold


def arguments_model(
    tool: str, declared: dict[str, Argument], in_path: frozenset[str], refuse: Callable[[str, str], Exception]
) -> type[Arguments]:
    """The model; `in_path` names the arguments that stand in a URL's path and are held to what a path can carry."""
    fields: dict[str, Any] = {}
    for name, argument in declared.items():
        where = f"arguments.{name}"
        what = _wrong_name(name) or _wrong(argument)
        if what is not None:
            raise refuse(where, what)
        annotation: Any = Annotated[_TYPES[argument.type], _bounded(argument)]
        if name in in_path:
            annotation = Annotated[annotation, AfterValidator(_stands_in_a_path)]
        fields[name] = annotation if argument.default is None else (annotation, argument.default)
    model = _made(tool, fields, refuse)
    for name in (each for each, argument in declared.items() if argument.default is not None):
        try:
            TypeAdapter[Any](fields[name][0]).validate_python(declared[name].default, strict=True)
        except ValidationError as error:
            said = error.errors()[0]["msg"]
            raise refuse(f"arguments.{name}", f"its own default is refused ({said}); change one of them") from None
    return model


def _made(tool: str, fields: dict[str, Any], refuse: Callable[[str, str], Exception]) -> type[Arguments]:
    title = "".join(part.capitalize() for part in tool.split("_")) + "Arguments"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return create_model(title, __base__=Arguments, __doc__=None, **fields)
    except (SchemaError, ValueError, TypeError, UserWarning) as error:
        raise refuse("arguments", f"no schema can be made of them: {str(error).splitlines()[0]}") from None


def _bounded(argument: Argument) -> Any:
    at_least, at_most = _BOUNDS.get(argument.type, ("", ""))
    rules: dict[str, Any] = {}
    if at_least and argument.min is not None:
        rules[at_least] = argument.min
    if at_most and argument.max is not None:
        rules[at_most] = argument.max
    if argument.type == "integer":
        rules = {"ge": -MAX_INTEGER, "le": MAX_INTEGER} | rules
    if argument.pattern is not None:
        rules["pattern"] = argument.pattern
    return Field(description=argument.description or None, **rules)


def _wrong_name(name: str) -> str | None:
    if name in RESERVED_NAMES:
        return "only trusted code may give a value of this name; take another one, the body may still call it so"
    if hasattr(Arguments, name) or name.startswith("model_"):
        return "the name is taken by what all schemas have; take another one, the body may still call it so"
    return None


def _wrong(argument: Argument) -> str | None:
    """Why this declaration contradicts itself, or None."""
    type_ = _TYPES[argument.type]
    if argument.default is not None and type(argument.default) is not type_:
        return f"the default is no {argument.type}; give one of the declared type"
    if argument.pattern is not None and argument.type != "string":
        return f"pattern is for strings, not for a {argument.type}; take it out"
    if argument.type == "boolean" and (argument.min, argument.max) != (None, None):
        return "min and max are for strings and integers; take them out"
    if argument.min is not None and argument.max is not None and argument.min > argument.max:
        return "min is greater than max; change one of them"
    if argument.type == "string" and min(argument.min or 0, argument.max or 0) < 0:
        return "a length is not negative; change min or max"
    return None


def _stands_in_a_path(value: Any) -> Any:
    why = not_in_a_path(as_text(value))
    if why is not None:
        raise ValueError(why)
    return value
