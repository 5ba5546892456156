"""Who may do what; given and revoked on the record.

In local mode only one subject may do that: the one whom the first opening of the data directory made its user, as the
audit says. The audit is append-only, so nobody can take that place later, and no revocation loses it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphs.wiring import Parts
from service.sight import Sight, user_of_the_data
from state.actor import ROLES, Actor, is_a_subject
from state.digest import Json
from state.errors import InputInvalid, NotAllowed
from store import audit, permissions
from store.database import Connection

# What the command line calls an action, and the rows that it stands for.
ACTIONS: dict[str, tuple[str, ...]] = {
    "start": ("start",),
    "approve": ("approve",),
    "settle": ("settle",),
    "budget": ("budget",),
    "prune": ("prune",),
    "rule": ("rule",),
    "control": ("control",),
    "see": ("see",),
    "evidence": ("evidence",),
    "audit": ("audit",),
    "stop": ("stop",),
    "write": ("write:ticket", "write:note"),
    "write:ticket": ("write:ticket",),
    "write:note": ("write:note",),
    "write:withdrawal": ("write:withdrawal",),
}
OF_AGENTS = frozenset({"start", "budget", "control", "see", "evidence"})
_ROLE = re.compile(r"^[a-z][a-z0-9_-]{0,62}$")


def _with_configured(writes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The actions there are: `write:NAME` of every configured tool too, and `write` means all of them."""
    return {**ACTIONS, "write": (*ACTIONS["write"], *writes), **{each: (each,) for each in writes}}


class Grants:
    """Grants to write are rows of the business store, all other permissions are rows of the ledger."""

    def __init__(self, parts: Parts, actor: Actor) -> None:
        self._parts = parts
        self._actor = actor
        self._ledger = parts.ledger
        self._actions = _with_configured([f"write:{tool.name}" for tool in parts.configured])

    def all(self) -> list[Json]:
        """The rows that are in force now: the actor's own, or all for `Sight.knows_people`."""
        with self._ledger.database.read() as connection:
            held = permissions.permission_rows(connection, self._ledger.tenant)
        rows = held + self._parts.business.grants()
        return sorted(self._shown(rows), key=lambda row: (row["subject"], row["action"], row["resource"]))

    def _shown(self, rows: list[Json]) -> list[Json]:
        every = Sight(self._parts, self._actor).knows_people()
        return [each for each in rows if every or each["subject"] == self._actor.subject]

    def give(self, subject: str, action: str, resource: str) -> list[Json]:
        """Rows with `changed`: false where one was there. Raises InputInvalid, AgentNotFound, NotAllowed."""
        self._check(subject, action, resource)
        if action in OF_AGENTS and resource != "*":
            self._parts.agents.get(resource)
        return self._change("grant.give", subject, action, resource)

    def revoke(self, subject: str, action: str, resource: str) -> list[Json]:
        """Rows with `changed`: false where there was none. It takes effect at the next check."""
        self._check(subject, action, resource)
        return self._change("grant.revoke", subject, action, resource)

    def _check(self, subject: str, action: str, resource: str) -> None:
        if action not in self._actions:
            raise InputInvalid(f"There is no action {action!r}; there are {', '.join(self._actions)}.")
        if not is_a_subject(subject) or not resource.strip():
            raise InputInvalid("Name a subject and a resource; the resource * means all.")

    def _change(self, change: str, subject: str, action: str, resource: str) -> list[Json]:
        self._must_be_the_user(change, subject, {"action": action, "resource": resource})
        return [self._change_row(change, subject, row, resource) for row in self._actions[action]]

    def _must_be_the_user(self, change: str, subject: str, detail: Json) -> None:
        user = user_of_the_data(self._ledger)
        if user != self._actor.subject:
            self._append(change, subject, "denied", detail)
            raise NotAllowed(
                f"{self._actor.subject} may not change grants here; only {user or 'nobody'} may, for whom this data"
                " directory was first opened."
            )

    # --- roles ----------------------------------------------------------------------------------------------

    def members(self) -> list[Json]:
        """Each with `subject, role, granted_by, granted_at`; the actor's own, or all for `Sight.knows_people`."""
        with self._ledger.database.read() as connection:
            return self._shown(permissions.members(connection, self._ledger.tenant))

    def join(self, subject: str, role: str) -> bool:
        """Give a role; False if the subject had it. Raises InputInvalid, NotAllowed."""
        return self._change_role("role.give", subject, role)

    def leave(self, subject: str, role: str) -> bool:
        """Take a role away; False if the subject did not have it. It takes effect at the next check."""
        return self._change_role("role.take", subject, role)

    def _change_role(self, change: str, subject: str, role: str) -> bool:
        if not is_a_subject(subject) or not _ROLE.match(role):
            raise InputInvalid(f"Name a subject and a role (lower-case letters, digits, '-'): {', '.join(ROLES)}.")
        self._must_be_the_user(change, subject, {"role": role})
        ledger = self._ledger
        with ledger.database.write() as connection:
            now, by = ledger.clock.now(), self._actor.subject
            if change == "role.give":
                changed = permissions.join(connection, ledger.tenant, now, by, subject, role)
            else:
                changed = permissions.leave(connection, ledger.tenant, subject, role)
            result = "changed" if changed else "unchanged"
            object_, detail = f"subject:{subject}", {"role": role}
            audit.append(connection, ledger.tenant, now, self._actor, change, object_, result, detail=detail)
        return changed

    # --- rows -----------------------------------------------------------------------------------------------

    def _change_row(self, change: str, subject: str, action: str, resource: str) -> Json:
        """Row and audit entry in one transaction of the ledger.

        A row of the business store is committed by itself: `begun` is in the audit before, what came of it after.
        """
        detail = {"action": action, "resource": resource}
        at_target = action.startswith("write:")
        if at_target:
            self._append(change, subject, "begun", detail)
        ledger = self._ledger
        with ledger.database.write() as connection:
            row = (subject, action, resource)
            changed = self._at_target(change, *row) if at_target else self._here(connection, change, *row)
            done = {"grant.give": "given", "grant.revoke": "revoked"}[change]
            result = done if changed else "unchanged"
            now, object_ = ledger.clock.now(), f"subject:{subject}"
            audit.append(connection, ledger.tenant, now, self._actor, change, object_, result, detail=detail)
        return {"subject": subject, **detail, "changed": changed}

    def _at_target(self, change: str, subject: str, action: str, resource: str) -> bool:
        business = self._parts.business
        if change == "grant.give":
            return business.give(self._actor.subject, subject, action, resource)
        return business.revoke(subject, action, resource)

    def _here(self, connection: Connection, change: str, subject: str, action: str, resource: str) -> bool:
        tenant, now, by = self._ledger.tenant, self._ledger.clock.now(), self._actor.subject
        if change == "grant.give":
            return permissions.give(connection, tenant, now, by, subject, action, resource)
        return permissions.revoke(connection, tenant, subject, action, resource)

    def _append(self, change: str, subject: str, result: str, detail: Json) -> None:
        ledger = self._ledger
        with ledger.database.write() as connection:
            audit.append(
                connection,
                ledger.tenant,
                ledger.clock.now(),
                self._actor,
                change,
                f"subject:{subject}",
                result,
                detail=detail,
            )
