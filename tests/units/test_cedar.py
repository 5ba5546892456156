"""Policy files: what is wrong with them is said with file and line, and what holds is asked as written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from state.approval import Needs
from state.errors import InputInvalid
from tools.cedar import MAX_KEPT, load

GRANTED = {"granted": True, "effect": "write", "agent": {"__entity": {"type": "Agent", "id": "noter"}}}


def written(folder: Path, text: str) -> str:
    path = folder / "own.cedar"
    path.write_text(text)
    return f"local,{path}"


def use(name: str, **context: Any) -> Any:
    return load(name).judge("ada", (), "use", ("Tool", "pay"), GRANTED | context)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('// a comment; with a semicolon\n@id("a")\npermit (nobody, action, resource);', 2, "no Cedar policy"),
        ('@id("a") permit (principal, action, resource);\n\n\n@id("b") permit (principal', 4, "no Cedar policy"),
        ('@id("a") permit (principal, action, resource)', 1, "no Cedar policy"),
        ("permit (principal, action, resource);", 1, "name the rule"),
        ('@id("a b") permit (principal, action, resource);', 1, "name the rule"),
        ('@id("granted") permit (principal, action, resource);', 1, "local.cedar:6 too"),
        ('@id("a") @quorun("2") permit (principal, action, resource);', 1, "no annotation @quorun"),
        ('@id("a") @quorum("0") permit (principal, action, resource);', 1, "a whole number from 1 to 20"),
        ('@id("a") @quorum("zwei") permit (principal, action, resource);', 1, "a whole number from 1 to 20"),
        ('@id("a") @per_hour("-1") permit (principal, action, resource);', 1, "a whole number from 1"),
        ('@id("a") @approval("maybe") permit (principal, action, resource);', 1, "the only one there is"),
        ('@id("a") @escalate_to("lead") permit (principal, action, resource);', 1, "belong together"),
        (
            '@id("a") @approver("x") @escalate_to("y") @escalate_after("soon") permit (principal, action, resource);',
            1,
            "give 90s, 30m, 4h or 1d",
        ),
        (
            '@id("a") @escalate_to("lead") @escalate_after("4h") permit (principal, action, resource);',
            1,
            "needs @approver",
        ),
        ('@id("a") @quorum("2") forbid (principal, action, resource);', 1, "belongs to a permit"),
        ('@id("a") permit (principal == ?principal, action, resource);', 1, "templates"),
        ('@id("a") permit (principal, action == Action::"fly", resource);', 1, "fly"),
        (
            '\n@id("a")\npermit (principal, action == Action::"use", resource) when { context.amount < 3 };',
            2,
            "amount",
        ),
        ('@id("a") permit (principal, action == Action::"use", resource) when { context.colour };', 1, "colour"),
        ('@id("a") permit (principal in Role::"x", action, resource) when { 1 < "2" };', 1, "rule a"),
    ],
)
def test_what_is_wrong_with_a_policy_is_said_with_file_and_line(tmp_path: Path, text: str, line: int, said: str):
    with pytest.raises(InputInvalid) as refusal:
        load(written(tmp_path, text))

    assert str(refusal.value).startswith(f"{tmp_path / 'own.cedar'}:{line}: ")
    assert said in str(refusal.value)


@pytest.mark.parametrize("named", ["", " , ", "loca", "/nowhere/at/all.cedar"])
def test_a_policy_that_is_not_there_is_not_taken_for_none(named: str):
    with pytest.raises(InputInvalid):
        load(named)


def test_a_folder_without_policies_is_refused(tmp_path: Path):
    with pytest.raises(InputInvalid, match=r"no \*.cedar file"):
        load(str(tmp_path))


def test_strings_and_comments_may_hold_semicolons_and_quotes(tmp_path: Path):
    odd = written(
        tmp_path,
        '@id("odd") // not the end; "really\n'
        'permit (principal, action == Action::"use", resource == Tool::"a;b\\"c") when { context.granted };\n'
        '@id("next") forbid (principal, action, resource == Tool::"pay");',
    )

    assert [rule.where.rpartition(":")[2] for rule in load(odd).rules.values()][-2:] == ["1", "3"]
    assert use(odd).rule == "next"


def test_of_several_permits_the_most_that_any_of_them_asks_for_holds(tmp_path: Path):
    several = written(
        tmp_path,
        '@id("a") @approver("approver") @quorum("2") @per_hour("20") @escalate_to("lead") @escalate_after("1h")'
        " permit (principal, action, resource);"
        '@id("b") @per_hour("5") permit (principal, action, resource);'
        '@id("c") @approver("approver") @escalate_to("lead") @escalate_after("2h")'
        " permit (principal, action, resource);",
    )

    verdict = use(several)

    assert (verdict.allowed, verdict.rule) == (True, "a+b+c+write-granted")
    assert verdict.needs == Needs(True, "approver", 2, "lead", 7200, 5)


def test_the_version_names_the_text_and_the_order_of_questions_changes_no_answer(tmp_path: Path):
    first = load(written(tmp_path, '@id("a") forbid (principal, action, resource) when { false };'))
    again = load(written(tmp_path, '@id("a") forbid (principal, action, resource) when { false };'))
    other = load(written(tmp_path, '@id("a") forbid (principal, action, resource) when { true };'))

    assert first.version == again.version != other.version
    for number in range(MAX_KEPT + 2):  # more questions than answers that are kept
        first.judge(f"user-{number}", (), "start", ("Agent", "a"), {"granted": number % 2 == 0})
    assert [first.judge(f"user-{n}", (), "start", ("Agent", "a"), {"granted": n % 2 == 0}).allowed for n in (0, 1)] == [
        True,
        False,
    ]


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a\\", "Tool::x", "ада", "\u202e"])
def test_names_of_any_kind_are_only_themselves(name: str):
    cedar = load("local")

    assert not cedar.judge(name, ("user\n", 'x"'), "start", ("Agent", name), {"granted": False}).allowed
    assert cedar.judge(name, ("user",), "start", ("Agent", name), {"granted": False}).allowed


def test_no_permit_weakens_what_another_one_asks_for(tmp_path: Path):
    asks = "permit (principal, action, resource);"
    escalates = '@escalate_to("intern") @escalate_after("1s")'
    strict = f'@id("a") @approver("cfo") @quorum("2") {asks}'

    one_escalates = use(written(tmp_path, f'{strict} @id("b") @approver("cfo") {escalates} {asks}'))
    two_roles = use(written(tmp_path, f'{strict} @id("b") @approver("clerk") {escalates} {asks}'))

    assert one_escalates.needs == Needs(True, "cfo", 2)
    assert (two_roles.allowed, two_roles.rule) == (False, "the rules a+b+write-granted ask different roles")
