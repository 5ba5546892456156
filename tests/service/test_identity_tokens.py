"""Static tokens: a file that holds none of them, and that is refused with what to write where it is wrong."""

from __future__ import annotations

import hashlib
import logging
import re
from pathlib import Path

import pytest

from service.identity import Identified, Identities, IdentityUnavailable, Unauthenticated
from service.tokens import TokenFile, new_token, read_tokens
from state.actor import Actor
from state.errors import InputInvalid, NotAllowed
from tests.support.cli import Cli
from tests.support.clock import ManualClock
from tools.secrets import Secrets

DIGEST = hashlib.sha256(b"x").hexdigest()


def file_with(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "tokens.toml"
    file.write_text("\n".join(["[tokens]", *lines, ""]))
    return file


def opened(file: Path, clock: ManualClock | None = None, /, **secrets: str) -> TokenFile:
    return TokenFile(
        file, Secrets({f"REMIT_SECRET_{name}": value for name, value in secrets.items()}), clock or ManualClock()
    )


def test_a_new_token_stands_for_its_subject_and_its_line_does_not_hold_it(tmp_path: Path):
    token, line = new_token('gr"ace', "local", None)

    assert opened(file_with(tmp_path, line)).identify(token) == Identified('gr"ace', "local")
    assert token not in line
    assert len(token) > 40


def test_a_token_holds_until_it_expires(tmp_path: Path):
    clock = ManualClock()
    token, line = new_token("grace", "local", clock.now() + 60_000)
    tokens = opened(file_with(tmp_path, line), clock)

    assert tokens.identify(token) == Identified("grace", "local")
    clock.passes(seconds=60)

    assert tokens.identify(token) is None


def test_a_token_can_be_kept_elsewhere(tmp_path: Path):
    value = "a value of twenty characters or more".replace(" ", "-")
    file = file_with(tmp_path, '"secret://NIGHTLY" = { subject = "nightly", tenant = "local" }')

    assert opened(file, NIGHTLY=value).identify(value) == Identified("nightly", "local")
    assert opened(file, NIGHTLY=value).identify("") is None


@pytest.mark.parametrize("secrets", [{}, {"NIGHTLY": "short"}])
def test_a_token_that_is_missing_where_it_is_kept_or_easily_guessed_is_refused(tmp_path: Path, secrets: dict[str, str]):
    file = file_with(tmp_path, '"secret://NIGHTLY" = { subject = "nightly", tenant = "local" }')

    with pytest.raises(InputInvalid, match=r"REMIT_SECRET_NIGHTLY|too short"):
        opened(file, **secrets)


def test_a_line_that_is_taken_out_counts_from_the_next_request_on(tmp_path: Path):
    (first, one), (second, two) = new_token("grace", "local", None), new_token("linus", "local", None)
    tokens = opened(file_with(tmp_path, one, two))
    assert tokens.identify(first) is not None

    file_with(tmp_path, two)

    assert (tokens.identify(first), tokens.identify(second)) == (None, Identified("linus", "local"))


def test_while_the_file_is_broken_nobody_is_let_in_by_it_and_the_log_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    token, line = new_token("grace", "local", None)
    tokens = opened(file_with(tmp_path, line))

    with caplog.at_level(logging.ERROR):
        file_with(tmp_path, line, f'{token} = "grace')
        with pytest.raises(IdentityUnavailable, match="try again later"):
            tokens.identify(token)

    assert "is not TOML" in caplog.text
    assert token not in caplog.text
    file_with(tmp_path, line)
    assert tokens.identify(token) is not None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", r"write one table \[tokens\]"),
        ("[tokens", "is not TOML: "),
        ("[tokens]\n[other]\n", r"write one table \[tokens\]"),
        ('[tokens]\n"my-secret-token" = { subject = "a", tenant = "local" }', "entry 1: name it sha256: and 64 lower"),
        (f'[tokens]\n"sha256:{DIGEST}" = "grace"', "entry 1: write { subject"),
        (f'[tokens]\n"sha256:{DIGEST}" = {{ subject = "a", tenant = "b", roles = ["x"] }}', "nothing else"),
        (f'[tokens]\n"sha256:{DIGEST}" = {{ tenant = "local" }}', "entry 1, subject: give 1 to 200 printable"),
        (f'[tokens]\n"sha256:{DIGEST}" = {{ subject = "Remit", tenant = "local" }}', "and not 'remit'"),
        (f'[tokens]\n"sha256:{DIGEST}" = {{ subject = "a" }}', "entry 1, tenant: name the tenant"),
        (
            f'[tokens]\n"sha256:{DIGEST}" = {{ subject = "a", tenant = "b", expires = "soon" }}',
            "entry 1, expires: write a time",
        ),
        (
            f'[tokens]\n"sha256:{DIGEST}" = {{ subject = "a", tenant = "b", expires = 2027-01-01T00:00:00 }}',
            "with its zone",
        ),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place_and_what_to_write(tmp_path: Path, content: str, says: str):
    file = tmp_path / "tokens.toml"
    file.write_text(content)

    with pytest.raises(InputInvalid, match=says) as told:
        read_tokens(file)
    assert str(file) in str(told.value)
    assert "my-secret-token" not in str(told.value)


def test_a_file_that_is_missing_or_that_everybody_can_write_to_is_refused(tmp_path: Path):
    with pytest.raises(InputInvalid, match="cannot be read: No such file"):
        opened(tmp_path / "tokens.toml")

    file = file_with(tmp_path)
    file.chmod(0o666)
    with pytest.raises(InputInvalid, match="chmod o-w"):
        opened(file)


# --- from a header to an actor ----------------------------------------------------------------------------------------


def test_a_bearer_token_is_turned_into_an_actor_of_the_servers_tenant(tmp_path: Path):
    token, line = new_token("grace", "acme", None)
    known = Identities("acme", [opened(file_with(tmp_path, line))])

    for scheme in ("Bearer", "bearer", "BEARER "):
        assert known.actor([f"{scheme} {token}".encode()]) == Actor("grace", "acme", "server")


def test_somebody_of_another_tenant_is_refused_and_not_unknown(tmp_path: Path):
    token, line = new_token("grace", "acme", None)

    with pytest.raises(NotAllowed, match="for another tenant"):
        Identities("local", [opened(file_with(tmp_path, line))]).actor([f"Bearer {token}".encode()])


def test_whatever_is_wrong_with_a_token_the_answer_is_the_same(tmp_path: Path):
    clock = ManualClock()
    old, line = new_token("grace", "local", clock.now() + 1000)
    good, other = new_token("grace", "local", None)
    known = Identities("local", [opened(file_with(tmp_path, line, other), clock)])
    clock.passes(seconds=2)

    sent = [
        [],
        [b""],
        [b"Bearer"],
        [b"Bearer "],
        [b"Basic Z3JhY2U6eA=="],
        [f"Bearer {old}".encode()],
        [f"Bearer {good}x".encode()],
        [f"Bearer {good[:-1]}".encode()],
        [f"Bearer {good} {good}".encode()],
        [f"Bearer {good}".encode()] * 2,
        [b"Bearer " + b"x" * 9000],
        [b"Bearer \xff\xfe"],
    ]
    said: set[str] = set()
    for each in sent:
        with pytest.raises(Unauthenticated) as told:
            known.actor(each)
        said.add(str(told.value))

    assert said == {"Send `Authorization: Bearer TOKEN` with a token that this server accepts."}


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_shows_a_token_once_and_the_line_that_lets_it_in(remit: Cli, tmp_path: Path):
    shown = remit("tokens", "new", "grace", "--tenant", "acme", "--expires", "90d").out
    token = re.search(r"^remit_\S+$", shown, re.MULTILINE)
    line = re.search(r'^"sha256:.*$', shown, re.MULTILINE)

    assert token is not None
    assert line is not None
    (entry,) = read_tokens(file_with(tmp_path, line[0]))
    assert (entry.subject, entry.tenant, entry.expires is not None) == ("grace", "acme", True)
    assert entry.name == f"sha256:{hashlib.sha256(token[0].encode()).hexdigest()}"


def test_the_command_refuses_a_name_that_nobody_can_have(remit: Cli):
    told = remit("tokens", "new", "remit")

    assert (told.code, "and not 'remit'" in told.err) == (2, True)
