"""The shapes of answers that are understood: Remit's own, LangChain's `HITLResponse`, Agent Inbox's list.

Reading an answer decides nothing; it only says which approval each part of it is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from state.approval import Approval
from state.digest import Json, canonical

MAX_ANSWER_BYTES = 64 * 1024
_INTERRUPT_ID = re.compile(r"^[0-9a-f]{32}$")
_INBOX = {"accept": "approve", "ignore": "reject", "response": "reject", "edit": "edit"}
_INBOX_AS_DECISION = {"approve": "approve", "ignore": "reject", "reject": "reject", "edit": "edit"}
_OWN_FIELDS = {"approval_id", "digest", "type", "message", "arguments"}
_HITL_FIELDS = {"type", "message", "edited_action"}


class BadAnswer(Exception):
    """Why an answer is not understood, in words for whoever sent it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to one approval. `digest` is what was seen, None where the shape has no place for it."""

    approval_id: str
    type: Literal["approve", "reject", "edit"]
    digest: str | None = None
    message: str = ""
    tool: str | None = None
    arguments: Json | None = None


def read_answers(value: Any, shown: Callable[[], Sequence[Any]], pending: Sequence[Approval]) -> list[Answer]:
    """The answers in what somebody sent. Raises BadAnswer."""
    _check_size(value)
    value = _unwrapped(value, shown)
    if isinstance(value, list):
        return [_inbox(cast(list[Any], value), _exactly_shown(shown, pending), _INBOX)]
    if not isinstance(value, dict) or set(cast(Json, value)) != {"decisions"}:
        raise BadAnswer('An answer looks like {"decisions": [{"approval_id", "digest", "type": "approve"}]}.')
    decisions = cast(Json, value)["decisions"]
    if not isinstance(decisions, list) or not decisions:
        raise BadAnswer("`decisions` must be a list of at least one decision.")
    listed = [_object(each) for each in cast(list[Any], decisions)]
    if any("approval_id" in each for each in listed):
        return [_own(each) for each in listed]
    asked = _exactly_shown(shown, pending)
    if any("args" in each for each in listed):  # as an Inbox answers that has seen a `HITLRequest`
        return [_inbox(listed, asked, _INBOX_AS_DECISION)]
    if len(listed) != len(asked):
        raise BadAnswer(f"{len(asked)} decisions are asked for, {len(listed)} were given.")
    return [_hitl(each, approval) for each, approval in zip(listed, asked, strict=True)]


def ids_alone(shown: Callable[[], Sequence[Any]]) -> Callable[[], Sequence[Any]]:
    """What is pending, without what it shows: for those who take no answer that leaves out what it is about."""
    return lambda: [{"id": _part(each, "id")} for each in shown()]


def _check_size(value: Any) -> None:
    try:
        size = len(canonical(value))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadAnswer("The answer is not plain JSON.") from error
    if size > MAX_ANSWER_BYTES:
        raise BadAnswer(f"The answer is longer than {MAX_ANSWER_BYTES} bytes.")


def _unwrapped(value: Any, shown: Callable[[], Sequence[Any]]) -> Any:
    """A map keyed by the pending interrupt's id is opened; a map keyed by any other id is stale."""
    if not isinstance(value, dict) or not value:
        return cast(Any, value)
    answers = cast(Json, value)
    if not all(_INTERRUPT_ID.match(str(key)) for key in answers):
        return answers
    ids = {_part(each, "id") for each in shown()}
    if len(answers) != 1 or not set(answers) <= ids:
        raise BadAnswer("The answer is for a question that is not open any more.")
    return next(iter(answers.values()))


def _exactly_shown(shown: Callable[[], Sequence[Any]], pending: Sequence[Approval]) -> list[Approval]:
    """The pending approvals, in the order in which they were shown, if that is exactly what was shown."""
    asked = [
        (str(each.get("id")), str(each.get("digest")))
        for interrupt in shown()
        for each in cast(list[Json], _object(_part(interrupt, "value") or {}).get("approvals") or [])
    ]
    by_id = {(each.approval_id, each.digest): each for each in pending}
    if not asked or set(asked) != set(by_id):
        raise BadAnswer("The answer names no approval, and what was shown is not what is asked now: look again.")
    return [by_id[key] for key in asked]


def _part(interrupt: Any, name: str) -> Any:
    if isinstance(interrupt, Mapping):
        return cast(Mapping[str, Any], interrupt).get(name)
    return getattr(interrupt, name, None)


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise BadAnswer("Every decision must be an object.")
    return cast(Json, value)


def _own(given: Json) -> Answer:
    unknown = set(given) - _OWN_FIELDS
    if unknown:
        raise BadAnswer(f"A decision has no field {', '.join(sorted(unknown))}; who decides is not for it to say.")
    approval_id, digest = given.get("approval_id"), given.get("digest")
    if not isinstance(approval_id, str) or not isinstance(digest, str):
        raise BadAnswer("Every decision needs `approval_id` and the `digest` that was seen.")
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in {"approve", "reject", "edit"}:
        raise BadAnswer("`type` is approve, reject or edit.")
    return Answer(
        approval_id=approval_id,
        type=cast(Any, kind),
        digest=digest,
        message=_message(given.get("message", "")),
        arguments=_edited(given.get("arguments"), kind),
    )


def _hitl(given: Json, approval: Approval) -> Answer:
    unknown = set(given) - _HITL_FIELDS
    if unknown:
        raise BadAnswer(f"A decision has no field {', '.join(sorted(unknown))}; who decides is not for it to say.")
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in {"approve", "reject", "edit"}:
        raise BadAnswer("`type` is approve, reject or edit.")
    message = _message(given.get("message", ""))
    if kind != "edit":
        if "edited_action" in given:
            raise BadAnswer("Only an edit carries an `edited_action`: is this an approval or an edit?")
        return Answer(approval.approval_id, cast(Any, kind), message=message)
    tool, arguments = _action(given.get("edited_action"), "name")
    return Answer(approval.approval_id, "edit", message=message, tool=tool, arguments=arguments)


def _inbox(given: Sequence[Any], asked: list[Approval], kinds: Mapping[str, str]) -> Answer:
    """An Inbox answer decides the first question shown; the others are asked again."""
    first = _object(given[0]) if len(given) == 1 else {}
    kind, args = first.get("type"), first.get("args")
    if not isinstance(kind, str) or kind not in kinds or set(first) - {"type", "args"}:
        raise BadAnswer('An Inbox answer looks like [{"type": "accept", "args": null}].')
    approval, answer = asked[0], kinds[kind]
    if answer == "edit":
        tool, arguments = _action(args, "action")
        return Answer(approval.approval_id, "edit", tool=tool, arguments=arguments)
    if answer == "approve":
        # It sends along what it showed. A yes to anything else is none.
        if args is not None and canonical(args) != canonical({"action": approval.tool, "args": approval.arguments}):
            raise BadAnswer("What was accepted is not what is asked: look again.")
        return Answer(approval.approval_id, "approve")
    return Answer(approval.approval_id, "reject", message="" if args is None else _message(args))


def _action(given: Any, name: str) -> tuple[str, Json]:
    """Tool and arguments of an edited action, whose tool is under this name."""
    if not isinstance(given, dict) or set(cast(Json, given)) != {name, "args"}:
        raise BadAnswer(f"An edit needs the edited action, with `{name}` and `args`.")
    action = cast(Json, given)
    tool, arguments = action[name], action["args"]
    if not isinstance(tool, str) or not isinstance(arguments, dict):
        raise BadAnswer(f"`{name}` of an edited action is text, and `args` is an object.")
    return tool, cast(Json, arguments)


def _message(value: Any) -> str:
    if not isinstance(value, str):
        raise BadAnswer("`message` must be text.")
    return value[:4000]


def _edited(arguments: Any, kind: str) -> Json | None:
    if kind != "edit":
        if arguments is not None:
            raise BadAnswer("Only an edit carries arguments.")
        return None
    if not isinstance(arguments, dict):
        raise BadAnswer("An edit needs the edited arguments as an object.")
    return cast(Json, arguments)
