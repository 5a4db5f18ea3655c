"""The days that a question names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.question_dates import MAX_CHARS, MAX_RANGES, DateRange, dates_in_question

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)  # a Saturday


def spans(text: str) -> list[str]:
    return [f"{each.start}..{each.end}" for each in dates_in_question(text, NOW)]


@pytest.mark.parametrize(
    ("question", "span"),
    [
        ("on 2023-05-07?", "2023-05-07..2023-05-07"),
        ("since 2023-05-07T10:00", "2023-05-07..2023-05-07"),
        ("2023/05/07", "2023-05-07..2023-05-07"),
        ("the 2023-05 release", "2023-05-01..2023-05-31"),
        ("What did Nate do on 7 May 2023?", "2023-05-07..2023-05-07"),
        ("the 7th of may, 2023", "2023-05-07..2023-05-07"),
        ("May 7, 2023", "2023-05-07..2023-05-07"),
        ("sept 3rd 2024", "2024-09-03..2024-09-03"),
        ("7.5.2023", "2023-05-07..2023-05-07"),
        ("May 2023", "2023-05-01..2023-05-31"),
        ("in February of 2024", "2024-02-01..2024-02-29"),
        ("what happened in 2023?", "2023-01-01..2023-12-31"),
        ("summer of 2022", "2022-01-01..2022-12-31"),
        ("Q3 2024", "2024-07-01..2024-09-30"),
        ("between 2019 and 2021", "2019-01-01..2021-12-31"),
        ("between 3 and 9 May 2023", "2023-05-03..2023-05-09"),
        ("May 3-9, 2023", "2023-05-03..2023-05-09"),
        ("between August 11 and August 15 2023", "2023-08-11..2023-08-15"),
        ("from May 2023 to July 2023", "2023-05-01..2023-07-31"),
        ("yesterday", "2026-11-20..2026-11-20"),
        ("the day before yesterday", "2026-11-19..2026-11-19"),
        ("what did we decide today", "2026-11-21..2026-11-21"),
        ("tomorrow", "2026-11-22..2026-11-22"),
        ("last week", "2026-11-09..2026-11-15"),
        ("last weekend", "2026-11-14..2026-11-15"),
        ("this week", "2026-11-16..2026-11-22"),
        ("last month", "2026-10-01..2026-10-31"),
        ("next year", "2027-01-01..2027-12-31"),
        ("two weeks ago", "2026-11-04..2026-11-10"),
        ("3 days ago", "2026-11-18..2026-11-18"),
        ("a few days ago", "2026-11-16..2026-11-19"),
        ("eleven months ago", "2025-12-01..2025-12-31"),
        ("a year ago", "2025-01-01..2025-12-31"),
        ("the last 10 days", "2026-11-11..2026-11-21"),
        ("last March", "2026-03-01..2026-03-31"),
        ("last december", "2025-12-01..2025-12-31"),
        ("on Monday", "2026-11-16..2026-11-16"),
        ("last Saturday", "2026-11-14..2026-11-14"),
        ("next Sunday", "2026-11-22..2026-11-22"),
        ("29 February", "2024-02-29..2024-02-29"),
    ],
)
def test_one_date_in_a_question(question: str, span: str):
    assert spans(question) == [span]


def test_a_day_that_does_not_exist_leaves_the_month():
    assert spans("31 June 2023") == ["2023-06-01..2023-06-30"]


@pytest.mark.parametrize("text", ["in Auguſt 2023", "5 ſept 2023", "thıs week", "last fıve days"])
def test_a_letter_that_only_resembles_another_is_no_error(text: str):
    assert spans(text) == []
    facts(text)


def test_several_readings():
    assert spans("3/4/2023") == ["2023-04-03..2023-04-03", "2023-03-04..2023-03-04"]
    assert spans("on May 7")[:2] == ["2026-05-07..2026-05-07", "2025-05-07..2025-05-07"]
    assert spans("in December")[0] == "2025-12-01..2025-12-31"
    assert spans("May 2023, then 9 June 2024, then May 2023") == ["2023-05-01..2023-05-31", "2024-06-09..2024-06-09"]


@pytest.mark.parametrize(
    "question",
    [
        "error 2023 on port 2049",
        "limit of 2000 tokens",
        "in 2000 ms",
        "May I commit if 5 may fail",
        "version 2023.1.2",
        "run 1234567",
        "in 2,023 rows",
        "commit 20230507",
        "ISO-8601 or RFC 2822",
        "2026-02-30",
        "at 10:30",
        "1.2.3",
        "127.0.0.1",
        "issue #2023",
        "$2023",
        "march on",
        "sha 2023abc",
        "0/0/2023",
        "section 3.2",
        "",
        "v1/2023-05-07x9",
        "99999-05-07",
        "the last straw",
        "an example",
    ],
)
def test_numbers_that_are_no_dates(question: str):
    assert spans(question) == []


@given(st.text(max_size=60), st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC)))
def test_any_question(text: str, now: datetime):
    for each in dates_in_question(text, now):
        assert each.start <= each.end and each.includes(each.start)


words = st.sampled_from(
    [
        "last",
        "next",
        "May",
        "2023",
        "7",
        "31",
        "and",
        "between",
        "from",
        "-",
        ",",
        "two",
        "a few",
        "weeks",
        "ago",
        "Q1",
        "in",
    ]
)


@given(st.lists(words, max_size=8).map(" ".join), st.sampled_from([datetime(2, 1, 1, tzinfo=UTC), NOW]))
def test_any_words(text: str, now: datetime):
    for each in dates_in_question(text, now):
        assert each == DateRange(each.start, each.end) and each.start <= each.end


def test_of_a_long_question_the_beginning_is_read_and_so_many_dates() -> None:
    assert dates_in_question("word " * (MAX_CHARS // 5) + "on 7 May 2023", NOW) == []
    years = " ".join(f"May {year}," for year in range(1900, 2100))
    named = " ".join(f"May {day}," for day in range(1, 29))
    assert len(dates_in_question(f"{named} {years}"[:MAX_CHARS], NOW)) == MAX_RANGES
