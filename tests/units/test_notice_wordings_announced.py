"""Announcements of vendors and Chinese notices retold freely, with the lines broken as in a letter."""

from datetime import date

import pytest

from tools.notices import read_effective_date

STATED: list[tuple[str, str, str]] = [
    (
        "vendor: the lights go out",
        """Goodbye, Widgets API
Acme Engineering Blog - 14 January 2026

After eight years we are closing the Widgets API. Keys can be used for the last time on
14 July 2026; any call made later gets a 410.
""",
        "2026-07-14",
    ),
    (
        "vendor: basic auth",
        """# Retirement of Basic Authentication for SMTP AUTH

Posted: April 15, 2024
Updated: January 27, 2026

We said at first that Basic Authentication would be switched off in September 2025.
~~September 2025~~ New schedule: rejections begin for a small share of mail on March 1, 2026 and
reach 100% of mail on April 30, 2026.
""",
        "2026-04-30",
    ),
    (
        "vendor: password tokens",
        """# Token authentication requirements for Git operations

GitHub blog, December 15, 2020

- June 30, 2021 and July 28, 2021: brownouts, in which passwords are refused for some hours.
- August 13, 2021, 09:00 PST: passwords are no longer accepted for Git operations.
""",
        "2021-08-13",
    ),
    (
        "vendor: a column for the end",
        """Runtime support policy

| Runtime | Deprecated on | Removed on |
|---|---|---|
| node14 | Dec 4, 2023 | Feb 9, 2027 |
| python3.7 | Dec 4, 2023 | Feb 9, 2027 |
""",
        "2027-02-09",
    ),
    (
        "vendor: terms for old and new users",
        """Updated Terms of Service
Last modified: June 2, 2025

People who sign up from June 2, 2025 accept the new terms at once. For everybody else they take
effect on July 1, 2025.
""",
        "2025-07-01",
    ),
    (
        "vendor: certificates",
        """Root certificate change
November 4, 2025

The old root is dropped from our servers on 13 May 2026. Tests against the new root are possible
from 3 February 2026 on the staging host.
""",
        "2026-05-13",
    ),
    (
        "中国:修改后的决定",
        """# 关于修改部分规章的决定

国家某局令第88号
2024年11月20日国家某局第6次局务会议审议通过
现予公布,自2025年1月20日起施行。

局长:某某
2024年12月6日

一、将第五条修改为……
二、删去第九条。
""",
        "2025-01-20",
    ),
    (
        "中国:标准的代替",
        """国家标准公告2024年第9号

《食品安全要求》(GB 1-2024)代替GB 1-2015,2024年5月28日发布,2024年12月1日实施。
""",
        "2024-12-01",
    ),
    (
        "中国:关税",
        """国务院关税税则委员会公告2025年第1号
发布日期:2025年2月4日

经国务院批准,自2025年2月10日起,对原产于美国的部分进口商品加征关税。
一、对煤炭加征15%关税。
""",
        "2025-02-10",
    ),
    (
        "中国:暂停并恢复",
        """某部公告2025年第70号
公布日期:2025年11月7日

自即日起至2026年11月10日,暂停实施2025年10月9日公布的第61号公告。
""",
        "2025-11-07",
    ),
    (
        "中国:公布三十日后",
        """关于规范某业的规定
(2024年6月12日发布)

第十二条 本规定自发布之日起六十日后施行。
""",
        "2024-08-11",
    ),
    (
        "中国:施行日在前面",
        """【施行日期】2025.07.01
【公布日期】2025.04.18
【时效性】尚未生效
某某管理条例
""",
        "2025-07-01",
    ),
    (
        "中国:平台停运",
        """关于云相册停止运营的公告
2025-01-08

亲爱的用户,云相册将于2025年4月8日零点起停止运营。2025年3月8日起不再接受新用户注册,
请您在4月7日24:00前导出数据。
""",
        "2025-04-08",
    ),
    (
        "中国:延期后的实施",
        """关于调整某标准实施时间的公告
发布日期:2024年9月2日

2024年3月5日发布的某标准原定自2024年10月1日起实施。考虑到企业准备情况,决定将实施时间延后至
2025年4月1日。
""",
        "2025-04-01",
    ),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in STATED], ids=[row[0] for row in STATED])
def test_a_retold_announcement_gives_the_day_that_it_settles(text: str, expected: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective == date.fromisoformat(expected), reading
    assert reading.quote
    assert reading.quote in text
