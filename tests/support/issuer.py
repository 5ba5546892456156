"""An OpenID Connect issuer: real keys, real signatures, and a real HTTP server on loopback that publishes the keys."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

NAME, AUDIENCE = "https://id.example", "remit"


def key_of(kind: str) -> Any:
    if kind.startswith(("RS", "PS")):
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ed25519.Ed25519PrivateKey.generate() if kind == "EdDSA" else ec.generate_private_key(ec.SECP256R1())


def public(key: Any, **more: str) -> dict[str, Any]:
    """The key as issuers publish it."""
    kinds = ((rsa.RSAPrivateKey, RSAAlgorithm), (ed25519.Ed25519PrivateKey, OKPAlgorithm))
    form: Any = next((form for kind, form in kinds if isinstance(key, kind)), ECAlgorithm)
    return {**form.to_jwk(key.public_key(), as_dict=True), **more}


class Issuer:
    """Publishes the keys that it has; `asked` counts how often somebody read them."""

    def __init__(self, alg: str = "ES256") -> None:
        self.alg = alg
        self.keys: dict[str, Any] = {"first": key_of(alg)}
        self.asked = 0
        self.answers = True
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/jwks.json"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def rotates(self, kid: str) -> None:
        """From now on another key signs, and the ones before are taken back."""
        self.keys = {kid: key_of(self.alg)}

    def published(self) -> bytes:
        keys = [public(key, kid=kid, alg=self.alg, use="sig") for kid, key in self.keys.items()]
        return json.dumps({"keys": keys}).encode()

    def token(
        self, subject: str = "grace", *, leave_out: str | None = None, since: int = 0, until: int = 600, **claims: Any
    ) -> str:
        """A token that holds for ten minutes (`since` and `until` are seconds from now), with these claims changed."""
        now = int(time.time())
        said = {"iss": NAME, "aud": AUDIENCE, "sub": subject, "nbf": now + since, "exp": now + until, **claims}
        said.pop(leave_out or "", None)
        kid, key = next(iter(self.keys.items()))
        return jwt.encode(said, key, self.alg, {"kid": kid})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                self.send_response(200 if issuer.answers else 500)
                self.end_headers()
                self.wfile.write(issuer.published() if issuer.answers else b"")

            def log_message(self, format: str, *args: Any) -> None:
                del format, args

        return Handler
