"""Notices retold freely, as a summary for readers would word them, with the lines broken as in a letter."""

from datetime import date

import pytest

from tools.notices import read_effective_date

STATED: list[tuple[str, str, str]] = [
    (
        "the rule counts from a day",
        """# Hazardous Materials; Harmonization

AGENCY: Pipeline and Hazardous Materials Safety Administration
ACTION: Final rule
Document 2024-06956, 89 FR 25434
Thursday, April 11, 2024

DATES
The rule counts from May 10, 2024. Shippers may follow it from April 11, 2024 if they
wish, and have to follow it from April 11, 2025. The Director of the Federal Register
cleared the listed standards for incorporation by reference as of May 10, 2024.
""",
        "2024-05-10",
    ),
    (
        "in force with a day of the week",
        """Fees for Passport Services
Department of State, Public Notice 8841
Dates: The new fees are in force from Monday, June 2, 2014, at 12:01 a.m.
An interim version was open for comments until May 1, 2014.
""",
        "2014-06-02",
    ),
    (
        "delay by a court's deadline",
        """# Overtime Rule: Postponement

Published: May 1, 2023
The rule of January 12, 2023 should have begun to apply on May 11, 2023. With this
document the agency sets that date aside: the rule begins to apply on October 1, 2023.
""",
        "2023-10-01",
    ),
    (
        "a zone on the river",
        """# Safety Zone; Ohio River, Cincinnati, OH

Coast Guard, DHS. Temporary final rule. 88 FR 44041.
Published July 11, 2023

Effective from 9 p.m. until 11 p.m. on July 22, 2023.
""",
        "2023-07-22",
    ),
    (
        "extension of a rule that runs already",
        """# Import Restrictions on Archaeological Material

ACTION: Final rule
Published 2022-09-12

The agreement between the two governments was first signed on September 14, 2007 and is
carried on for five more years.

Effective date: September 14, 2022
Expires: September 14, 2027
""",
        "2022-09-14",
    ),
    (
        "a directive replaced",
        """# Airworthiness Directives; The Boeing Company Airplanes

AD 2019-05-03 is superseded by AD 2020-11-08.
Federal Register: Friday, May 29, 2020

DATES
From July 3, 2020 the directive binds operators.
As of that day the service bulletin is incorporated by reference; an earlier bulletin was
approved on April 12, 2019.
""",
        "2020-07-03",
    ),
    (
        "confirmation of a direct final rule",
        """ACTION: Direct final rule; confirmation of effective date
Published: March 4, 2019

No adverse comment came in by January 22, 2019, so the agency confirms that the rule
published on December 21, 2018 is effective on March 21, 2019.
""",
        "2019-03-21",
    ),
    (
        "European date in a heading",
        """Regulation on packaging
Official Journal, 22.1.2025

Entry into force: 11 February 2025
Date of application: 12 August 2026
""",
        "2025-02-11",
    ),
    (
        "counted and said",
        """Notice to mariners
Published 02/01/2025

The change comes into force 30 days after publication, that is on 1 February 2025.
""",
        "2025-02-01",
    ),
    (
        "the order takes effect at the end of a count from signing",
        """Order of the Director
Signed: February 3, 2025
Published: February 6, 2025
The order goes into effect 10 days after it is signed.
""",
        "2025-02-13",
    ),
]

NOT_STATED: list[tuple[str, str]] = [
    (
        "a hearing and nothing else",
        """Estate tax portability
ACTION: Notice of proposed rulemaking and notice of public hearing
October 3, 2016

Comments are due by January 3, 2017. The hearing is on February 8, 2017.
The rules are meant to apply to returns filed after the final rules come out.
""",
    ),
    (
        "two chapters",
        """The Licensing Order
Published 2 May 2024

Parts 1 and 2 come into force on 1 June 2024. The rest comes into force on 1 October 2024.
""",
    ),
    (
        "vendor: by plan",
        """Old editor retires
January 12, 2026

| Plan | Old editor ends |
|---|---|
| Free | March 2, 2026 |
| Team | June 1, 2026 |
""",
    ),
    (
        "vendor: a window of weeks",
        """Sign-in change
January 12, 2026

Accounts move over a few at a time during spring 2026; you will get a mail before yours does.
""",
    ),
    (
        "中国:批准后",
        """某市总体规划
2025年3月1日公示

本规划经省政府批准后生效。
""",
    ),
    (
        "中国:分步",
        """某部公告
公布日期:2025年4月1日

出口许可要求自2025年5月1日起施行,进口许可要求自2025年10月1日起施行。
""",
    ),
    (
        "rule in two readings",
        """Harbour dues
Issued 05/06/2025

The new dues are payable with effect from 07/08/2025.
""",
    ),
    (
        "withdrawn before it began",
        """ACTION: Withdrawal of final rule
Published June 2, 2025

The rule of January 10, 2025 was to take effect on June 9, 2025. The agency takes it back, and it
will not take effect.
""",
    ),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in STATED], ids=[row[0] for row in STATED])
def test_a_retold_notice_gives_the_day_that_it_settles(text: str, expected: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective == date.fromisoformat(expected), reading
    assert reading.quote
    assert reading.quote in text


@pytest.mark.parametrize("text", [row[1] for row in NOT_STATED], ids=[row[0] for row in NOT_STATED])
def test_a_retold_notice_without_one_day_gives_none(text: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective is None, reading
    assert reading.quote in text
