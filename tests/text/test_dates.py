"""One way to read and write dates, and the day for which something is promised."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.errors import InvalidInput
from mcp_memory.text.dates import as_datetime, due_date, format_when, parse_when

BERLIN = ZoneInfo("Europe/Berlin")
CET = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21", "2026-11-21T00:00:00+01:00"),
        (" 2026-07-01 ", "2026-07-01T00:00:00+02:00"),
        ("2026-11-21T10:00", "2026-11-21T10:00:00+01:00"),
        ("2026-11-21 10:00:30", "2026-11-21T10:00:30+01:00"),
        ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00+00:00"),
        ("2026-11-21T10:00:00-05:30", "2026-11-21T10:00:00-05:30"),
    ],
)
def test_parse_and_format(text: str, moment: str):
    assert format_when(parse_when(text, BERLIN)) == moment


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "21.11.2026", "10:00", "0001-01-01T00:00:00+10:00", "\0"]
)
def test_nonsense_is_refused_with_an_example(text: str):
    with pytest.raises(InvalidInput, match="2026-11-21"):
        parse_when(text, UTC)


def test_a_time_without_offset_is_not_written():
    with pytest.raises(InvalidInput):
        format_when(datetime(2026, 1, 1))


def test_values_from_frontmatter():
    midnight = datetime(2026, 11, 21, tzinfo=CET)
    assert as_datetime(date(2026, 11, 21), CET) == midnight
    assert as_datetime(datetime(2026, 11, 21), CET) == midnight
    assert as_datetime(datetime(2026, 11, 21, tzinfo=UTC), CET) == datetime(2026, 11, 21, tzinfo=UTC)
    assert as_datetime("2026-11-21", CET) == midnight
    for garbage in (None, 20261121, True, "soon", [], {}, 1.5):
        assert as_datetime(garbage, CET) is None


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.sampled_from([UTC, CET])))
def test_round_trip(moment: datetime):
    assert parse_when(format_when(moment), UTC) == moment.replace(microsecond=0)


TODAY = date(2026, 11, 23)  # a Monday


@pytest.mark.parametrize(("text", "day"), [
    ("I will send the audit report by Friday 27 November.", "2026-11-27"),
    ("Send it by Friday, November 27th.", "2026-11-27"),
    ("Due on 2026-12-01: the tax papers.", "2026-12-01"),
    ("The slides are due December 3, 2026", "2026-12-03"),
    ("Reply to Ada before the 2nd of January", "2027-01-02"),
    ("Call the vet by Friday", "2026-11-27"),
    ("Call the vet by Monday", "2026-11-30"),
    ("Review the PR until tomorrow", "2026-11-24"),
    ("Ship it by end of the month.", "2026-11-30"),
    ("Ship it by end of week", "2026-11-29"),
    ("Renew the certificate in 2 weeks", "2026-12-07"),
    ("Ich schicke den Bericht bis Freitag, 27. November.", "2026-11-27"),
    ("Rechnung bis zum 05.12. bezahlen", "2026-12-05"),
    ("Rechnung bis zum 05.12.2027 bezahlen", "2027-12-05"),
    ("Rückruf bis morgen", "2026-11-24"),
    ("Abgabe am Mittwoch", "2026-11-25"),
    ("Steuer in zwei Wochen", "2026-12-07"),
    ("Umzug bis Ende des Jahres", "2026-12-31"),
    ("Send it by 31 June, or by 1 July", "2027-07-01"),
])  # fmt: skip
def test_the_day_that_is_named(text: str, day: str):
    assert due_date(text, TODAY) == date.fromisoformat(day)


@pytest.mark.parametrize("text", [
    "I promised to look after the mare.", "Deploy with version 3.11.2", "May the best one win", "in 504 cases",
    "We met 27 people, and in one room",
])  # fmt: skip
def test_no_day(text: str):
    assert due_date(text, TODAY) is None


def test_a_long_text_takes_no_longer_than_its_length():
    due_date("by Friday the in 31 June " * 40_000, TODAY)
    due_date("by the " * 100_000, TODAY)
