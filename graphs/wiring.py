"""From the environment to Parts: the only place that reads the environment, and the one that puts things together."""

from __future__ import annotations

import functools
import getpass
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from graphs.configured import configured_notifications, configured_tools, in_place, with_configured
from graphs.modes import ServiceSettings, service_settings, tenant_of
from nodes.accept import Accept
from nodes.agent import Agent, Agents
from nodes.answers import Answers
from nodes.budgets import Budgets
from nodes.controls import Controls
from nodes.driver import Driving
from nodes.identity import Identity
from nodes.judge import Judge
from nodes.migrations import StateVersions
from nodes.owner import Owner
from nodes.rule_making import RuleMaking
from nodes.settlements import Settlements
from nodes.stopping import Stopping
from state.actor import PERMITTED, Actor
from state.clock import Clock, SystemClock
from store import audit, permissions
from store.business import BusinessStore
from store.database import Database
from store.ledger import REMIT, Ledger
from store.outbox import Outbox
from tools.business_objects import CreateNote, CreateTicket, WithdrawTicket
from tools.cedar import load
from tools.contract import Tool, WriteTool
from tools.materials import ReadNotice, ReadRecord
from tools.policy import CedarPolicy, Policy
from tools.registry import Registry

if TYPE_CHECKING:
    from tools.notify_config import Notifications

WRITES = ("write:ticket", "write:note", "write:withdrawal")


@dataclass(frozen=True, slots=True)
class Settings:
    """Where data lives and who the local user is. `materials_root` confines the files of runs; None allows any.

    `tools_file` declares tools by configuration (tools/http_action.py), `notify_file` who is told what
    (tools/notify_config.py), `signing_key` the secret that signs (service/signing.py). `service` is None in local mode.
    """

    data_dir: Path
    user: str
    materials_root: Path | None = None
    tools_file: Path | None = None
    policy: str = "local"
    tenant: str = "local"
    service: ServiceSettings | None = None
    notify_file: Path | None = None
    signing_key: str | None = None

    @property
    def ledger_path(self) -> Path:
        return self.data_dir / "ledger.sqlite"

    @property
    def business_path(self) -> Path:
        return self.data_dir / "business.sqlite"

    @property
    def checkpoints_path(self) -> Path:
        return self.data_dir / "checkpoints.sqlite"

    @property
    def answers_without_ids(self) -> bool:
        """May an answer leave out which approval it is about, where its thread shows exactly what is asked?"""
        return self.service is None or self.service.answers_without_ids


def data_dir_from_environment() -> Path:
    """`REMIT_DATA_DIR`, by default `.remit` in the working folder; absolute."""
    return Path(os.path.abspath(os.environ.get("REMIT_DATA_DIR") or ".remit"))


def environment() -> Mapping[str, str]:
    """For those who look up secrets: the environment as it is whenever they look."""
    return os.environ


def settings_from_environment() -> Settings:
    """`REMIT_DATA_DIR` (default `.remit`), `REMIT_USER` (default: the OS user), `REMIT_MATERIALS_ROOT` (default: none),
    `REMIT_TOOLS`, `REMIT_NOTIFY` (default: none), `REMIT_TENANT`, `REMIT_MODE` and what belongs to a mode
    (graphs/modes.py), `REMIT_POLICY` (tools/cedar.py; default: the shipped set of the mode), `REMIT_SIGNING_KEY`
    (default: a file of the data directory).

    Sets `LANGGRAPH_STRICT_MSGPACK` unless it is set, so that checkpoints hold plain values only. Raises InputInvalid.
    """
    os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
    root, tools = os.environ.get("REMIT_MATERIALS_ROOT"), os.environ.get("REMIT_TOOLS")
    notify, service = os.environ.get("REMIT_NOTIFY"), service_settings(os.environ)
    return Settings(
        data_dir=data_dir_from_environment(),
        user=os.environ.get("REMIT_USER") or _os_user(),
        materials_root=Path(root) if root else None,
        tools_file=Path(os.path.abspath(tools)) if tools else None,
        notify_file=Path(os.path.abspath(notify)) if notify else None,
        tenant=tenant_of(os.environ),
        service=service,
        policy=os.environ.get("REMIT_POLICY") or ("local" if service is None else "service"),
        signing_key=os.environ.get("REMIT_SIGNING_KEY") or None,
    )


def _os_user() -> str:
    """The user's name; a user without one (as containers have) is named by number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that nodes, engines and the command line need; one per process."""

    settings: Settings
    clock: Clock
    ledger: Ledger
    business: BusinessStore
    reader: BusinessStore
    policy: Policy
    agents: Agents
    judge: Judge
    identity: Identity
    accept: Accept
    answers: Answers
    controls: Controls
    settlements: Settlements
    budgets: Budgets
    rules: RuleMaking
    stopping: Stopping
    owner: Owner
    configured: Sequence[WriteTool] = ()
    notifications: Notifications | None = None
    drivings: list[Driving] = field(default_factory=list[Driving])

    def driving(self, engine: str) -> Driving:
        """A driver of this process for one engine."""
        made = Driving(self.ledger, self.owner, engine)
        self.drivings.append(made)
        return made

    def close(self) -> None:
        """Stop the keepers, let go of the owner's lock, close the databases."""
        for each in self.drivings:
            each.close()
        self.owner.close()
        self.ledger.database.close()
        self.business.database.close()
        self.reader.database.close()


@dataclass(frozen=True, slots=True)
class Outside:
    """What may be put in place of the ordinary parts: a clock, databases, a policy, agents and tools of one's own.

    `secrets` is where configured tools and webhooks look up the values of `secret://NAME`, `versions` the steps from
    older state versions (nodes/migrations.py).
    """

    clock: Clock = field(default_factory=SystemClock)
    ledger_database: Callable[[Path], Database] = Ledger.database_at
    business_database: Callable[[Path], Database] = BusinessStore.database_at
    business: type[BusinessStore] = BusinessStore
    reader: type[BusinessStore] = BusinessStore
    policy: Policy | None = None
    tools: Callable[[BusinessStore, BusinessStore], Iterable[Tool]] | None = None
    agents: Callable[[Settings], Iterable[Agent]] | None = None
    versions: StateVersions = field(default_factory=StateVersions)
    secrets: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


ORDINARY = Outside()


def shipped_tools(business: BusinessStore, reader: BusinessStore) -> list[Tool]:
    """Every tool that comes with Remit."""
    writes = [kind(business, reader) for kind in (CreateTicket, CreateNote, WithdrawTicket)]
    return [ReadNotice(), ReadRecord(), *writes]


def shipped_agents(settings: Settings) -> list[Agent]:
    """Every agent that comes with Remit; one file each."""
    from graphs import catalog_check, ticket

    return [catalog_check.agent(settings), ticket.agent()]


def compensation(ledger: Ledger, registry: Registry) -> list[Agent]:
    """The agent that takes effects back, where there is a tool that can."""
    from graphs import compensation as module

    return [module.agent(ledger, registry)] if registry.compensating() else []


def open_parts(settings: Settings, outside: Outside = ORDINARY) -> Parts:
    """Open both databases and wire everything. Raises the errors of `Database`, and InputInvalid for wrong wiring."""
    told = configured_notifications(settings.notify_file, outside.secrets)
    outbox = None if told is None else Outbox(told.routes)
    ledger = Ledger(outside.ledger_database(settings.ledger_path), outside.clock, settings.tenant, outbox)
    business = outside.business(outside.business_database(settings.business_path), outside.clock, settings.tenant)
    reader = outside.reader(BusinessStore.database_at(settings.business_path), outside.clock, settings.tenant)
    configured = configured_tools(settings.tools_file, business, outside.secrets, outside.clock)
    registry = Registry(in_place((outside.tools or shipped_tools)(business, reader), configured, settings.tools_file))
    known = with_configured((outside.agents or shipped_agents)(settings), configured)
    agents = Agents([*known, *compensation(ledger, registry)], registry, outside.versions)
    local = Actor(settings.user, ledger.tenant, "local")
    _welcome(ledger, business, local, [*WRITES, *[f"write:{tool.name}" for tool in configured]])
    judge = Judge(ledger, agents)
    policy = outside.policy or CedarPolicy(load(settings.policy))
    return Parts(
        settings=settings,
        clock=outside.clock,
        ledger=ledger,
        business=business,
        reader=reader,
        policy=policy,
        agents=agents,
        judge=judge,
        identity=Identity(local, strict=settings.service is not None),
        accept=Accept(ledger, agents, policy),
        answers=Answers(ledger, agents, judge, policy),
        controls=Controls(ledger, agents, policy),
        settlements=Settlements(ledger, policy),
        budgets=Budgets(ledger, policy),
        rules=RuleMaking(ledger, agents, policy),
        stopping=Stopping(ledger, agents, policy),
        owner=Owner(settings.data_dir / "owners"),
        configured=configured,
        notifications=told,
    )


def _welcome(ledger: Ledger, business: BusinessStore, local: Actor, writes: Sequence[str]) -> None:
    """The first opening of an empty data directory gives its user every right there is; on the record.

    First is whoever finds the audit empty, so that a first opening that broke off is made up for by the next one.
    """
    with ledger.database.read() as connection:
        if audit.entries(connection, ledger.tenant, 0, 1):
            return
    with ledger.database.write() as connection:
        if audit.entries(connection, ledger.tenant, 0, 1):
            return  # another process was first
        now = ledger.clock.now()
        for action in PERMITTED:
            permissions.give(connection, ledger.tenant, now, REMIT.subject, local.subject, action, "*")
        for action in writes:
            business.give(REMIT.subject, local.subject, action)
        for action in (*PERMITTED, *writes):
            audit.append(
                connection,
                ledger.tenant,
                now,
                REMIT,
                "grant.give",
                f"subject:{local.subject}",
                "given",
                rule="first opening of an empty data directory",
                detail={"action": action, "resource": "*"},
            )


_opening = threading.Lock()


def parts() -> Parts:
    """The parts of this process, from the environment, opened when first needed; once, however many threads ask."""
    with _opening:
        return _parts()


@functools.cache
def _parts() -> Parts:
    return open_parts(settings_from_environment())
