"""`langgraph dev` in service mode: everybody has a token, and each of them may do one thing.

ada administers and may do everything; bob may start tickets and have them written; grace may approve; mallory belongs
to the tenant and may do nothing; olga belongs to another tenant. An issuer vouches for whom it likes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from service.tokens import new_token
from store import audit
from tests.support.dev_server import FIELDS, DevServer, RunOnServer
from tests.support.issuer import AUDIENCE, NAME, Issuer

TENANTS = {"ada": "local", "bob": "local", "grace": "local", "mallory": "local", "olga": "acme"}


class ServiceServer(DevServer):
    """As `DevServer`; what is done is done as somebody."""

    def __init__(self, folder: Path, issuer: Issuer, **environment: str) -> None:
        tokens = folder / "tokens.toml"
        oidc = {
            "REMIT_OIDC_ISSUER": NAME,
            "REMIT_OIDC_AUDIENCE": AUDIENCE,
            "REMIT_OIDC_JWKS": issuer.url,
            "REMIT_OIDC_TENANT_CLAIM": "org",
        }
        super().__init__(folder, REMIT_MODE="service", REMIT_TOKENS=str(tokens), **oidc, **environment)
        self.issuer = issuer
        made = {name: new_token(name, tenant, None) for name, tenant in TENANTS.items()}
        self.tokens = {name: token for name, (token, _) in made.items()}
        tokens.write_text("\n".join(["[tokens]", *(line for _, line in made.values()), ""]))
        for words in (("bob", "start"), ("bob", "write"), ("grace", "approve")):
            assert "error" not in self.command_line("grants", "give", *words)

    def headers(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens[name]}"}

    def ticket_of(self, name: str, **fields: str) -> RunOnServer:
        """Somebody gives a ticket's fields; the run waits for its approval."""
        run = self.thread("ticket", self.headers(name))
        run.sends(input=FIELDS | fields)
        assert run.status == "waiting/approval"
        return run

    def seen_by(self, name: str, run: RunOnServer) -> RunOnServer:
        """The same run, as somebody else deals with it."""
        return RunOnServer(self, run.run_id, run.agent_id, self.headers(name))

    def audited(self, **what: str) -> list[dict[str, Any]]:
        """Lines of the audit with these values."""
        with self.ledger() as ledger, ledger.database.read() as connection:
            lines = audit.entries(connection, ledger.tenant, 0, 10_000)
        return [each for each in lines if what.items() <= each.items()]
