"""For when something is promised, in four languages."""

from __future__ import annotations

import tomllib
from datetime import date, datetime, time, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.dates.due import DueDate, due_from, find_due

CASES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 11, 23, 14, tzinfo=BERLIN)


@pytest.mark.parametrize(("text", "when"), CASES["named"].items())
def test_the_day_and_time_that_are_named(text: str, when: str):
    day, _, at = when.partition(" ")
    assert find_due(text, MONDAY) == DueDate(date.fromisoformat(day), time.fromisoformat(at) if at else None)


@pytest.mark.parametrize("text", CASES["none"])
def test_no_day(text: str):
    assert find_due(text, MONDAY) is None


def test_the_day_of_the_week_that_it_is_means_the_next_one():
    assert find_due("call Bo on Monday", MONDAY) == DueDate(date(2026, 11, 30))


def test_the_end_of_the_week_on_a_weekend_is_its_sunday():
    assert find_due("by end of week", MONDAY + timedelta(days=5)) == DueDate(date(2026, 11, 29))


def test_a_long_text_takes_no_longer_than_its_length():
    find_due("by Friday the in 31 June " * 40_000, MONDAY)
    find_due("by the " * 100_000, MONDAY)


@given(st.text(max_size=80), st.datetimes(min_value=datetime(2, 1, 2), max_value=datetime(9998, 1, 1)))
def test_any_text_names_a_day_to_come_or_none(text: str, now: datetime):
    due = find_due(text, now.replace(tzinfo=BERLIN))
    assert due is None or due.day >= now.date()


def test_what_a_head_says():
    there = timezone(timedelta(hours=9))
    assert due_from(date(2026, 11, 27), BERLIN) == due_from("2026-11-27", BERLIN) == DueDate(date(2026, 11, 27))
    assert due_from("2026-11-27T06:00:00+09:00", BERLIN) == DueDate(date(2026, 11, 26), time(22))
    assert due_from(datetime(2026, 11, 27, 6, tzinfo=there), BERLIN) == DueDate(date(2026, 11, 26), time(22))
    assert due_from("some day", BERLIN) is due_from(None, BERLIN) is due_from(7, BERLIN) is None
