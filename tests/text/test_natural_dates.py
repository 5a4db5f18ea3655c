"""Dates in words, seen from a Wednesday noon in November."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mcp_memory.errors import InvalidInput
from mcp_memory.text.natural_dates import Leans, read_date

pytestmark = pytest.mark.fast

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
SATURDAY = datetime(2026, 11, 28, 12, tzinfo=UTC)

PAST = {
    "today|heute|this morning|heute Morgen|heute früh|ce matin|esta mañana|ce soir": ("2026-11-25", None),
    "yesterday|gestern| since Yesterday |gestern Abend|hier soir|anoche|ayer por la tarde|yesterday morning|hier|ayer":
        ("2026-11-24", None),
    "2 days ago|2d|vor 2 Tagen|il y a 2 jours|hace 2 días|avant-hier|anteayer": ("2026-11-23", None),
    "last week|letzte Woche|semaine dernière": ("2026-11-16", None),
    "this week": ("2026-11-23", None),
    "a week ago|7d|1w": ("2026-11-18", None),
    "this month|ce mois|ce mois-ci": ("2026-11-01", None),
    "Friday|on friday|am Freitag|letzten Freitag|am vergangenen Freitag|vendredi dernier|el viernes":
        ("2026-11-20", None),
    "voriges Jahr|l'an dernier|last year": ("2025-01-01", None),
    "early November 2025|Anfang November 2025|a principios de noviembre 2025": ("2025-11-01", None),
    "mid-November 2025|mi-novembre 2025|Mitte November 2025": ("2025-11-11", None),
    "late October 2025|fin octobre 2025|end of October 2025": ("2025-10-21", None),
    "3.11.2025|3 November 2025|Nov 3, 2025": ("2025-11-03", None),
    "last weekend|letztes Wochenende|le week-end dernier|el fin de semana pasado": ("2026-11-21", "2026-11-23"),
    "vorletzte Woche|the week before last|la semaine d'avant|la semana antepasada": ("2026-11-09", "2026-11-16"),
    "vorletzten Monat|the month before last": ("2026-09-01", "2026-10-01"),
    "a few days ago|vor ein paar Tagen|il y a quelques jours|hace unos días": ("2026-11-22", "2026-11-23"),
    "two weeks ago|a couple of weeks ago|vor zwei Wochen|hace dos semanas": ("2026-11-11", "2026-11-12"),
    "KW 47|kw47|week 47|semaine 47|semana 47|Kalenderwoche 47|KW 47/2026|2026-W47": ("2026-11-16", "2026-11-23"),
    "week 50|KW 50 2025": ("2025-12-08", "2025-12-15"),
    "end of the month|Ende des Monats|fin du mois|fin de mes|Monatsende": ("2026-11-21", "2026-12-01"),
    "end of last month|Ende letzten Monats|fin du mois dernier": ("2026-10-21", "2026-11-01"),
    "start of the year|Anfang des Jahres|début de l'année|principios de año": ("2026-01-01", "2026-05-02"),
    "the last two weeks|die letzten 2 Wochen|ces deux dernières semaines|las últimas 2 semanas":
        ("2026-11-11", "2026-11-26"),
}  # fmt: skip
FUTURE = {
    "tomorrow|morgen": ("2026-11-26", None),
    "pasado mañana": ("2026-11-27", None),
    "in 2 weeks|2w|in 14 Tagen": ("2026-12-09", None),
    "next week": ("2026-11-30", None),
    "Friday|bis Freitag|by Friday|nächsten Freitag|bis kommenden Freitag|vendredi prochain": ("2026-11-27", None),
    "next weekend|nächstes Wochenende|this weekend": ("2026-11-28", None),
    "in zwei Wochen|in two weeks|dans deux semaines|dentro de dos semanas": ("2026-12-09", "2026-12-10"),
    "in a few days|in ein paar Tagen": ("2026-11-28", "2026-11-29"),
    "a week from today|in one week": ("2026-12-02", "2026-12-03"),
    "end of the month|Ende des Monats|fin du mois|fin de mes": ("2026-11-30", "2026-12-01"),
    "end of next month|Ende nächsten Monats": ("2026-12-31", "2027-01-01"),
    "end of the week|Ende der Woche": ("2026-11-27", "2026-11-28"),
    "KW 50|week 50": ("2026-12-07", "2026-12-14"),
    "week 3": ("2027-01-18", "2027-01-25"),
    "übernächste Woche|the week after next": ("2026-12-07", "2026-12-14"),
    "Anfang Dezember|early December": ("2026-12-01", "2026-12-11"),
}


@pytest.mark.parametrize(
    ("leans", "texts", "wanted"),
    [("past", *case) for case in PAST.items()] + [("future", *case) for case in FUTURE.items()],
)
def test_a_period_in_words(leans: Leans, texts: str, wanted: tuple[str, str | None]) -> None:
    for text in texts.split("|"):
        found = read_date("since", text, leans, NOW)
        assert (text, found.start) == (text, wanted[0])
        assert wanted[1] in {None, found.end}, text


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
