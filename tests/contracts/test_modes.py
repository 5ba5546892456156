"""What a mode needs is refused where it is missing or wrong, with the variable's name and what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphs.modes import service_settings, tenant_of
from state.errors import InputInvalid

SERVICE = {"REMIT_MODE": "service", "REMIT_USER": "ada"}
TOKENS = {**SERVICE, "REMIT_TOKENS": "tokens.toml"}
OIDC = {
    "REMIT_OIDC_ISSUER": "https://id.example",
    "REMIT_OIDC_AUDIENCE": "remit",
    "REMIT_OIDC_JWKS": "https://id.example/jwks.json",
}


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"REMIT_MODE": "open"}, "REMIT_MODE=open: the modes are local and service"),
        (SERVICE, "set REMIT_TOKENS to a file of tokens"),
        ({**TOKENS, "REMIT_USER": ""}, "set REMIT_USER to the subject who administers"),
        ({"REMIT_TOKENS": "tokens.toml"}, "means nothing in local mode: set REMIT_MODE=service, or unset it"),
        ({"REMIT_ANSWERS_WITHOUT_IDS": "allow"}, "REMIT_ANSWERS_WITHOUT_IDS is set, but means nothing in local mode"),
        ({**TOKENS, "REMIT_ANSWERS_WITHOUT_IDS": "yes"}, "REMIT_ANSWERS_WITHOUT_IDS=yes: write refuse or allow"),
        ({**SERVICE, **OIDC, "REMIT_OIDC_AUDIENCE": ""}, "REMIT_OIDC_AUDIENCE: not set, and needed"),
        ({**SERVICE, **OIDC, "REMIT_OIDC_JWKS": "http://id.example/k"}, "give an https URL, or the path of a file"),
        ({**SERVICE, **OIDC, "REMIT_OIDC_JWKS": "ftp://id.example/k"}, "give an https URL, or the path of a file"),
        ({**SERVICE, **OIDC, "REMIT_OIDC_NBF": "no"}, "REMIT_OIDC_NBF=no: write required or optional"),
    ],
)
def test_a_mode_whose_settings_cannot_be_right_is_refused(environment: dict[str, Any], says: str) -> None:
    with pytest.raises(InputInvalid, match=says):
        service_settings(environment)


def test_without_a_mode_there_is_no_service() -> None:
    assert (service_settings({}), service_settings({"REMIT_MODE": "local"})) == (None, None)


def test_a_service_has_its_files_where_it_was_started_and_takes_no_answer_without_ids() -> None:
    settings = service_settings({**TOKENS, **OIDC, "REMIT_OIDC_JWKS": "keys.json"})

    assert settings is not None
    assert settings.oidc is not None
    assert (settings.tokens_file, settings.oidc.jwks) == (Path.cwd() / "tokens.toml", str(Path.cwd() / "keys.json"))
    assert (settings.answers_without_ids, settings.oidc.nbf_required) == (False, True)


def test_keys_may_come_in_the_clear_from_this_computer_alone() -> None:
    settings = service_settings({**SERVICE, **OIDC, "REMIT_OIDC_JWKS": "http://127.0.0.1:8080/jwks"})

    assert settings is not None


@pytest.mark.parametrize("name", ["Local", "a b", "-a", "a" * 64, "a/b"])
def test_a_tenant_with_another_kind_of_name_is_refused(name: str) -> None:
    with pytest.raises(InputInvalid, match="a tenant is named by lower-case letters"):
        tenant_of({"REMIT_TENANT": name})
