"""Short notices that once misled a reading, or might: each line names the one day, or none."""

from datetime import date

import pytest

from tools.notices import read_effective_date

NOTICES: list[tuple[str | None, str]] = [
    (
        "2020-11-05",
        "# Special Local Regulation; Lake Havasu\n"
        "Coast Guard | 33 CFR 100 | Docket USCG-2020-0520\n"
        "In the Federal Register of October 6, 2020 (85 FR 62954)\n"
        "Type: Notice of enforcement of regulation\n"
        "\n"
        "When\n"
        "The regulation will be enforced from 7 a.m. on November 5, 2020 to 5 p.m. on November 8, "
        "2020.\n",
    ),
    (
        "2017-03-21",
        "# Federal Acquisition: Delay\n"
        "Printed January 30, 2017\n"
        "ACTION: Final rule; delay\n"
        "The rule that came out on January 9, 2017 was to start on January 30, 2017. Under a "
        "memorandum of January 20, 2017 it is put\n"
        "off to March 21, 2017.\n",
    ),
    (
        None,
        "# Drinking Water Rule\n"
        "EPA. Final rule. January 15, 2021 (86 FR 4198)\n"
        "\n"
        "Dates\n"
        "The rule works from March 16, 2021. For the amendments to sections 141.80 and 141.84 the "
        "start is January 16, 2024.\n",
    ),
    (
        "2019-12-27",
        "# Joint Employer Status\n"
        "Published: Monday, 16 December 2019\n"
        "Effective: 11 days after the day on which this document is published\n",
    ),
    (
        "2018-01-16",
        "National Emission Standards\n"
        "FR Doc 2017-24930; Nov. 16, 2017\n"
        "Direct final rule.\n"
        "Unless an objection reaches EPA by December 18, 2017 the rule is good from January 16, "
        "2018.\n",
    ),
    (
        "2025-11-01",
        "# 关于增值税发票的公告\n"
        "国家税务总局公告2025年第20号\n"
        "成文日期:2025年9月28日\n"
        "一、……\n"
        "五、本公告自2025年11月1日起施行。《国家税务总局公告》(2016年第23号)第三条自2025年11月1日起废止。\n"
        "特此公告。\n"
        "国家税务总局\n"
        "2025年9月28日\n",
    ),
    (
        None,
        "# 关于食品标签的公告\n发布日期:2025年3月27日\n本标准自2027年3月16日起实施,其中第4.2条自发布之日起实施。\n",
    ),
    (
        "2025-06-01",
        "# 人脸识别技术应用安全管理办法\n2024年9月30日审议通过,2025年3月13日公布\n本办法自2025年6月1日起施行\n",
    ),
    (
        "2024-10-01",
        "# 关于推迟某办法施行的公告\n"
        "二〇二四年六月二十日\n"
        "《某办法》(2024年1月5日公布,原定2024年7月1日施行)推迟到2024年10月1日施行。\n",
    ),
    (
        "2022-10-01",
        "# Basic authentication in Exchange Online\n"
        "Posted: September 20, 2021\n"
        "Effective October 1, 2022, we will begin to permanently disable Basic Auth in all "
        "tenants.\n",
    ),
    (
        "2024-09-30",
        "# Podcasts app goes away\n"
        "Blog, 26 Sept 2023\n"
        "Later in 2024 the app will be closed. Update of 2 April 2024: listeners in the US can use "
        "it until 2 April 2024; everywhere\n"
        "the service ends for good on 30 September 2024.\n",
    ),
    (
        "2023-06-30",
        "Old ciphers to be switched off\n"
        "Posted by the network team on Wednesday 01/03/2023\n"
        "TLS 1.0 goes off on 30/06/2023. Test window: 05/06/2023.\n",
    ),
    (
        "2026-02-28",
        "# Model retirement\nNotice: 2025-08-28\n`alpha-2` retires six months after this notice.\n",
    ),
    (
        "2021-09-01",
        "# Terms\n"
        "Published on July 1, 2021\n"
        "If you do not agree, close your account by August 31, 2021. The new terms govern your use "
        "as of September 1, 2021.\n",
    ),
    (
        "2025-05-12",
        "# REAL ID\n"
        "Published: January 14, 2025\n"
        "The rule has effect as of May 12, 2025. Agencies may phase in enforcement until May 5, "
        "2027.\n",
    ),
    (
        None,
        "# Energy Standards for Fans\n"
        "Published: January 19, 2024\n"
        "Action: Notification of data availability\n"
        "Written comments are welcome until March 4, 2024. A final rule is planned for 2025.\n",
    ),
    (
        "2024-03-25",
        "# Wage rates\n"
        "Issued January 25, 2024\n"
        "Effective date and time: 12.01 a.m., 25 March 2024. First payroll under the new rates: 5 "
        "April 2024.\n",
    ),
    (
        None,
        "Published June 2, 2025\n"
        "\n"
        "This final rule is effective July 2, 2025, except that section 12 takes effect 60 days "
        "after OMB approves it.",
    ),
    (
        "2025-07-02",
        "Published June 2, 2025\n"
        "\n"
        "The rule published on April 1, 2025, with an effective date of May 1, 2025, is delayed to "
        "July 2, 2025.",
    ),
    (
        None,
        "Published June 2, 2025\n"
        "\n"
        "ACTION: Proposed rule; withdrawal.\n"
        "The proposed rule of March 1, 2024 is withdrawn.",
    ),
    (
        "2025-06-02",
        "Published June 2, 2025\n"
        "\n"
        "ACTION: Proposed rule; withdrawal.\n"
        "As of June 2, 2025, the proposed rule published on March 1, 2024 is withdrawn.",
    ),
    (
        "2025-07-02",
        "Published June 2, 2025\n"
        "\n"
        "The agency had proposed a start of June 15, 2025. After reading the comments it sets July "
        "2, 2025 as the effective date.",
    ),
    (
        "2025-07-02",
        "Published June 2, 2025\n\nEffective date. July 2, 2025.\nCompliance date. January 2, 2026.",
    ),
    (
        "2025-07-02",
        "Published June 2, 2025\n"
        "\n"
        "| | Date |\n"
        "|---|---|\n"
        "| Comment deadline | May 1, 2025 |\n"
        "| Effective date | July 2, 2025 |",
    ),
    (
        "2025-07-02",
        "Published June 2, 2025\n"
        "\n"
        "Key dates: comments closed on March 3, 2025; rule in force on July 2, 2025; first reports "
        "due on October 1, 2025.",
    ),
    (
        "2025-08-01",
        "Published June 2, 2025\n\nIt takes effect on the first day of the second month after publication.",
    ),
    (
        "2025-07-02",
        "Published June 2, 2025\n\nRegulators expect firms to be ready by 2 July 2025, when the rule takes effect.",
    ),
    (
        "2025-07-02",
        "Published June 2, 2025\n\nNothing changes until 2 July 2025, the day on which the rule enters into force.",
    ),
    (
        None,
        "Published June 2, 2025\n\nThe amendments are stayed until further notice.",
    ),
    (
        "2025-07-02",
        "Published June 2, 2025\n"
        "\n"
        "Although the statute took effect on January 1, 2025, these regulations do so on July 2, "
        "2025, their effective date.",
    ),
    (
        "2025-12-01",
        "Published June 2, 2025\n"
        "\n"
        "We are giving you more time: instead of September 1, 2025, API keys of the old kind will "
        "stop working on December 1, 2025.",
    ),
    (
        "2025-12-01",
        "Published June 2, 2025\n"
        "\n"
        "Status: deprecated\n"
        "Deprecation date: June 2, 2025\n"
        "Shutdown date: December 1, 2025\n"
        "Replacement: v3 (available since May 1, 2025)",
    ),
    (
        "2025-12-01",
        "Published June 2, 2025\n"
        "\n"
        "The v2 API reaches end of life on 1 December 2025. Extended support can be bought until 1 "
        "December 2026.",
    ),
    (
        "2025-12-01",
        "Published June 2, 2025\n"
        "\n"
        "The new minimum TLS version will be enforced for all traffic on December 1, 2025 at 00:00 "
        "UTC; for test accounts on November 3, 2025.",
    ),
    (
        None,
        "Published June 2, 2025\n"
        "\n"
        "Deprecated models are shut down at different times: model A on 2025-12-01 and model B on "
        "2026-03-01.",
    ),
    (
        "2025-12-01",
        "Published June 2, 2025\n"
        "\n"
        "Gradual removal begins on October 1, 2025. By December 1, 2025 the old editor is gone for "
        "everyone.",
    ),
    (
        "2025-12-01",
        "Published June 2, 2025\n"
        "\n"
        "This page was last updated on August 5, 2025. Version 4 is retired on December 1, 2025.",
    ),
    (
        "2025-12-01",
        "发布时间:2025年6月2日\n自2025年12月1日零时起,旧版SDK将无法登录。",
    ),
    (
        "2025-12-01",
        "发布时间:2025年6月2日\n由于系统升级,原定于9月1日的下线时间推迟到2025年12月1日。",
    ),
    (
        None,
        "发布时间:2025年6月2日\n旧版接口将于2025年第四季度下线。",
    ),
    (
        "2025-12-01",
        "公布日期:2025年6月2日\n"
        "本条例自2025年12月1日起施行。本条例施行前已取得许可的,应当自本条例施行之日起6个月内换领新证。",
    ),
    (
        "2025-07-02",
        "公布日期:2025年6月2日\n第十条 本办法自发布之日起30日后施行,2019年8月1日发布的办法同时废止。",
    ),
    (
        "2025-12-01",
        "2025年6月2日,市政府常务会议通过本规定,2025年6月10日公布,2025年12月1日施行。",
    ),
    (
        None,
        "公布日期:2025年6月2日\n除第三条自公布之日起施行外,本办法自2025年12月1日起施行。",
    ),
    (
        "2025-12-01",
        "本公告有效期自2025年12月1日至2026年11月30日。\n发布日期:2025年6月2日",
    ),
]


@pytest.mark.parametrize(("expected", "text"), NOTICES)
def test_a_tricky_notice_is_read_as_a_careful_reader_would(expected: str | None, text: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective == (date.fromisoformat(expected) if expected else None), reading
    assert reading.quote in text
