"""Where arguments go: none can leave its place, whatever it holds."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from state.errors import ToolError
from tools.http_templates import BadTemplate, Template, UrlTemplate, checked_base, filled, is_loopback, not_in_a_path

BASE = "https://tickets.example:8443/api"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(place=TEXT, value=TEXT)
def test_whatever_an_argument_holds_host_path_and_parameters_stay(place: str, value: str) -> None:
    url = UrlTemplate.parse(BASE, "/projects/{place}/tickets?by={value}&limit=1")
    assume(not_in_a_path(place) is None)

    sent = urlsplit(str(httpx.URL(url.fill({"place": place, "value": value}))))

    assert (sent.scheme, sent.netloc, sent.fragment) == ("https", "tickets.example:8443", "")
    assert [unquote(each) for each in sent.path.split("/")] == ["", "api", "projects", place, "tickets"]
    assert parse_qsl(sent.query, keep_blank_values=True) == [("by", value), ("limit", "1")]


@pytest.mark.parametrize("value", ["..", ".", "", "a/b", "a\\b", "a\nb", "a\x00b"])
def test_what_a_server_could_take_for_another_path_is_refused(value: str) -> None:
    url = UrlTemplate.parse(BASE, "/projects/{place}")

    with pytest.raises(ToolError, match="stands in a URL's path"):
        url.fill({"place": value})


@pytest.mark.parametrize(
    ("value", "sent"),
    [("a b", "a%20b"), ("%2e%2e", "%252e%252e"), ("a?b#c", "a%3Fb%23c"), ("日", "%E6%97%A5"), (7, "7")],
)
def test_a_value_in_a_path_is_percent_encoded_once(value: Any, sent: str) -> None:
    url = UrlTemplate.parse(BASE, "/projects/{place}")

    assert httpx.URL(url.fill({"place": value})).raw_path == f"/api/projects/{sent}".encode()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tickets", "begin it with '/'"),
        ("//evil.example/x", "a segment of the path is empty"),
        ("/a/../b", "'.' or '..'"),
        ("/a b", "characters that a URL cannot have"),
        ("/a#b", "characters that a URL cannot have"),
        ("/a?{name}=1", "a name is fixed"),
        ("/a?name", "is no parameter"),
        ("/{}", "names no argument"),
        ("/{a", "a single '{'"),
        ("/{A}", "names no argument"),
    ],
)
def test_a_template_that_is_no_place_for_arguments_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadTemplate, match=why):
        UrlTemplate.parse(BASE, text)


@pytest.mark.parametrize(
    ("base", "why"),
    [
        ("ftp://a.example", "https://host"),
        ("https://", "https://host"),
        ("https://user:pw@a.example", "no user"),
        ("https://a.example/?x=1", "no query"),
        ("https://{host}.example", "no placeholder"),
        ("https://a.example:port", "no URL"),
        ("https://a example", "characters"),
    ],
)
def test_a_base_address_is_fixed_and_holds_no_credentials(base: str, why: str) -> None:
    assert why in (checked_base(base) or "")


def test_a_good_base_address_is_taken() -> None:
    assert [checked_base(each) for each in (BASE, "http://127.0.0.1:8711", "http://[::1]:80/")] == [None] * 3
    assert [is_loopback(each) for each in ("http://127.0.0.1:1", "http://localhost", "http://a.example")] == [
        True,
        True,
        False,
    ]


def test_a_body_keeps_types_and_its_texts_are_filled_at_any_depth() -> None:
    body = {"n": "{n}", "in": ["{flag}", {"said": "{n} of {{x}}, {flag}"}], "fixed": 1}

    assert filled(body, {"n": 3, "flag": True}) == {"n": 3, "in": [True, {"said": "3 of {x}, true"}], "fixed": 1}


def test_the_first_alternative_that_is_not_empty_is_taken() -> None:
    template = Template.parse("{a|b|c}")

    assert [template.fill({"a": a, "b": b, "c": "c"}) for a, b in (("a", "b"), ("", "b"), ("", ""))] == ["a", "b", "c"]


def test_an_argument_that_looks_like_a_template_is_a_text() -> None:
    assert filled({"text": "{text}"}, {"text": "{call.key} secret://X"}) == {"text": "{call.key} secret://X"}
