"""A target's certificate is verified before anything is sent to it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from state.clock import Permit
from state.errors import ToolError
from tests.support.clock import ManualClock
from tests.support.wire import Kept, Wire, call, tool

OK = b'HTTP/1.1 201 Created\r\ncontent-length: 13\r\n\r\n{"id": "T-1"}'
TRUSTED = ("timeout_s = 5\n", 'timeout_s = 5\nca_file = "own.pem"\n')


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody but `ca_file` vouches for; the key stands beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tickets")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    path.with_suffix(".key").write_bytes(private)
    return path


@pytest.fixture
def wire(certificate: Path) -> Iterator[Wire]:
    """A target with that certificate; a test may hook itself in before the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))

    def does(connection: Kept) -> None:
        started.before()  # type: ignore[attr-defined]
        secured = connection.secured(context)
        with secured.connection:
            secured.request()
            secured.sendall(OK)

    started = Wire(does)  # type: ignore[arg-type]
    started.before = lambda: None  # type: ignore[attr-defined]
    yield started
    started.close()


def test_a_certificate_that_nobody_vouches_for_stops_the_call_before_it_is_sent(wire: Wire, tmp_path: Path) -> None:
    create = tool(tmp_path, f"https://{wire.address}")

    with pytest.raises(ToolError, match="CERTIFICATE_VERIFY_FAILED") as raised:
        create.act(call(create))

    assert (raised.value.error_class, b"POST" in b"".join(wire.received)) == ("transient", False)


def test_a_certificate_that_the_configuration_vouches_for_is_accepted(
    wire: Wire, certificate: Path, tmp_path: Path
) -> None:
    (tmp_path / "own.pem").write_bytes(certificate.read_bytes())
    create = tool(tmp_path, f"https://{wire.address}", TRUSTED)

    assert create.act(call(create)).object_id == "T-1"


def test_a_permit_that_runs_out_during_the_handshake_lets_nothing_out(
    wire: Wire, certificate: Path, tmp_path: Path
) -> None:
    (tmp_path / "own.pem").write_bytes(certificate.read_bytes())
    clock = ManualClock()
    create = tool(tmp_path, f"https://{wire.address}", TRUSTED, clock=clock)
    wire.before = lambda: clock.passes(seconds=60)  # type: ignore[attr-defined]

    with pytest.raises(ToolError, match="the permit of this call has run out") as raised:
        create.act(call(create, permit=Permit.of(clock, 10)))

    assert (raised.value.error_class, b"POST" in b"".join(wire.received)) == ("transient", False)
