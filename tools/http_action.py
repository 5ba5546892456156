"""A write to a REST service that is declared by configuration: a `WriteTool` without code of its own.

What is known of a failed call is judged where the bytes leave (tools/http_line.py). Only a failure before the first
byte, or a status with which the configuration says the target vouches for it, means that nothing was done. Everything
else is an unknown outcome: it is looked up under the same key.

A foreign service does not know Remit's digest. A looked-up object stands for an operation only if every mapped field
equals the argument; else it may still be ours, changed meanwhile, and a person has to say.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, cast
from urllib.parse import quote

from state.clock import Clock, Permit
from state.digest import Json
from state.errors import ToolError
from store.business import BusinessStore
from tools import http_answers as answers
from tools.contract import Arguments, Call, Receipt, WriteTool, business_key
from tools.http_config import Looking, Lookup, VersionRequest
from tools.http_line import Lost, NotSent, Reply, Request
from tools.http_plan import Asking, Plan, plans
from tools.http_templates import Template, Values, filled
from tools.secrets import Secrets, hide

_KEY_SAFE = "/:@+,;=()'!*~"  # what a key keeps in a header; the rest is percent-encoded, so that keys stay different


def http_actions(path: Path, store: BusinessStore, secrets: Secrets, clock: Clock) -> list[HttpAction]:
    """The tools that a file declares. Raises InputInvalid, which names file, tool and field, and how to mend it."""
    return [_made(plan, store, secrets, clock) for plan in plans(path)]


def _made(plan: Plan, store: BusinessStore, secrets: Secrets, clock: Clock) -> HttpAction:
    spec, contract = plan.spec, plan.spec.contract
    declared: dict[str, Any] = {
        "__doc__": spec.description,
        "name": spec.name,
        "version": plan.version,
        "description": spec.description,
        "arguments": plan.arguments,
        "needs_approval": spec.needs_approval,
        "compensates": None if spec.compensates is None else spec.compensates.tool,
        **contract.model_dump(),
        "lookups": contract.lookups if plan.look is not None else int(contract.dedups_by_key),
    }
    return cast(type[HttpAction], type(f"HttpAction_{spec.name}", (HttpAction,), declared))(plan, store, secrets, clock)


class HttpAction(WriteTool):
    """One configured write. Its subclasses hold what the file declares; see `http_actions`."""

    name: ClassVar[str]
    version: ClassVar[str]
    description: ClassVar[str]
    arguments: ClassVar[type[Arguments]]
    cancellable = "yes"  # the line is cut from another thread

    def __init__(self, plan: Plan, store: BusinessStore, secrets: Secrets, clock: Clock) -> None:
        self._plan = plan
        self._store = store
        self._secrets = secrets
        self._clock = clock

    # --- who it is to the world -----------------------------------------------------------------------------

    def operation_key(self, arguments: Json) -> str | None:
        declared = self._plan.spec.operation_key
        if declared is None:
            return None
        return business_key(declared.kind, *[self._key_part(part, arguments) for part in declared.parts])

    def _key_part(self, part: str, arguments: Json) -> str:
        """A later alternative that could be taken for the first one is marked, so that keys stay different."""
        template = Template.parse(part)
        filled_in = template.fill(arguments)
        names = template.pieces[0] if len(template.pieces) == 1 else ""
        if isinstance(names, tuple) and len(names) > 1 and not arguments.get(names[0]):
            pattern = self._plan.spec.arguments[names[0]].pattern
            if pattern is None or re.search(pattern, filled_in):
                return f"named {filled_in}"
        return filled_in

    def resource(self, arguments: Json) -> str | None:
        declared = self._plan.spec.resource
        name = Template.parse(declared.id).fill(arguments) if declared is not None else ""
        return f"{declared.kind}:{name}" if declared is not None and name else None

    def resource_version(self, resource: str) -> int | None:
        """Raises ToolError `transient` where the target cannot say it now."""
        asking = self._plan.resource_version
        if asking is None:
            return None
        means = cast(VersionRequest, asking.means)
        found = self._ask(asking, {"call.resource_id": resource.partition(":")[2]}, [])
        if found is None:
            return 0
        try:
            return answers.version(found, means.version)
        except answers.Unreadable as error:
            raise ToolError("transient", f"{self._at}: {error}.") from None

    def permitted(self, principal: str, resource: str | None) -> str | None:
        return self._store.may(principal, f"write:{self.name}", resource)

    def preview(self, arguments: Json) -> Json:
        declared = self._plan.spec.preview
        summary = Template.parse(declared.summary).fill(arguments) if declared.summary else self.description
        rows = [
            {name: Template.parse(text).fill(arguments) for name, text in row.model_dump().items()}
            for row in declared.difference
        ] or [{"field": name, "recorded": "", "observed": str(value)} for name, value in arguments.items()]
        return {"summary": f"{summary} (at {self._plan.base_url})", "difference": rows}

    def compensation(self, arguments: Json, object_id: str) -> Json:
        declared = self._plan.spec.compensates
        if declared is None:
            return super().compensation(arguments, object_id)
        values = {**arguments, "call.object_id": object_id}
        return {name: Template.parse(text).value(values) for name, text in declared.arguments.items()}

    # --- act ------------------------------------------------------------------------------------------------

    def act(self, call: Call) -> Receipt:
        values, revealed = self._values(call), list[str]()
        request = self._write(values, revealed)
        try:
            reply = self._plan.line.exchange(request, lambda: self._closed(call), lambda: call.token.tripped)
        except NotSent as error:
            raise ToolError("transient", f"Nothing was sent to {self._at}: {hide(str(error), revealed)}.") from None
        except Lost as error:
            said = f"The request to {self._at} may have arrived: {hide(str(error), revealed)}."
            raise ToolError("unknown_outcome", said) from None
        return Receipt(self._made_id(values, reply, revealed), call.digest)

    def _closed(self, call: Call) -> str | None:
        """A request leaves in the first half of its permit, and has the other half to be at work in the target: when
        the permit is over, so is the request, and "not found" may prove something.
        """
        if call.permit is None:
            return None
        half = int(self.longest_call_s * 500)
        begun_by = Permit(call.permit.until - half, call.permit.until_monotonic - half)
        return "the permit of this call has run out" if begun_by.is_over(self._clock) else None

    def _made_id(self, values: Values, reply: Reply, revealed: list[str]) -> str:
        """A success is the answer to exactly this request, so something is there, whatever its fields say: these are
        compared where it is read back.
        """
        write = self._plan.spec.write
        if reply.status not in write.success:
            raise self._unsuccessful(reply, revealed)
        try:
            if write.object_id is None:
                return Template.parse(write.object_id_is or "").fill(values)
            return answers.object_id(answers.content(reply), write.object_id, lambda text: hide(text, revealed))
        except answers.Unreadable as error:
            said = f"{self._at} answered {reply.status}, but {hide(str(error), revealed)}."
            raise ToolError("unknown_outcome", said) from None

    def _unsuccessful(self, reply: Reply, revealed: list[str]) -> ToolError:
        write = self._plan.spec.write
        said = f"{self._at} answered {answers.said(reply, lambda text: hide(text, revealed))}"
        if reply.status in write.retryable:
            retry = answers.retry_after_s(reply.headers, self._clock)
            return ToolError("rate_limited" if reply.status == 429 else "transient", said, retry_after_s=retry)
        if reply.status in write.refused:
            return ToolError("refused_by_target", said)
        if reply.status in write.key_conflict:
            return ToolError("key_conflict", said)
        if reply.status in write.resource_changed:
            return ToolError("resource_changed", said)
        return ToolError("unknown_outcome", said)

    # --- look -----------------------------------------------------------------------------------------------

    def lookup(self, call: Call) -> Receipt | None:
        asking = self._plan.look
        if asking is None:
            return None
        means, revealed = cast(Lookup, asking.means), list[str]()
        item = self._ask(asking, self._values(call), revealed)
        if item is None:
            return None
        try:
            object_id = answers.object_id(item, means.object_id, lambda text: hide(text, revealed))
        except answers.Unreadable as error:
            raise ToolError("transient", f"{self._at}: {error}.") from None
        paths = self._all_paths(means)
        differing = answers.differing(answers.mapped(item, paths), call.arguments, paths)
        if differing:
            said = f"{object_id} stands under the key {call.key!r}, but differs in {', '.join(differing)}"
            raise ToolError("unknown_outcome", f"{said}: it may be ours, changed meanwhile; a person has to look.")
        return Receipt(object_id, call.digest)

    def read_back(self, object_id: str) -> Json | None:
        asking = self._plan.read
        item = self._ask(asking, {"call.object_id": object_id}, [])
        return None if item is None else answers.mapped(item, self._all_paths(cast(Looking, asking.means)))

    def _all_paths(self, means: Looking) -> Mapping[str, str]:
        """Where each argument is found in an object: under its own name, unless the file says otherwise."""
        return {name: means.fields.get(name, name) for name in self._plan.spec.arguments}

    def _ask(self, asking: Asking, values: Values, revealed: list[str]) -> Json | None:
        """The object that a GET describes, None where the target says that there is none. Raises ToolError `transient`.

        No token ends it: after a cancel it is what tells the truth. Its own time is bounded.
        """
        means = asking.means
        request = Request("GET", asking.url.fill(values), self._revealed(asking.headers, values, revealed))
        try:
            reply = self._plan.line.exchange(request, _never, _never)
            if reply.status in means.absent:
                return None
            if reply.status not in means.found:
                said = answers.said(reply, lambda text: hide(text, revealed))
                raise ToolError("transient", f"{self._at} answered {said}")
            return answers.only_item(answers.content(reply), means.items if isinstance(means, Looking) else None)
        except (NotSent, Lost, answers.Unreadable) as error:
            raise ToolError("transient", f"{self._at} cannot be asked: {hide(str(error), revealed)}.") from None

    # --- requests -------------------------------------------------------------------------------------------

    @property
    def _at(self) -> str:
        return self._plan.base_url

    def _values(self, call: Call) -> Values:
        return {
            **call.arguments,
            "call.key": self._sent_key(call.key),
            "call.principal": call.principal,
            "call.resource_id": (call.resource or "").partition(":")[2],
            "call.resource_version": call.resource_version,
        }

    def _sent_key(self, key: str) -> str:
        """The key as the target sees it, everywhere the same."""
        if self._plan.spec.write.key_form == "sha256":
            return hashlib.sha256(key.encode()).hexdigest()
        return quote(key, safe=_KEY_SAFE)

    def _write(self, values: Values, revealed: list[str]) -> Request:
        write = self._plan.spec.write
        headers = self._revealed(self._plan.headers, values, revealed)
        if write.key_header is not None:
            headers[write.key_header] = values["call.key"]
        body = write.body
        if body is None and write.method != "DELETE":
            body = {name: f"{{{name}}}" for name in self._plan.spec.arguments}
        if body is None:
            return Request(write.method, self._plan.url.fill(values), headers)
        sent = json.dumps(filled(body, values), ensure_ascii=False, allow_nan=False).encode()
        headers["Content-Type"] = "application/json"
        return Request(write.method, self._plan.url.fill(values), headers, sent)

    def _revealed(self, headers: Mapping[str, Template], values: Values, revealed: list[str]) -> dict[str, str]:
        """Header values; what is put in is percent-encoded, so that it can neither end a header nor name a secret."""
        return {
            name: self._secrets.reveal(template.fill(values, lambda text: quote(text, safe="")), revealed)
            for name, template in headers.items()
        }


def _never() -> str | None:
    return None
