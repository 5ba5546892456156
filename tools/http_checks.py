"""What in a tool's configuration has to fit together: each check yields the fields that do not, and how to mend it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from tools.http_config import Spec, Target
from tools.http_templates import BadTemplate, Template, UrlTemplate, texts_of

Wrong = tuple[str, str]
SAYING = frozenset({"call.key", "call.principal", "call.resource_id", "call.resource_version"})


def contradictions(spec: Spec, target: Target, url: UrlTemplate, others: Mapping[str, Spec]) -> Iterator[Wrong]:
    """All of them, for a tool whose URLs are parsed."""
    return chain(
        _statuses(spec), _ids_and_paths(spec), _texts(spec), _contract(spec, target, url), _taken_back(spec, others)
    )


def has_version(spec: Spec) -> bool:
    return spec.resource is not None and spec.resource.version is not None


def write_names(spec: Spec) -> frozenset[str]:
    """What the write may speak of: its arguments, and of the call what there is."""
    return frozenset(spec.arguments) | (SAYING if has_version(spec) else SAYING - {"call.resource_version"})


def unknown_names(used: Iterable[str], names: Collection[str]) -> str | None:
    unknown = sorted(set(used) - set(names))
    if not unknown:
        return None
    return f"{listed(unknown)} cannot be used here; there are {listed(sorted(names)) or 'no names'}"


def listed(names: Iterable[Any]) -> str:
    return ", ".join(str(each) for each in names)


def _statuses(spec: Spec) -> Iterator[Wrong]:
    write = spec.write
    lists = {
        "success": write.success,
        "retryable": write.retryable,
        "refused": write.refused,
        "key_conflict": write.key_conflict,
        "resource_changed": write.resource_changed,
    }
    all_of_them = [status for statuses in lists.values() for status in statuses]
    for name, statuses in lists.items():
        twice = sorted({each for each in statuses if all_of_them.count(each) > 1})
        if twice:
            yield f"write.{name}", f"{listed(twice)} would mean two things; list a status once"
    if write.resource_changed and not has_version(spec):
        yield "write.resource_changed", "it needs resource.version, which says how the version is asked for; declare it"


def _ids_and_paths(spec: Spec) -> Iterator[Wrong]:
    if (spec.write.object_id is None) == (spec.write.object_id_is is None):
        yield "write.object_id", "give either object_id (a place in the answer) or object_id_is (a template)"
    places = {"read_back.fields": spec.read_back.fields}
    if spec.lookup is not None:
        places["lookup.fields"] = spec.lookup.fields
    for field, paths in places.items():
        unknown = sorted(set(paths) - set(spec.arguments))
        if unknown:
            yield field, f"{listed(unknown)}: no such argument; there are {listed(spec.arguments)}"


def _texts(spec: Spec) -> Iterator[Wrong]:
    """Every template outside URLs and headers; secrets are in headers only."""
    names = frozenset(spec.arguments)
    texts = [("write.body", text, write_names(spec)) for text in texts_of(spec.write.body)]
    texts.append(("write.object_id_is", spec.write.object_id_is or "", names | {"call.key"}))
    texts += [("operation_key.parts", part, names) for part in (spec.operation_key.parts if spec.operation_key else [])]
    texts.append(("resource.id", spec.resource.id if spec.resource is not None else "", names))
    texts.append(("preview.summary", spec.preview.summary or "", names))
    for row in spec.preview.difference:
        texts += [("preview.difference", text, names) for text in (row.field, row.recorded, row.observed)]
    for field, text, known in texts:
        what = wrong_template(text, known)
        if what is not None:
            yield field, what


def wrong_template(text: str, names: Collection[str] | None) -> str | None:
    """Why a text cannot be a template of these names (None: of any), or None."""
    if "secret://" in text:
        return "secrets go into headers only, so that nobody is shown one; take it out here"
    try:
        used = Template.parse(text).names
    except BadTemplate as error:
        return str(error)
    return None if names is None else unknown_names(used, names)


def _contract(spec: Spec, target: Target, url: UrlTemplate) -> Iterator[Wrong]:
    contract = spec.contract
    if contract.dedups_by_key and not _sends_the_key(spec, url):
        yield "contract.dedups_by_key", "the key is never sent: set write.key_header, or use {call.key}"
    if contract.key_valid_for_s is not None and not contract.dedups_by_key:
        yield "contract.key_valid_for_s", "it says how long keys count: set dedups_by_key, or take it out"
    if contract.lookup_is_authoritative and spec.lookup is None:
        yield "contract.lookup_is_authoritative", "there is no lookup; declare one, or take this out"
    if contract.longest_call_s < 2 * target.timeout_s:
        what = (
            f"half of it is for sending, half for the service's work: at least twice timeout_s ({target.timeout_s:g} s)"
        )
        yield "contract.longest_call_s", what
    if spec.lookup is not None and not _mentions("call.key", spec.lookup.url, *spec.lookup.headers.values()):
        yield "lookup.url", "it does not say what is looked for; use {call.key} in it or in a header"
    if not _mentions("call.object_id", spec.read_back.url):
        yield "read_back.url", "it does not say which object is read; use {call.object_id} in it"


def _sends_the_key(spec: Spec, url: UrlTemplate) -> bool:
    write = spec.write
    in_texts = _mentions("call.key", *texts_of(write.body), *write.headers.values())
    return write.key_header is not None or "call.key" in url.names or in_texts


def _mentions(name: str, *texts: str) -> bool:
    return any(f"{{{name}}}" in text for text in texts)


def _taken_back(spec: Spec, others: Mapping[str, Spec]) -> Iterator[Wrong]:
    """A compensation gives every argument of its own tool, out of the effect's, where these are known."""
    given = spec.compensates
    if given is None:
        return
    other = others.get(given.tool)
    known = None if other is None else {*other.arguments, "call.object_id"}
    for name, text in given.arguments.items():
        what = wrong_template(text, known)
        if what is not None:
            yield f"compensates.arguments.{name}", what
    needed = {name for name, each in spec.arguments.items() if each.default is None}
    unknown, missing = sorted(set(given.arguments) - set(spec.arguments)), sorted(needed - set(given.arguments))
    if unknown or missing:
        what = f"name the arguments of this tool (unknown: {listed(unknown)}; missing: {listed(missing)})"
        yield "compensates.arguments", what
