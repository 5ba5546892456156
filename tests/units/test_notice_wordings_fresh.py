"""Notices written without a look at the rules, of the sorts that the reader met for the first time in them."""

from datetime import date

import pytest

from tools.notices import read_effective_date

STATED: list[tuple[str, str, str]] = [
    (
        "the start stands before its verb, beside an older order's own start",
        "Printed in the Federal Register 6/19/2015\n\n"
        "0901 UTC on August 20, 2015 is when the amendment starts. It is\n"
        "subject to the yearly revision of Order 7400.9, which is dated August 6, 2014 and became effective\n"
        "September 15, 2014.\n",
        "2015-08-20",
    ),
    (
        "a replaced directive's start",
        "Final rule. FR June 5, 2009\n\nIt supersedes AD 2007-02-05, which was effective March 5, 2007.\n"
        "This AD becomes effective June 22, 2009.\n",
        "2009-06-22",
    ),
    (
        "a foreign directive's start between commas",
        "Published September 20, 2018\n\nThe rule answers a Brazilian directive, effective August 28, 2017, "
        "about masks.\n\n"
        "* Effective: October 25, 2018\n",
        "2018-10-25",
    ),
    (
        "days counted from the start in a table",
        "Published June 3, 2019\n\n| Event | Date |\n|---|---|\n| AD effective | July 8, 2019 |\n"
        "| First inspection | within 90 days after the effective date of this AD |\n",
        "2019-07-08",
    ),
    (
        "dotted leaders",
        "Wind parks\n\n"
        "Proposed rule ........ June 5, 2007\nFinal rule, Federal Register ........ November 28, 2008\n"
        "Start of rule ........ December 29, 2008\nFirst report due ........ January 31, 2010\n",
        "2008-12-29",
    ),
    (
        "counted from an appearance",
        "Appeared on December 30, 2011 in volume 76 of the Federal Register\n\n"
        "This interim rule is effective thirty-one days following its appearance in the Federal Register.\n",
        "2012-01-30",
    ),
    (
        "a counted day that is named too",
        "Final rule\n\n"
        "It was signed on March 9, 2020, and takes effect on the date it is published in the Federal\n"
        "Register, that is, March 16, 2020.\n",
        "2020-03-16",
    ),
    (
        "put off twice",
        "Printed May 6, 2021\n\n"
        "The exemption was to become effective on February 16, 2021. A first notice of February 12,\n"
        "2021 pushed that to April 17, 2021. By this second notice the effective date becomes June 30, 2021.\n",
        "2021-06-30",
    ),
    (
        "in force on a described day",
        "Published: December 7, 2021\nIn force: the date of publication\n\n"
        "The regulations were added by a rule that went\n"
        "into effect on October 26, 2020.\n",
        "2021-12-07",
    ),
    (
        "a stretch of time under a bare label",
        "Temporary rule\nPublication: October 12, 2016\n\n"
        "Dates: October 11, 2016, through 2400 hours, December 31, 2016.\n",
        "2016-10-11",
    ),
    (
        "a cited measure in brackets",
        "公告\n发文日期:2022年10月12日\n\n根据《采信管理办法》(海关总署令第259号公布,2022年12月1日起施行),提出要求。\n"
        "本公告自发布之日起30日后实施。\n",
        "2022-11-11",
    ),
    ("the day after the issue", "通知\n2014年12月31日发布\n\n本办法自发布次日起施行。\n", "2015-01-01"),
    (
        "a wrong date put right",
        "更正\n2023年10月27日\n\n公告中,“自2023年11月1日起正式实施”应为“自2023年12月1日起正式实施”。\n",
        "2023-12-01",
    ),
    (
        "next year's day",
        "公告\n【成文】2019年12月23日 【公开】2019年12月27日\n\n以上措施明年2月1日起施行。\n",
        "2020-02-01",
    ),
    ("digits right beside the words", "标准公告\n发布日期 2024-06-29 |实施日期 2025-07-01\n", "2025-07-01"),
    ("a month in words", "通知\n2023年3月9日\n\n方案自今年五月一日起实施,试行期一年。\n", "2023-05-01"),
    (
        "another's announcement",
        "公告\n2018年9月18日发布\n\n2018年9月18日美国政府宣布实施加征关税的措施。\n"
        "国务院关税税则委员会决定,自2018年9月24日12时01分起加征关税。\n",
        "2018-09-24",
    ),
    (
        "the next sentence tells what the day is",
        "The end of calling\n\nFebruary 28, 2025\n\n"
        "Important day: 5 May 2025. The app is available until then, and it is\n"
        "gone for everyone from that day.\n",
        "2025-05-05",
    ),
    (
        "counted with words between",
        "Post in the blog, 26 April 2023\n\nIn three months' time, counted from today, we will close the free tier.\n",
        "2023-07-26",
    ),
    (
        "newcomers first in one Chinese sentence",
        "公告\n\n我们将于2023年12月31日24:00停止新用户注册,2024年3月31日24:00正式停止运营。\n\n2023年11月30日\n",
        "2024-03-31",
    ),
    (
        "clauses parted by spaces",
        "条例\n\n(2024年5月11日国务院第32次常务会议通过 2024年6月6日国务院令第783号公布 自2024年8月1日起施行)\n",
        "2024-08-01",
    ),
    (
        "moved twice in one sentence",
        "Posted 2 Feb 2023\n\n"
        "The end of the old login moved twice: first from 31 March to 31 May 2023, then from 31 May to\n"
        "31 August 2023.\n",
        "2023-08-31",
    ),
    (
        "issued on one day and published on another",
        "Final rule\nIssued: March 15, 2022 / Published: March 21, 2022\n\n"
        "Start of the rule: the thirtieth day after publication.\n",
        "2022-04-20",
    ),
    (
        "put right in quotation marks",
        "Published February 15, 2012\n\nThese regulations are effective on April 16, 2012.\n"
        'Correction: for "April 16, 2012" read "August 1, 2012".\n',
        "2012-08-01",
    ),
]

NOT_STATED: list[tuple[str, str]] = [
    (
        "nothing but older rules' starts",
        "Request for information\nJune 18, 2015\n\n"
        "The standards now in force took effect on June 1, 2014 and were adopted\n"
        "by a rule of April 21, 2011, itself effective August 19, 2011.\n",
    ),
    (
        "a part that begins later",
        "Published on March 21, 2018\nFinal rule\n\nThis regulation is effective on April 20, 2018.\n\n"
        "The amendments to appendix C begin on October 1, 2018.\n",
    ),
    (
        "one day here and another elsewhere",
        "Last revised: January 15, 2025\n\n"
        "The new terms apply to all existing customers from March 1, 2025 in Europe and\n"
        "April 1, 2025 elsewhere.\n",
    ),
    (
        "a new date is promised",
        "Announced: 14 Nov 2022\n\n"
        "Support was to be removed on 1 November 2023. It has now been put off; a new date will be\n"
        "given at least six months ahead.\n",
    ),
    (
        "a start long past is another act's",
        "解读\n2025年4月22日\n\n条例2018年5月1日施行。此次修改增加包装一章。\n",
    ),
    (
        "places that follow one another",
        "公告\n2025年2月5日\n\n一、上海口岸自2025年3月1日起;\n二、青岛口岸自2025年4月1日起;\n"
        "三、其余口岸自2025年6月1日起,实行新办法。\n",
    ),
    ("an old measure's start", "问答\n2022年1月10日\n\n答:旧办法2020年6月1日起施行,在新办法施行时废止。\n"),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in STATED], ids=[row[0] for row in STATED])
def test_a_freshly_written_notice_gives_the_day_that_it_settles(text: str, expected: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective == date.fromisoformat(expected), reading
    assert reading.quote
    assert reading.quote in text


@pytest.mark.parametrize("text", [row[1] for row in NOT_STATED], ids=[row[0] for row in NOT_STATED])
def test_a_freshly_written_notice_without_one_day_gives_none(text: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective is None, reading
    assert reading.quote in text
