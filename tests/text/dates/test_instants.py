"""One way to read and write dates, and the day for which something is promised."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.errors import InvalidInput
from mcp_memory.text.dates import as_datetime, format_when, parse_when

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
