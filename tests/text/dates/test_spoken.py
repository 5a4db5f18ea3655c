"""Dates in words, seen from a Wednesday noon in November."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mcp_memory.errors import InvalidInput
from mcp_memory.text.dates.spoken import Leans, read_date

pytestmark = pytest.mark.fast

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
SATURDAY = datetime(2026, 11, 28, 12, tzinfo=UTC)

PERIODS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Which way they lean → words for a period → its first day, and mostly the day after its last one."""


@pytest.mark.parametrize("leans", PERIODS)
def test_a_period_in_words(leans: Leans) -> None:
    for texts, days in PERIODS[leans].items():
        for text in texts.split("|"):
            found = read_date("since", text, leans, NOW)
            assert (text, [found.start, found.end][: len(days)]) == (text, days)


def test_on_a_saturday_the_last_weekend_is_the_one_before() -> None:
    assert read_date("since", "last weekend", "past", SATURDAY).start == "2026-11-21"
    assert read_date("since", "this weekend", "past", SATURDAY).start == "2026-11-28"
    assert read_date("expires", "next weekend", "future", SATURDAY).start == "2026-12-05"


@pytest.mark.parametrize("text", ["2026-11-21", "2026-11-21T14:30", "2026-11-21 14:30", "2026-11-21T10:00:00+01:00"])
def test_iso_8601_stays_as_it_is(text: str) -> None:
    assert read_date("since", text, "past", NOW).start == read_date("expires", text, "future", NOW).start == text


@pytest.mark.parametrize("text", [
    "KW 60", "week 0", "a week of work", "recently", "last summer", "2026-W60", "lunch", "Q3 2026", "3", "a", "-3",
    "3/11", "03/11/2026", "31.02.2026", "99999999999 years ago", "x" * 10_000, " ",
])  # fmt: skip
def test_what_names_no_period_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_date("since", text, "past", NOW)
    assert "last weekend" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "text", ["letzte Woche Freitag", "Friday last week", "last week on Friday", "vorletzte Woche Dienstag"]
)
def test_a_weekday_of_a_past_week_is_no_day_to_come(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_date("expires", text, "future", NOW)
