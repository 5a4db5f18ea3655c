"""The days that a question names."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.dates.due import MOST_CHARS
from mcp_memory.text.dates.mentioned import MAX_RANGES, DateRange, mentioned_dates
from mcp_memory.text.language.facts import facts

CASES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)  # a Saturday


def spans(text: str) -> list[str]:
    return [f"{each.start}..{each.end}" for each in mentioned_dates(text, NOW)]


@pytest.mark.parametrize(("question", "span"), CASES["dates"].items())
def test_a_date_in_a_question(question: str, span: str):
    """The ends of a span are readings, too, and so are earlier years."""
    assert spans(question)[0] == span


def test_a_day_that_does_not_exist_is_no_date():
    assert spans("31 June 2023") == []


@pytest.mark.parametrize("text", ["in Auguſt 2023", "5 ſept 2023", "thıs week", "last fıve days"])
def test_a_letter_that_only_resembles_another_is_no_error(text: str):
    assert spans(text) == []
    facts(text)


def test_several_readings():
    assert spans("3/4/2023") == ["2023-04-03..2023-04-03", "2023-03-04..2023-03-04"]
    assert spans("on May 7")[:2] == ["2026-05-07..2026-05-07", "2025-05-07..2025-05-07"]
    assert spans("in December")[:2] == ["2026-12-01..2026-12-31", "2025-12-01..2025-12-31"]
    assert spans("May 2023, then 9 June 2024, then May 2023") == ["2023-05-01..2023-05-31", "2024-06-09..2024-06-09"]


@pytest.mark.parametrize("question", CASES["none"])
def test_numbers_that_are_no_dates(question: str):
    assert spans(question) == []


@given(st.text(max_size=60), st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC)))
def test_any_question(text: str, now: datetime):
    for each in mentioned_dates(text, now):
        assert each.start <= each.end and each.includes(each.start)


words = st.sampled_from(CASES["words"])


@given(st.lists(words, max_size=8).map(" ".join), st.sampled_from([datetime(2, 1, 1, tzinfo=UTC), NOW]))
def test_any_words(text: str, now: datetime):
    for each in mentioned_dates(text, now):
        assert each == DateRange(each.start, each.end) and each.start <= each.end


def test_of_a_long_question_the_beginning_is_read_and_so_many_dates() -> None:
    assert mentioned_dates("word " * (MOST_CHARS // 5) + "on 7 May 2023", NOW) == []
    years = " ".join(f"May {year}," for year in range(1900, 2100))
    named = " ".join(f"May {day}," for day in range(1, 29))
    assert len(mentioned_dates(f"{named} {years}"[:MOST_CHARS], NOW)) == MAX_RANGES
