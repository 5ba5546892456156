"""How officials word a start, in English: each line of the table is a notice that a careful reader can settle."""

from datetime import date

import pytest

from tools.notices import read_effective_date

FR = "ACTION: Final rule.\nPublished in the Federal Register: June 3, 2024\n\n"

STATED: list[tuple[str, str, str]] = [
    ("the dates paragraph", FR + "DATES: This rule is effective July 3, 2024.", "2024-07-03"),
    (
        "effective and applicable",
        FR + "DATES: These regulations are effective on July 3, 2024, and applicable beginning January 1, 2024.",
        "2024-07-03",
    ),
    (
        "comment and effective date side by side",
        FR + "DATES: Effective date: August 2, 2024. Comment date: Comments must be received on or before"
        " July 5, 2024.",
        "2024-08-02",
    ),
    (
        "compliance later than the start",
        FR + "DATES: The rule is effective August 2, 2024. The compliance date for small entities is February 3, 2025.",
        "2024-08-02",
    ),
    (
        "compliance excepted by the same sentence",
        FR + "DATES: This rule takes effect August 2, 2024, except that compliance with the labels is not required"
        " until February 3, 2025.",
        "2024-08-02",
    ),
    (
        "incorporation by reference on the same and on an older day",
        FR + "DATES: This AD is effective July 8, 2024. The Director of the Federal Register approved the"
        " incorporation by"
        " reference of one publication as of July 8, 2024, and of another as of March 1, 2019 (84 FR"
        " 2715, January 25, 2019).",
        "2024-07-08",
    ),
    (
        "temporary rule from and until",
        "ACTION: Temporary final rule.\n\nDATES: This rule is effective from 8 a.m. on June 1, 2025,"
        " until 10 p.m. on June 3, 2025.",
        "2025-06-01",
    ),
    (
        "temporary rule with actual notice",
        "ACTION: Temporary final rule.\nJune 5, 2025\n\nDATES: This rule is effective without actual"
        " notice from June 5, 2025"
        " through June 10, 2025. For the purposes of enforcement, actual notice will be used from"
        " May 28, 2025, until June 5,"
        " 2025.",
        "2025-06-05",
    ),
    (
        "effective day range",
        "The safety zone is effective June 1-3, 2025, daily from 9 a.m. to 5 p.m.",
        "2025-06-01",
    ),
    (
        "thirty days after publication",
        FR + "Effective Date: The rule is effective 30 days after publication in the Federal Register.",
        "2024-07-03",
    ),
    (
        "spelled number of days",
        FR + "The order takes effect sixty (60) days after the date of its publication.",
        "2024-08-02",
    ),
    (
        "upon publication",
        FR + "This rule is effective upon publication in the Federal Register.",
        "2024-06-03",
    ),
    ("immediately", FR + "This rule is effective immediately.", "2024-06-03"),
    (
        "months after publication",
        FR + "The requirements come into force six months after publication of this notice.",
        "2024-12-03",
    ),
    (
        "the twentieth day",
        FR + "The regulation shall enter into force on the twentieth day following that of its publication.",
        "2024-06-23",
    ),
    (
        "first of the next month",
        FR + "The rates take effect on the first day of the month following publication.",
        "2024-07-01",
    ),
    (
        "counted from a named approval",
        FR + "The Council approved the tariff on May 1, 2024. The tariff is effective 45 days after"
        " approval by the Council.",
        "2024-06-15",
    ),
    (
        "counted from a written day",
        FR + "The amendments are effective 90 days after July 1, 2024.",
        "2024-09-29",
    ),
    (
        "delay of another rule",
        "ACTION: Final rule; delay of effective date.\n\nDATES: As of March 20, 2025, the effective"
        " date of the final rule"
        " published on January 15, 2025, at 90 FR 3900, is delayed until May 20, 2025.",
        "2025-05-20",
    ),
    (
        "delay naming both days",
        "The Commission delays the February 4, 2025 effective date of the Reporting Rule to August 5, 2025.",
        "2025-08-05",
    ),
    (
        "correction of the date itself",
        "ACTION: Final rule; correction.\n\nIn rule document 2024-1111 the effective date was given"
        " as March 5, 2024. It should"
        " read May 6, 2024.",
        "2024-05-06",
    ),
    (
        "correction of a rule that names its own start",
        "ACTION: Correcting amendments.\n\nDATES: Effective on September 9, 2024.\n\nThe final rule"
        " published on June 3, 2024, and"
        " effective on July 3, 2024, left out a table.",
        "2024-09-09",
    ),
    (
        "withdrawal as of a day",
        "ACTION: Withdrawal of direct final rule.\n\nDATES: The direct final rule published on"
        " August 22, 2023 (88 FR 57000), is"
        " withdrawn effective October 13, 2023.",
        "2023-10-13",
    ),
    (
        "direct final rule with a condition",
        "ACTION: Direct final rule.\n\nDATES: This rule is effective on April 8, 2024 without"
        " further notice, unless EPA receives"
        " adverse comment by March 8, 2024.",
        "2024-04-08",
    ),
    (
        "interim rule with comments",
        "ACTION: Interim final rule with request for comments.\n\nDATES: Effective May 1, 2024."
        " Comments are due by July 1, 2024.",
        "2024-05-01",
    ),
    (
        "a heading above a bare day",
        "# Rule\n\nPublished 2024-01-05\n\n## Effective date\n\n5 February 2024\n\n## Comments\n\nMarch 1, 2024",
        "2024-02-05",
    ),
    (
        "key and value table",
        "| Field | Value |\n|---|---|\n| Published | 2 May 2024 |\n| In force from | 1 June 2024 |",
        "2024-06-01",
    ),
    ("day before the verb", "On 1 October 2025 the revised fee schedule enters into force.", "2025-10-01"),
    ("ordinal with of", "The code of practice takes effect on the 1st of March 2026.", "2026-03-01"),
    ("abbreviated month", "Effective: Mar. 3, 2026", "2026-03-03"),
    ("dashes and month", "EFFECTIVE DATE 03-Mar-2026", "2026-03-03"),
    ("slashes, year first", "The bylaw is in force from 2026/03/01.", "2026-03-01"),
    ("order shown by another day", "Posted 25/02/2026. The bylaw takes effect on 03/04/2026.", "2026-04-03"),
    ("order shown by a weekday", "The bylaw takes effect on Friday, 03/04/2026.", "2026-04-03"),
    ("order shown in words", "Issued 03/04/2026 (3 April 2026). In force from 05/06/2026.", "2026-06-05"),
    ("order said outright", "All dates are DD/MM/YYYY. Effective date: 05/06/2026.", "2026-06-05"),
    ("same day and month", "Effective date: 05/05/2026.", "2026-05-05"),
    ("year carried back", "The order moves the start from March 8 to May 7, 2021.", "2021-05-07"),
    ("year carried forward", "The start was moved from March 8, 2021 to May 7.", "2021-05-07"),
    ("not until", "The rule does not take effect until May 7, 2021.", "2021-05-07"),
    (
        "a directive's number is no day",
        "This AD replaces AD 2022-08-04. It becomes effective 2024-01-17.",
        "2024-01-17",
    ),
    (
        "a cited rule that took effect",
        "The 2019 rule took effect on March 1, 2019. The amendments in this rule are effective June 2, 2025.",
        "2025-06-02",
    ),
    ("struck date", "Effective date: ~~June 2, 2025~~ September 2, 2025", "2025-09-02"),
    ("applicable alone", "ACTION: Notice.\n\nDATES: Applicable March 4, 2024.", "2024-03-04"),
    ("commencement", "Commencement: these Regulations come into operation on 6th April 2025.", "2025-04-06"),
]

NOT_STATED: list[tuple[str, str, str]] = [
    (
        "proposed rule",
        "ACTION: Proposed rule.\n\nIf finalized, the rule would take effect on January 1, 2026."
        " Comments by May 1, 2025.",
        "not_in_force",
    ),
    (
        "proposal that is effective in its text",
        "ACTION: Notice of proposed rulemaking.\n\nProposed effective date: January 1, 2026.",
        "not_in_force",
    ),
    (
        "hearing",
        "ACTION: Notice of public hearing.\n\nDATES: The hearing takes place on May 6, 2025."
        " Requests by April 20, 2025.",
        "not_in_force",
    ),
    (
        "meeting without an action line",
        "The Board meets on May 6, 2025 at 9 a.m. Send comments by May 1, 2025.",
        "none",
    ),
    (
        "one section later",
        FR + "DATES: This final rule is effective on July 3, 2024, except for § 52.21, which is effective"
        " January 2, 2025.",
        "several",
    ),
    (
        "one section on an unnamed day",
        FR + "DATES: Effective July 3, 2024, except for the amendment to § 64.1200, which is delayed indefinitely.",
        "not_in_force several",
    ),
    (
        "the agency will announce the day",
        FR + "DATES: Sections 1 to 4 are effective July 3, 2024. The agency will publish a document"
        " announcing the effective"
        " date of section 5.",
        "several",
    ),
    (
        "delayed indefinitely",
        "The effective date of the amendments, April 1, 2025, is delayed indefinitely.",
        "not_in_force",
    ),
    (
        "two parts",
        FR + "Section 2 takes effect July 3, 2024. Section 3 takes effect January 1, 2025.",
        "several",
    ),
    (
        "approval on no day",
        "The bylaw is effective 60 days after the approval by the Council. Published May 2, 2024.",
        "unnamed_day",
    ),
    ("publication on no day", "This rule is effective 30 days after publication.", "unnamed_day"),
    ("working days", FR + "The rule is effective 30 business days after publication.", "unnamed_day"),
    (
        "upon approval by another body",
        FR + "The collection takes effect upon approval by the Office of Management and Budget.",
        "unnamed_day",
    ),
    ("two readings", "Effective date: 03/04/2026.", "ambiguous"),
    ("a month only", "The rule takes effect in March 2026.", "ambiguous"),
    ("no earlier than", "The change takes effect no earlier than 1 June 2026.", "not_in_force"),
    (
        "will not take effect",
        "The rule published on January 7, 2021 will not take effect on March 8, 2021. It is withdrawn.",
        "not_in_force",
    ),
    ("only a comment day", "Comments are due March 3, 2026.", "none"),
    ("only a compliance day", FR + "Compliance date: March 3, 2026.", "none"),
    ("nothing at all", "", "none"),
    ("no such day", "Effective date: February 30, 2026", "ambiguous"),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in STATED], ids=[row[0] for row in STATED])
def test_a_day_that_the_wording_settles_is_read(text: str, expected: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective == date.fromisoformat(expected), reading
    assert reading.reason in ("stated", "relative")
    assert reading.quote
    assert reading.quote in text


@pytest.mark.parametrize(("text", "reasons"), [row[1:] for row in NOT_STATED], ids=[row[0] for row in NOT_STATED])
def test_a_day_that_the_wording_leaves_open_is_not_guessed(text: str, reasons: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective is None, reading
    assert reading.reason in reasons.split()
    assert reading.quote in text
