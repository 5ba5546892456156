"""Further wordings, official and of vendors, each settled by its own few lines."""

from datetime import date

import pytest

from tools.notices import read_effective_date

STATED: list[tuple[str, str, str]] = [
    (
        "will go into effect",
        "Published 2025-02-03\nThe tariff will go into effect at 12:01 a.m. on March 4, 2025.",
        "2025-03-04",
    ),
    ("is to be in force from", "The code is to be in force from 4 March 2025 onwards.", "2025-03-04"),
    (
        "label in capitals on a line of its own",
        "EFFECTIVE DATE:\n\nMarch 4, 2025\n\nCOMMENT DATE:\n\nApril 4, 2025",
        "2025-03-04",
    ),
    (
        "start of the rule",
        "Published March 1, 2024.\nThe rule starts on April 1, 2024; objections until March 20, 2024.",
        "2024-04-01",
    ),
    (
        "a rule with a sunset",
        "Emergency rule. In force from June 2, 2025 through November 28, 2025.",
        "2025-06-02",
    ),
    (
        "extension of a stay of another rule",
        "ACTION: Final rule; further delay of effective date.\nPublished 2025-03-20\nThe effective"
        " date of the rule, first put"
        " off from February 14, 2025 to March 21, 2025, is put off again until May 20, 2025.",
        "2025-05-20",
    ),
    (
        "postponed start with the old date in the background",
        "Published: July 1, 2024\nBackground: the final rule of April 30, 2024 set July 15, 2024 as"
        " its effective date.\n"
        "Change: the effective date is postponed to January 15, 2025.",
        "2025-01-15",
    ),
    (
        "compliance first, start after",
        "Federal Register: May 6, 2024\nDATES\nLarge plants comply by May 8, 2028, small plants by May 7, 2029.\n"
        "The rule itself is effective on July 8, 2024.",
        "2024-07-08",
    ),
    (
        "judicial review",
        "DATES: This rule is effective on June 5, 2019. Petitions for judicial review must be filed by July 5, 2019.",
        "2019-06-05",
    ),
    (
        "order known from a second date",
        "Printed: 08/14/2018\nComments were open until 05/06/2018.\nEffective: 09/11/2018, 0901 UTC",
        "2018-09-11",
    ),
    (
        "sixty days by the Congress",
        "Published in the Federal Register on 10/31/2023. Effective 60 days from publication.",
        "2023-12-30",
    ),
    ("today", "January 8, 2026\n\nThe order takes effect today.", "2026-01-08"),
    (
        "on its publication",
        "Published on 5 June 2025. The decree comes into force on the day of its publication.",
        "2025-06-05",
    ),
    (
        "the day after publication",
        "Official Gazette, 5 June 2025. It enters into force on the day after its publication.",
        "2025-06-06",
    ),
    (
        "a year after",
        "Published: 29 February 2024\nThis act takes effect one year after its publication.",
        "2025-02-28",
    ),
    ("in brackets", "New limits (effective July 1, 2025) for shore fishing. Posted May 2, 2025.", "2025-07-01"),
    (
        "two statements of one day",
        "Effective date: July 1, 2025.\n\nThe fees will take effect on 2025-07-01.",
        "2025-07-01",
    ),
    (
        "a meeting and a start",
        "The board met on May 6, 2025 and adopted the code, which takes effect June 1, 2025.",
        "2025-06-01",
    ),
    ("notice of a price list", "Notice of 3 March 2025\nThe new rates are charged from 1 April 2025.", "2025-04-01"),
    ("will be withdrawn", "Posted 3 March 2025\nForm 7 will be withdrawn on 1 April 2025.", "2025-04-01"),
    ("vendor: stop accepting", "Jan 6, 2026\nWe'll stop accepting uploads over FTP on Feb 27, 2026.", "2026-02-27"),
    (
        "vendor: end of support",
        "Jan 6, 2026\nEnd of support for PHP 8.1: 31 December 2026 (security fixes end on the same day)",
        "2026-12-31",
    ),
    (
        "vendor: cutoff with time",
        "Posted 2025-05-01\nOn 2025-09-30 at 17:00 UTC the old webhooks endpoint is being turned down.",
        "2025-09-30",
    ),
    (
        "vendor: update on top of the old text",
        "Update (June 3, 2025): the shutdown now takes place on October 1, 2025.\n\nPublished March 3, 2025\n"
        "The original plan was to shut the service down on July 1, 2025.",
        "2025-10-01",
    ),
    (
        "vendor: pushed back",
        "Posted March 3, 2025\nThe sunset date has been pushed back from June 30, 2025 to September 30, 2025.",
        "2025-09-30",
    ),
    (
        "vendor: instead of",
        "Posted March 3, 2025\nThe legacy API will be retired on September 30, 2025 instead of June 30, 2025.",
        "2025-09-30",
    ),
    (
        "vendor: after",
        "Posted March 3, 2025\nAfter September 30, 2025 the legacy API is no longer reachable.",
        "2025-09-30",
    ),
    (
        "vendor: migration window",
        "Posted March 3, 2025\nMigration window: April 1, 2025 to June 30, 2025.\nLegacy API off: July 1, 2025",
        "2025-07-01",
    ),
    (
        "vendor: three milestones in a list",
        "Posted March 3, 2025\n- April 1, 2025: no new sign-ups\n- June 2, 2025: existing data becomes read-only\n"
        "- September 1, 2025: service is shut down and data deleted",
        "2025-09-01",
    ),
    (
        "vendor: default flips",
        "Posted 3 March 2025\nOn 5 May 2025 we will flip the default region for all projects.",
        "2025-05-05",
    ),
    ("vendor: mandatory", "Posted 3 March 2025\nMFA is required for every account starting 5 May 2025.", "2025-05-05"),
    (
        "vendor: column of dates with the same end",
        "| API | Announced | Sunset |\n|---|---|---|\n| v1 | 2025-03-03 | 2025-09-01 |\n| v2 beta |"
        " 2025-03-03 | 2025-09-01 |",
        "2025-09-01",
    ),
    ("中国:以后施行", "公布日期:2024年12月30日\n现予公布,自公布之日起60日后施行。", "2025-02-28"),
    ("中国:于某日起正式施行", "公布日期:2024年12月30日\n新修订的条例将于2025年3月1日起正式施行。", "2025-03-01"),
    ("中国:起执行至", "发布日期:2024年12月30日\n上述政策执行期限为2025年1月1日至2027年12月31日。", "2025-01-01"),
    (
        "中国:本决定自",
        "2024年12月30日\n本决定自2025年3月1日起施行。原《规定》(2016年3月1日施行)同时废止。",
        "2025-03-01",
    ),
    ("中国:提前", "发布日期:2024年12月30日\n原定2025年6月1日实施的标准提前至2025年3月1日实施。", "2025-03-01"),
    ("中国:截至与施行", "2024年12月30日\n意见征集截至2024年11月30日,现正式公布,2025年3月1日起施行。", "2025-03-01"),
    ("中国:当日", "发布日期:2024年12月30日\n本通知自发布当日起执行。", "2024-12-30"),
    (
        "中国:延长",
        "发布日期:2024年12月30日\n原定2024年12月31日停止服务的旧平台,服务延长至2025年6月30日。",
        "2025-06-30",
    ),
]

NOT_STATED: list[tuple[str, str]] = [
    ("two zones", "Published June 1, 2025. Zone A: effective June 5, 2025. Zone B: effective June 12, 2025."),
    (
        "depends on OMB",
        "The rule is effective once the Office of Management and Budget approves it. Published June 1, 2025.",
    ),
    ("no later than", "Posted 3 March 2025\nThe change will take effect no earlier than 1 June 2025."),
    (
        "days after a later notice",
        "Published June 1, 2025. The rule is effective 30 days after publication of a second notice.",
    ),
    (
        "vendor: stages by region",
        "Posted 3 March 2025\n- Europe: shut down on 2 June 2025\n- Americas: shut down on 7 July 2025",
    ),
    ("vendor: cancelled", "Posted 3 March 2025\nThe shutdown planned for 2 June 2025 has been cancelled."),
    ("vendor: preview only", "Posted 3 March 2025\nA preview opens on 2 June 2025."),
    ("中国:分批", "发布日期:2024年12月30日\n第一批企业自2025年3月1日起执行,第二批企业自2026年3月1日起执行。"),
    ("中国:草案", "《某法(草案)》公开征求意见\n草案规定自2026年1月1日起施行。"),
    ("中国:另行通知", "2024年12月30日\n具体实施时间另行通知。"),
    ("中国:听证", "关于召开听证会的公告\n定于2025年3月1日召开听证会。"),
    ("a hearing in a final notice", "ACTION: Notice of hearing.\nThe hearing takes place on May 5, 2025 in Boise."),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in STATED], ids=[row[0] for row in STATED])
def test_a_day_is_read_out_of_a_further_wording(text: str, expected: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective == date.fromisoformat(expected), reading
    assert reading.quote
    assert reading.quote in text


@pytest.mark.parametrize("text", [row[1] for row in NOT_STATED], ids=[row[0] for row in NOT_STATED])
def test_a_further_wording_without_one_day_gives_none(text: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective is None, reading
    assert reading.quote in text
