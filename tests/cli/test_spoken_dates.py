"""Dates as people write them become ISO 8601, and an ISO date stays as it is."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import click
import pytest

from mcp_memory.cli.spoken_dates import coming_date, past_date
from mcp_memory.errors import InvalidInput

pytestmark = pytest.mark.fast

TODAY = date.today()
MONDAY = TODAY - timedelta(days=TODAY.weekday())
FRIDAY = MONDAY + timedelta(days=4)
CONTEXT = click.Context(click.Command("test"))
SINCE = click.Option(["--since"])


def past(text: str) -> str | None:
    return past_date(CONTEXT, SINCE, text)


def coming(text: str) -> str | None:
    return coming_date(CONTEXT, SINCE, text)


@pytest.mark.parametrize(
    ("texts", "day"),
    [
        (("today", "heute"), TODAY),
        (("yesterday", "gestern", " since Yesterday "), TODAY - timedelta(days=1)),
        (("2 days ago", "2d", "vor 2 Tagen"), TODAY - timedelta(days=2)),
        (("last week", "letzte Woche"), MONDAY - timedelta(days=7)),
        (("this week",), MONDAY),
        (("a week ago", "7d", "1w"), TODAY - timedelta(days=7)),
        (("this month",), TODAY.replace(day=1)),
        (
            ("Friday", "on friday", "am Freitag", "letzten Freitag", "am vergangenen Freitag"),
            FRIDAY if FRIDAY < TODAY else FRIDAY - timedelta(days=7),
        ),
        (("gestern Abend", "hier soir", "anoche", "ayer por la tarde", "yesterday morning"), TODAY - timedelta(days=1)),
        (("heute Morgen", "heute früh", "this morning", "ce matin", "esta mañana", "ce soir"), TODAY),
        (("ce mois", "ce mois-ci"), TODAY.replace(day=1)),
        (("voriges Jahr", "l'an dernier", "last year"), date(TODAY.year - 1, 1, 1)),
        (("early November 2025", "Anfang November 2025", "a principios de noviembre 2025"), date(2025, 11, 1)),
        (("mid-November 2025", "mi-novembre 2025", "Mitte November 2025"), date(2025, 11, 11)),
        (("late October 2025", "fin octobre 2025", "end of October 2025"), date(2025, 10, 21)),
        (("3.11.2025", "3 November 2025", "Nov 3, 2025"), date(2025, 11, 3)),
    ],
)
def test_what_is_over(texts: tuple[str, ...], day: date):
    assert {text: past(text) for text in texts} == dict.fromkeys(texts, day.isoformat())


@pytest.mark.parametrize(
    ("texts", "day"),
    [
        (("tomorrow", "morgen"), TODAY + timedelta(days=1)),
        (("in 2 weeks", "2w", "in 14 Tagen"), TODAY + timedelta(days=14)),
        (("next week",), MONDAY + timedelta(days=7)),
        (
            ("Friday", "bis Freitag", "by Friday", "nächsten Freitag", "bis kommenden Freitag"),
            FRIDAY if FRIDAY > TODAY else FRIDAY + timedelta(days=7),
        ),
    ],
)
def test_what_is_to_come(texts: tuple[str, ...], day: date):
    assert {text: coming(text) for text in texts} == dict.fromkeys(texts, day.isoformat())


def test_a_time_is_a_moment_of_the_local_zone():
    moment = datetime.fromisoformat(past("2 hours ago") or "")
    assert abs(datetime.now().astimezone() - timedelta(hours=2) - moment) < timedelta(minutes=1)
    clock = datetime.fromisoformat(past("14:30") or "")
    assert (clock.hour, clock.minute) == (14, 30) and clock <= datetime.now().astimezone() < clock + timedelta(days=1)


@pytest.mark.parametrize("text", ["2026-11-21", "2026-11-21T14:30", "2026-11-21 14:30", "2026-11-21T10:00:00+01:00"])
def test_iso_8601_stays_as_it_is(text: str):
    assert past(text) == coming(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "lunch",
        "Q3 2026",
        "3",
        "a",
        "-3",
        "3/11",
        "03/11/2026",
        "31.02.2026",
        "99999999999 years ago",
        "x" * 10_000,
        " ",
    ],
)
def test_what_is_none_or_two_is_refused_with_examples(text: str):
    with pytest.raises(InvalidInput, match="--since") as refused:
        past(text)
    assert "yesterday" in (refused.value.hint or "")
