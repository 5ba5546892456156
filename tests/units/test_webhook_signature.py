"""The signature of webhooks is that of the public standard, and a receiver takes nothing else."""

from __future__ import annotations

import base64

import pytest

from service.webhook_signature import BadKey, BadSignature, sign, verify

# The example of the standard's own libraries.
KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID, AT, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
OTHER = "whsec_" + base64.b64encode(b"another key of some bytes").decode()


def headers(**changed: str) -> dict[str, str]:
    given = {"id": ID, "timestamp": str(AT), "signature": SIGNATURE} | changed
    return {f"Webhook-{name.title()}": value for name, value in given.items()}


def test_the_signature_is_that_of_the_standard() -> None:
    assert sign(ID, AT, BODY, [KEY]) == SIGNATURE


def test_a_message_that_was_signed_is_taken_whatever_case_its_headers_have() -> None:
    assert verify(headers(), BODY, [KEY], now=AT) == ID
    assert verify({name.upper(): value for name, value in headers().items()}, BODY, [KEY], now=AT + 300) == ID
    assert verify(headers(), BODY, [KEY], now=AT - 300) == ID


def test_one_key_of_several_is_enough_on_either_side() -> None:
    both = sign(ID, AT, BODY, [OTHER, KEY])

    assert verify(headers(signature=both), BODY, [KEY], now=AT) == ID
    assert verify(headers(), BODY, [OTHER, KEY], now=AT) == ID
    assert verify(headers(signature=f"v2,abc v1a,abc {SIGNATURE}"), BODY, [KEY], now=AT) == ID


@pytest.mark.parametrize(
    ("changed", "body", "key", "now"),
    [
        ({}, BODY + b" ", KEY, AT),
        ({}, BODY, OTHER, AT),
        ({"id": "msg_another"}, BODY, KEY, AT),
        ({"timestamp": str(AT + 1)}, BODY, KEY, AT),
        ({"signature": SIGNATURE[3:]}, BODY, KEY, AT),
        ({"signature": SIGNATURE.replace("v1", "v2")}, BODY, KEY, AT),
        ({"signature": ""}, BODY, KEY, AT),
        ({"signature": "v1,\u00e9"}, BODY, KEY, AT),
        ({"id": ""}, BODY, KEY, AT),
        ({"timestamp": ""}, BODY, KEY, AT),
        ({"timestamp": "1e9"}, BODY, KEY, AT),
        ({"timestamp": "-5"}, BODY, KEY, AT),
        ({"timestamp": "\u0661"}, BODY, KEY, AT),
        ({"timestamp": "9" * 5000}, BODY, KEY, AT),
        ({}, BODY, KEY, AT + 301),
        ({}, BODY, KEY, AT - 301),
    ],
)
def test_everything_else_is_refused(changed: dict[str, str], body: bytes, key: str, now: int) -> None:
    with pytest.raises(BadSignature):
        verify(headers(**changed), body, [key], now=now)


@pytest.mark.parametrize("key", ["", "canary", "whsec_", "whsec_canary!", KEY.removeprefix("whsec_"), "whsec_Y2FuYXJ5"])
def test_what_is_no_key_is_refused_with_how_to_make_one_and_without_the_key(key: str) -> None:
    with pytest.raises(BadKey, match="make one") as refused:
        sign(ID, AT, BODY, [key])

    assert not key or key not in str(refused.value).replace("whsec_ and", "").replace("echo whsec_", "")
