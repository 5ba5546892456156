"""How software vendors word a change: each line of the table is an announcement that a careful reader can settle."""

from datetime import date

import pytest

from tools.notices import read_effective_date

POST = "Changelog\nPublished March 2, 2026\n\n"

TARIFF = "Harbour tariff\nPublished 4 January 2027\n\n"

STATED: list[tuple[str, str, str]] = [
    ("sunset", POST + "The v1 API will be sunset on September 30, 2026.", "2026-09-30"),
    ("end of life label", POST + "End of life: 30 Sep 2026", "2026-09-30"),
    (
        "removed from the platform",
        POST + "The endpoint will be removed from the platform on 2026-09-30.",
        "2026-09-30",
    ),
    (
        "time of day and zone",
        POST + "At 5 PM PT on Wednesday, September 30, 2026 we will shut down the legacy gateway.",
        "2026-09-30",
    ),
    ("starting", POST + "Starting October 1, 2026, every request needs a signed token.", "2026-10-01"),
    (
        "brownouts before the end",
        POST + "Brownouts run on August 3, 2026 and September 1, 2026. The endpoint stops responding on"
        " October 1, 2026.",
        "2026-10-01",
    ),
    (
        "new apps first",
        POST + "New apps cannot use the method from May 16, 2026. It stops working for all existing apps on"
        " November 12, 2026.",
        "2026-11-12",
    ),
    (
        "new and existing in one sentence",
        POST + "The new price applies to new customers from May 1, 2026 and to existing customers from August 1, 2026.",
        "2026-08-01",
    ),
    (
        "moved from and to",
        POST + "We moved the shutdown from June 1, 2026 to December 1, 2026.",
        "2026-12-01",
    ),
    (
        "extended to",
        POST + "The retirement of Basic Auth, originally planned for June 1, 2026, has been extended to"
        " December 1, 2026.",
        "2026-12-01",
    ),
    (
        "postponed in two sentences",
        POST + "The cutover was scheduled for June 1, 2026. It now happens on July 1, 2026.",
        "2026-07-01",
    ),
    (
        "brought forward",
        POST + "The shutdown has been brought forward from June 1, 2026 to May 4, 2026.",
        "2026-05-04",
    ),
    ("old day in brackets", POST + "Shutdown date: July 1, 2026 (was: May 1, 2026)", "2026-07-01"),
    ("arrow", POST + "Removal date: 2026-05-01 -> 2026-07-01", "2026-07-01"),
    (
        "pointing sentence",
        POST + "We are retiring the sync service. This happens on 8 June 2026.",
        "2026-06-08",
    ),
    (
        "table of rows",
        POST + "| Model | Retirement date |\n|---|---|\n| a-1 | 2026-12-01 |\n| a-2 | 2026-12-01 |",
        "2026-12-01",
    ),
    (
        "timetable",
        POST + "| Date | What happens |\n|---|---|\n| April 1, 2026 | Warnings appear |\n| May 1, 2026 |"
        " Brownout |\n"
        "| June 1, 2026 | The old host is switched off |",
        "2026-06-01",
    ),
    ("timeline list", POST + "Timeline\n- 2026-04-01: brownout\n- 2026-05-01: API removed", "2026-05-01"),
    ("no longer", POST + "As of 15 April 2026 TLS 1.1 connections are no longer accepted.", "2026-04-15"),
    (
        "will be required",
        POST + "Two-factor sign-in becomes mandatory for everyone on 15 April 2026.",
        "2026-04-15",
    ),
    (
        "rollout that ends",
        POST + "The rollout begins on May 4, 2026 and will be complete for all workspaces by June 8, 2026.",
        "2026-06-08",
    ),
    ("thirty days from today", POST + "The terms take effect 30 days from today.", "2026-04-01"),
    ("in ninety days", POST + "The old keys will be revoked in 90 days.", "2026-05-31"),
    ("past change", POST + "The mirror was turned off on February 27, 2026.", "2026-02-27"),
    (
        "last day",
        POST + "Support for Node 16 ends on 30 June 2026. Please upgrade by 1 June 2026.",
        "2026-06-30",
    ),
    (
        "replacement launched",
        POST + "Hooks v2 was launched on January 5, 2026. Hooks v1 will be discontinued on July 6, 2026.",
        "2026-07-06",
    ),
    (
        "deprecated then removed",
        POST + "Deprecated on March 2, 2026; removed on March 2, 2027.",
        "2027-03-02",
    ),
    (
        "webinar",
        POST + "We will host a webinar on April 9, 2026. Legacy search shuts down May 11, 2026.",
        "2026-05-11",
    ),
    ("version like a day", POST + "API version 2024-10-01 is retired on 2026-10-15.", "2026-10-15"),
    ("prices", POST + "New prices apply from 1 May 2026.", "2026-05-01"),
    ("year from the post", POST + "The old login page goes away on April 20.", "2026-04-20"),
    ("struck in html", POST + "Shutdown: <del>2026-05-01</del> 2026-08-03", "2026-08-03"),
    ("bold label", POST + "**Effective date:** *May 1, 2026*", "2026-05-01"),
    ("until", POST + "The endpoint stays available until 30 June 2026.", "2026-06-30"),
    (
        "old ends, new valid",
        TARIFF + "The old tariff ends on 28 February 2027. The new tariff is valid from 1 March 2027.",
        "2027-03-01",
    ),
    (
        "old ends, new charged",
        TARIFF + "The old tariff ends on 28 February 2027. The new tariff is charged from 1 March 2027.",
        "2027-03-01",
    ),
    (
        "old ends, new payable",
        TARIFF + "The old tariff ends on 28 February 2027. The new tariff is payable from 1 March 2027.",
        "2027-03-01",
    ),
    (
        "old ends, new applies",
        TARIFF + "The old tariff ends on 28 February 2027. The new tariff applies from 1 March 2027.",
        "2027-03-01",
    ),
    (
        "old ends, new in use",
        TARIFF + "The old tariff ends on 28 February 2027. The new tariff is in use from 1 March 2027.",
        "2027-03-01",
    ),
    (
        "old ends, new can be used",
        TARIFF + "The old tariff ends on 28 February 2027. The new tariff can be used from 1 March 2027.",
        "2027-03-01",
    ),
    (
        "old ends, new runs",
        TARIFF + "The old tariff ends on 28 February 2027. The new tariff runs from 1 March 2027.",
        "2027-03-01",
    ),
    (
        "old ends, new replaces it",
        TARIFF + "The old tariff ends on 28 February 2027. The new tariff replaces it from 1 March 2027.",
        "2027-03-01",
    ),
    (
        "old closes, new opens",
        TARIFF + "The old counter closes for good on 28 February 2027. The new counter opens on 1 March 2027.",
        "2027-03-01",
    ),
    (
        "new before old",
        TARIFF + "The new tariff is valid from 1 March 2027; the old tariff ends on 28 February 2027.",
        "2027-03-01",
    ),
    (
        "registration ends",
        TARIFF + "The registration period ends on 28 January 2027. The new fee is payable from 1 March 2027.",
        "2027-03-01",
    ),
    (
        "registration closes",
        TARIFF + "Registration closes on 28 January 2027. The new fee is charged from 1 March 2027.",
        "2027-03-01",
    ),
    (
        "old outlives new",
        TARIFF + "The old pass ends on 30 June 2027. The new pass is valid from 1 March 2027.",
        "2027-03-01",
    ),
    ("the service itself ends", TARIFF + "The mail service ends on 28 February 2027.", "2027-02-28"),
    (
        "successor already usable",
        TARIFF + "The v1 API ends on 28 February 2027. The v2 API can be used from 1 February 2027.",
        "2027-02-28",
    ),
]

NOT_STATED: list[tuple[str, str, str]] = [
    (
        "regions",
        POST + "The change takes effect in the EU on May 1, 2026 and in the US on June 1, 2026.",
        "several",
    ),
    (
        "plans",
        POST
        + "Free plans lose access on May 1, 2026. Paid plans lose access on July 1, 2026; the API is removed then.",
        "several none",
    ),
    (
        "rows that differ",
        POST + "| Model | Shutdown date |\n|---|---|\n| a-1 | 2026-12-01 |\n| a-2 | 2027-01-15 |",
        "several",
    ),
    ("new apps only", POST + "New apps cannot use the method from May 16, 2026.", "none"),
    (
        "no day yet",
        POST + "We will retire v1 later this year. A shutdown date is to be announced.",
        "unnamed_day",
    ),
    ("not before", POST + "The model will not be shut down before June 1, 2026.", "not_in_force"),
    ("earliest", POST + "Shutdown: no earlier than June 1, 2026", "not_in_force"),
    (
        "put off with no day",
        POST + "The removal planned for June 1, 2026 has been postponed indefinitely.",
        "not_in_force",
    ),
    ("a quarter", POST + "The endpoint will be removed in Q3 2026.", "ambiguous"),
    ("only a post day", POST + "We made search faster.", "none"),
    ("only an old tariff's end", TARIFF + "The old tariff ends on 28 February 2027.", "none"),
    ("only a season's end", TARIFF + "The season ends on 28 February 2027.", "none"),
    ("only a registration's end", TARIFF + "Registration ends on 28 February 2027.", "none"),
    ("only a recommendation", POST + "Please migrate to v2 by June 1, 2026.", "none"),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in STATED], ids=[row[0] for row in STATED])
def test_the_day_that_the_change_holds_for_everybody_is_read(text: str, expected: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective == date.fromisoformat(expected), reading
    assert reading.quote
    assert reading.quote in text


@pytest.mark.parametrize(("text", "reasons"), [row[1:] for row in NOT_STATED], ids=[row[0] for row in NOT_STATED])
def test_a_change_with_no_one_day_for_everybody_has_none(text: str, reasons: str) -> None:
    reading = read_effective_date(text)
    assert reading.effective is None, reading
    assert reading.reason in reasons.split()
    assert reading.quote in text
