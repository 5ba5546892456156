"""Tokens of an issuer: believed if its key signed them, for us, and if they hold now. Everything else is nobody's."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from graphs.modes import OidcSettings
from service.identity import Identified, IdentityUnavailable
from service.jwks import ALGORITHMS, Jwks
from service.oidc import SKEW_S, Oidc
from state.errors import InputInvalid
from tests.support.clock import ManualClock
from tests.support.issuer import AUDIENCE, NAME, Issuer, key_of, public

GRACE = Identified("grace", "local")


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.close()


def believes(issuer: Issuer, clock: ManualClock | None = None, **settings: Any) -> Oidc:
    return Oidc(OidcSettings(NAME, AUDIENCE, issuer.url, **settings), "local", clock or ManualClock())


def forged(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    """What somebody can put together without any key."""
    parts = [json.dumps(header).encode(), json.dumps(claims).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts)


# --- who is believed ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alg", ["RS256", "PS256", "ES256", "EdDSA"])
def test_a_token_that_the_issuer_signed_for_us_stands_for_its_subject(alg: str):
    issuer = Issuer(alg)

    assert believes(issuer).identify(issuer.token()) == GRACE
    issuer.close()


def test_every_algorithm_that_is_believed_is_asymmetric():
    assert not any(each.startswith("HS") or each == "none" for each in ALGORITHMS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"iss": "https://other.example"},
        {"aud": "somebody else"},
        {"aud": []},
        {"until": -SKEW_S - 1},
        {"since": SKEW_S + 60},
        {"exp": "tomorrow"},
        {"sub": ""},
        {"sub": 7},
        {"sub": "remit"},
        {"sub": " grace"},
        {"sub": "gr\u0000ace"},
        {"sub": "g" * 201},
        {"leave_out": "exp"},
        {"leave_out": "nbf"},
        {"leave_out": "iss"},
        {"leave_out": "aud"},
        {"leave_out": "sub"},
    ],
    ids=str,
)
def test_a_token_that_says_the_wrong_thing_is_nobodys(issuer: Issuer, wrong: dict[str, Any]):
    assert believes(issuer).identify(issuer.token(**wrong)) is None


def test_the_clocks_may_be_half_a_minute_apart_and_no_more(issuer: Issuer):
    assert believes(issuer).identify(issuer.token(until=5 - SKEW_S)) == GRACE
    assert believes(issuer).identify(issuer.token(since=SKEW_S - 5)) == GRACE


def test_an_issuer_that_does_not_say_from_when_on_can_be_believed_if_that_is_configured(issuer: Issuer):
    token = issuer.token(leave_out="nbf")

    assert believes(issuer, nbf_required=False).identify(token) == GRACE


def test_a_tenant_that_a_token_has_to_name_is_the_tokens(issuer: Issuer):
    oidc = believes(issuer, tenant_claim="org")

    assert oidc.identify(issuer.token(org="acme")) == Identified("grace", "acme")
    assert oidc.identify(issuer.token()) is None


# --- forgeries ------------------------------------------------------------------------------------------------------


def test_a_token_signed_with_another_key_of_the_same_name_is_nobodys(issuer: Issuer):
    other = Issuer()

    assert believes(issuer).identify(other.token()) is None
    other.close()


@pytest.mark.parametrize("alg", ["none", "None", "HS256", "ES384", "RS256", ["ES256"], None, {}])
def test_a_token_cannot_choose_how_it_is_checked(issuer: Issuer, alg: Any):
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})

    assert believes(issuer).identify(forged({"alg": alg, "kid": "first"}, claims)) is None


def test_a_public_key_is_no_password(issuer: Issuer):
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    unsigned = forged({"alg": "HS256", "kid": "first"}, claims).removesuffix(".")

    for password in (issuer.published(), json.dumps(public(issuer.keys["first"])).encode()):
        signature = hmac.digest(password, unsigned.encode(), "sha256")
        token = forged({"alg": "HS256", "kid": "first"}, claims, signature)
        assert believes(issuer).identify(token) is None


@pytest.mark.parametrize("token", ["a.b.c", "..", "....", "eyJ.eyJ.x", "remit_abc", "[" * 4000 + ".a.b"])
def test_what_is_no_token_is_nobodys(issuer: Issuer, token: str):
    assert believes(issuer).identify(token) is None


def test_a_header_that_is_nested_without_end_is_nobodys(issuer: Issuer):
    deep = base64.urlsafe_b64encode(b'{"alg":' + b"[" * 5000).decode()

    assert believes(issuer).identify(f"{deep}.e30.e30") is None


def test_a_key_or_url_that_a_token_brings_along_is_not_looked_at(issuer: Issuer):
    own = key_of("ES256")
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    header = {"kid": "first", "jwk": public(own), "jku": "http://127.0.0.1:1/jwks", "x5u": "http://127.0.0.1:1/x"}

    assert believes(issuer).identify(jwt.encode(claims, own, "ES256", header)) is None


# --- keys that change -----------------------------------------------------------------------------------------------


def test_an_unknown_key_makes_the_keys_be_read_again(issuer: Issuer):
    clock, before = ManualClock(), issuer.token()
    oidc = believes(issuer, clock)
    assert oidc.identify(before) == GRACE

    issuer.rotates("second")
    clock.passes(seconds=11)

    assert oidc.identify(issuer.token()) == GRACE
    assert (oidc.identify(before), issuer.asked) == (None, 2)


def test_however_many_unknown_keys_are_named_the_issuer_is_asked_once_in_a_while(issuer: Issuer):
    oidc = believes(issuer)
    assert oidc.identify(issuer.token()) == GRACE

    for number in range(50):
        issuer.rotates(f"unknown {number}")
        assert oidc.identify(issuer.token()) is None

    assert issuer.asked == 1


def test_without_any_key_nobody_is_told_that_their_token_is_bad(issuer: Issuer):
    issuer.answers = False

    with pytest.raises(IdentityUnavailable, match="try again later"):
        believes(issuer).identify(issuer.token())


def test_an_issuer_that_does_not_answer_is_not_missed_while_its_keys_are_known(issuer: Issuer):
    clock = ManualClock()
    oidc = believes(issuer, clock)
    assert oidc.identify(issuer.token()) == GRACE

    issuer.answers = False
    clock.passes(seconds=7_200)

    assert (oidc.identify(issuer.token()), issuer.asked) == (GRACE, 2)


def test_keys_that_could_not_be_read_for_a_day_are_not_believed_any_more(issuer: Issuer):
    clock = ManualClock()
    oidc = believes(issuer, clock)
    assert oidc.identify(issuer.token()) == GRACE

    issuer.answers = False
    clock.passes(seconds=86_401)

    with pytest.raises(IdentityUnavailable):
        oidc.identify(issuer.token())


# --- keys in a file -------------------------------------------------------------------------------------------------


def test_keys_may_be_in_a_file_and_a_changed_one_counts(issuer: Issuer, tmp_path: Path):
    file = tmp_path / "keys.json"
    file.write_bytes(issuer.published())
    oidc = Oidc(OidcSettings(NAME, AUDIENCE, str(file)), "local", ManualClock())
    assert oidc.identify(issuer.token()) == GRACE

    issuer.rotates("second")
    file.write_bytes(issuer.published())

    assert (oidc.identify(issuer.token()), issuer.asked) == (GRACE, 0)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is not a set of keys"),
        ("[]", "is not a set of keys"),
        ('{"keys": 7}', "is not a set of keys"),
        ('{"keys": []}', "holds no public RSA, EC or Ed25519 key"),
        ('{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', "holds a secret key"),
        (json.dumps({"keys": [public(key_of("ES256"), use="enc")]}), "holds no public"),
        (json.dumps({"keys": [{**public(key_of("ES256")), "d": "AQ"}]}), "holds a secret key"),
    ],
)
def test_a_file_of_keys_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path, content: str, says: str):
    file = tmp_path / "keys.json"
    file.write_text(content)

    with pytest.raises(InputInvalid, match=says):
        Jwks(str(file), ManualClock())


def test_a_file_of_keys_that_is_not_there_is_refused_at_the_start(tmp_path: Path):
    with pytest.raises(InputInvalid, match=r"REMIT_OIDC_JWKS=.*cannot be read: No such file"):
        Jwks(str(tmp_path / "keys.json"), ManualClock())
