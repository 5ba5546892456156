"""Standing rules: a person's yes, given once for all uses of a tool within bounds, until a date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, func, select, update

from state.clock import iso
from state.digest import Json
from store.database import Connection, Row, Statement, decode, encode, inserting, param
from store.tables import standing_rules

_INSERT = inserting(standing_rules, or_ignore=True)
_NAMED = and_(standing_rules.c.tenant_id == param("tenant"), standing_rules.c.name == param("name"))
_LAST = Statement(select(func.coalesce(func.max(standing_rules.c.version), 0).label("version")).where(_NAMED))
_GET = Statement(select(standing_rules).where(_NAMED, standing_rules.c.version == param("version")))
_LIST = Statement(
    select(standing_rules)
    .where(standing_rules.c.tenant_id == param("tenant"))
    .order_by(standing_rules.c.name, standing_rules.c.version)
)
_FOR_TOOL = Statement(
    select(standing_rules)
    .where(
        standing_rules.c.tenant_id == param("tenant"),
        standing_rules.c.tool == param("tool"),
        standing_rules.c.until > param("now"),
        standing_rules.c.ended_at.is_(None),
    )
    .order_by(standing_rules.c.name)
)
_END = Statement(
    update(standing_rules)
    .where(_NAMED, standing_rules.c.ended_at.is_(None))
    .values(ended_at=param("now"), ended_by=param("by"))
)


@dataclass(frozen=True, slots=True)
class StandingRule:
    """Times are milliseconds since 1970 UTC. `bounds` are read by `tools/approving.py`."""

    name: str
    version: int
    tool: str
    bounds: Json
    why: str
    maker: str
    made_at: int
    until: int
    ended_at: int | None = None
    ended_by: str | None = None

    @property
    def approver(self) -> str:
        """How a decision by this rule names it."""
        return f"rule:{self.name}@{self.version}"

    def in_force(self, now: int) -> bool:
        return self.ended_at is None and now < self.until

    def shown(self) -> Json:
        """As lists and the audit show it; times in ISO."""
        return {
            **{each: getattr(self, each) for each in ("name", "version", "tool", "bounds", "why", "maker")},
            **{each: iso(getattr(self, each)) for each in ("made_at", "until", "ended_at")},
            "ended_by": self.ended_by,
        }


def make(connection: Connection, tenant: str, rule: StandingRule) -> StandingRule:
    """Write a rule down, in place of the one of its name that is in force; answers it with its version."""
    named = {"tenant": tenant, "name": rule.name}
    connection.execute(_END, {**named, "now": rule.made_at, "by": rule.maker})
    last = connection.one(_LAST, named)
    version = 1 if last is None else last["version"] + 1
    row = {each: getattr(rule, each) for each in ("name", "tool", "why", "maker", "made_at", "until")}
    more = {"bounds": encode(rule.bounds), "version": version, "ended_at": None, "ended_by": None}
    connection.execute(_INSERT, {"tenant_id": tenant, **row, **more})
    made = get(connection, tenant, rule.name, version)
    assert made is not None
    return made


def end(connection: Connection, tenant: str, name: str, now: int, by: str) -> bool:
    """From now on the rule approves nothing, nor does what it has approved happen. False if none is in force."""
    return connection.execute(_END, {"tenant": tenant, "name": name, "now": now, "by": by}) == 1


def get(connection: Connection, tenant: str, name: str, version: int) -> StandingRule | None:
    row = connection.one(_GET, {"tenant": tenant, "name": name, "version": version})
    return None if row is None else _rule_of(row)


def for_tool(connection: Connection, tenant: str, tool: str, now: int) -> list[StandingRule]:
    """Those in force, by name."""
    return [_rule_of(row) for row in connection.all(_FOR_TOOL, {"tenant": tenant, "tool": tool, "now": now})]


def everyone(connection: Connection, tenant: str) -> Sequence[StandingRule]:
    """All there ever were, by name and version."""
    return [_rule_of(row) for row in connection.all(_LIST, {"tenant": tenant})]


def _rule_of(row: Row) -> StandingRule:
    names = ("name", "version", "tool", "why", "maker", "made_at", "until", "ended_at", "ended_by")
    return StandingRule(**{name: row[name] for name in names}, bounds=decode(row["bounds"]))
