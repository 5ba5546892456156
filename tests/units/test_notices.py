"""The notice reader on whole notices: the right day, an honest quotation, and no failure on any text."""

import json
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.notices import UnreadableNotice, notice_text, parse_day, read_effective_date

FIXTURES = Path(__file__).parents[1] / "fixtures" / "notices"
EXAMPLES = Path(__file__).parents[2] / "examples"
PIECES = [
    "effective", "date", ":",
    "March 3, 2026", "2026-03-03", "03/04/2026", "自公布之日起30日后",
    "施行", "|", "~~", "\n", "# ",
    "is delayed until", "from", "to", "30 days after publication",
    "Published", "<del>", "</del>", "。", "except", "第一条", "AD ",
    "0000-00-00", "99999999 days after", "二〇二六年一月一日",
    "February 30, 2026", "9999-12-31", "immediately", "May", "now", "(",
]  # fmt: skip


def _truths() -> list[Any]:
    found: list[Any] = []
    for group in ("real", "own"):
        for record in json.loads((FIXTURES / group / "index.json").read_text(encoding="utf-8")):
            found.append(pytest.param(group, record, id=f"{group}-{record['id']}"))
    return found


@pytest.mark.parametrize(("group", "record"), _truths())
def test_a_notice_gives_the_day_that_a_careful_reader_finds(group: str, record: dict[str, Any]) -> None:
    path = FIXTURES / group / record["file"]
    text = notice_text(path.read_bytes(), path.name)
    reading = read_effective_date(text)
    assert (reading.effective and reading.effective.isoformat()) == record["effective"], reading
    assert (reading.published and reading.published.isoformat()) == record["published"]
    assert (reading.reason in ("stated", "relative")) == (reading.effective is not None)
    assert reading.quote in text
    assert reading.explanation


def test_the_examples_hold_one_wrong_one_right_and_one_open_entry() -> None:
    lines = (EXAMPLES / "catalogue.csv").read_text(encoding="utf-8").splitlines()[1:]
    entries = {line.split(",")[0]: parse_day(line.rsplit(",", 1)[1]) for line in lines}
    paths = sorted((EXAMPLES / "notices").iterdir())
    readings = {path.name[:2]: read_effective_date(notice_text(path.read_bytes(), path.name)) for path in paths}
    assert readings["01"].effective not in (None, entries["01"])
    assert readings["02"].effective == entries["02"]
    assert readings["03"].effective is None
    assert readings["03"].reason == "unnamed_day"


def test_the_quotation_is_cut_from_the_text_as_it_was_given() -> None:
    text = "本办法经会议通过,\n自２０２６年１月１日起\n**施行**。其他事项另行通知。"
    assert read_effective_date(text).quote == "本办法经会议通过,\n自２０２６年１月１日起\n**施行**。"


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_read_without_failing(text: str) -> None:
    reading = read_effective_date(text)
    assert reading.quote in text
    assert parse_day(text) is None or isinstance(parse_day(text), date)


@settings(max_examples=250, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
def test_any_jumble_of_a_notices_words_is_read_without_failing(text: str) -> None:
    reading = read_effective_date(text)
    assert reading.quote in text
    assert (reading.effective is None) == (reading.reason not in ("stated", "relative"))


@pytest.mark.long
@pytest.mark.parametrize(
    "piece",
    ["a", "2026-03-03 ", "effective March 3, 2026 and ", "~~", "<del>", "| ", "30 days after ", "自公布之日起", "not ",
     "\n", "第一条",
     "This rule is effective on March 3, 2026, except for section 5. ", "delayed to ", "(", "Published 03/04/2026.\n"],
)  # fmt: skip
def test_a_long_text_takes_time_in_proportion(piece: str) -> None:
    read_effective_date("effective March 3, 2026")
    text = piece * (60_000 // len(piece))
    start = time.process_time()
    read_effective_date(text)
    assert time.process_time() - start < 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("piece", "reasons"),
    [
        ("March 1, 2026 ", "ambiguous"),
        ("Effective date: ", "none"),
        ("自2026年1月1日起施行。", "ambiguous"),
        ("effective March 1, 2026. Then effective April 1, 2026.\n", "several"),
        ("30 days after approval. ", "unnamed_day ambiguous"),
        ("AD 2026-01-01, ", "none"),
        ("a\n", "ambiguous"),
    ],
)
def test_a_text_past_all_measure_is_read_in_bounded_time_and_answered_honestly(piece: str, reasons: str) -> None:
    read_effective_date("effective March 3, 2026")
    text = piece * (512 * 1024 // len(piece.encode()))
    start = time.process_time()
    reading = read_effective_date(text)
    assert time.process_time() - start < 4  # about one second on an idle machine
    assert reading.effective is None
    assert reading.reason in reasons.split()
    assert reading.quote in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2016-10-11", "2016-10-11"),
        (" 2016/10/11 ", "2016-10-11"),
        ("2016.10.11", "2016-10-11"),
        ("2016年10月11日", "2016-10-11"),
        ("二〇一六年十月十一日", "2016-10-11"),
        ("２０１６年１０月１１日", "2016-10-11"),
        ("January 17, 2024", "2024-01-17"),
        ("Wednesday, January 17, 2024", "2024-01-17"),
        ("17 Jan 2024", "2024-01-17"),
        ("17th of January 2024", "2024-01-17"),
        ("01/17/2024", "2024-01-17"),
        ("17.01.2024", "2024-01-17"),
        ("05/05/2024", "2024-05-05"),
        ("2024-01-17T00:00:00Z", "2024-01-17"),
        ("", None),
        ("10/11/2016", None),
        ("n/a", None),
        ("January 2024", None),
        ("2024", None),
        ("tomorrow", None),
        ("2024-02-30", None),
        ("2024-01-17 or 2024-01-18", None),
        ("on publication", None),
        ("45292", None),
    ],
)
def test_a_catalogues_day_is_read_only_when_it_means_one_day(value: str, expected: str | None) -> None:
    assert parse_day(value) == (date.fromisoformat(expected) if expected else None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_chinese_text_is_decoded_from_the_usual_encodings(encoding: str) -> None:
    text = "本公告自2026年1月1日起施行。\n"
    assert notice_text(text.encode(encoding), "notice.txt") == text


def test_a_pages_declared_charset_is_used() -> None:
    page = '<html><head><meta charset="iso-8859-1"></head><body><p>Décret: effective 1 May 2026</p></body></html>'
    assert "Décret" in notice_text(page.encode("iso-8859-1"), "page.html")


def test_a_page_keeps_its_lines_rows_and_struck_words_and_drops_what_is_not_seen() -> None:
    page = b"""<!doctype html><head><title>x</title><style>p{}</style></head><h1>Title</h1><p>One<br>two</p>
    <script>var d = "2026-01-01"</script><!-- 2026-02-02 --><ul><li>item</li></ul>
    <table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td><s>2</s> <b>3</b></td></tr></table>"""
    lines = [line for line in notice_text(page, "a.htm").splitlines() if line]
    assert lines == ["# Title", "One", "two", "- item", "| A | B |", "| 1 | ~~2~~ 3 |"]


@pytest.mark.parametrize(
    ("data", "name", "advice"),
    [
        (b"", "a.txt", "check that the whole notice was saved"),
        (b"  \n\t", "a.md", "check that the whole notice was saved"),
        (b"<html><script>x</script></html>", "a.html", "check that the whole notice was saved"),
        (b"%PDF-1.7 \x00\x01", "a.txt", "save it as plain text"),
        (b"PK\x03\x04rest", "a.md", "save it as plain text"),
        (b"abc\x00def", "a.txt", "save it as plain text"),
        (b"\xff\xfe\x00", "a.txt", "save it in UTF-8"),
        (b"caf\xe9 au lait", "a.txt", "save it in UTF-8"),
    ],
)
def test_a_file_without_readable_text_is_refused_with_advice(data: bytes, name: str, advice: str) -> None:
    with pytest.raises(UnreadableNotice, match=advice):
        notice_text(data, name)


def test_a_refusal_is_a_value_error_and_names_the_file() -> None:
    with pytest.raises(ValueError, match=r"annex\.txt"):
        notice_text(b"", "annex.txt")
