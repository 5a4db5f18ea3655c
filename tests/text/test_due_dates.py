"""For when something is promised, in four languages."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.text.due_dates import DueDate, due_from, find_due

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 11, 23, 14, tzinfo=BERLIN)


@pytest.mark.parametrize(("text", "when"), [
    ("Friday", "2026-11-27"),
    ("next Friday", "2026-11-27"),
    ("Remind me in two weeks", "2026-12-07"),
    ("ship by end of month", "2026-11-30"),
    ("end of the week", "2026-11-27"),
    ("follow up next week", "2026-11-30"),
    ("tomorrow at 3pm", "2026-11-24 15:00"),
    ("Friday 3 pm", "2026-11-27 15:00"),
    ("on Thursday at 15:00", "2026-11-26 15:00"),
    ("by 27 November", "2026-11-27"),
    ("by 5 Dec", "2026-12-05"),
    ("this evening", "2026-11-23 18:00"),
    ("tonight", "2026-11-23 18:00"),
    ("noon tomorrow", "2026-11-24 12:00"),
    ("Monday morning", "2026-11-30 09:00"),
    ("in 3 days", "2026-11-26"),
    ("2026-12-01", "2026-12-01"),
    ("in an hour", "2026-11-23 15:00"),
    ("next month", "2026-12-01"),
    ("the day after tomorrow", "2026-11-25"),
    ("Nov 30th", "2026-11-30"),
    ("in a fortnight", "2026-12-07"),
    ("remind me at 3 to call Bo", "2026-11-23 15:00"),
    ("remind me at 9 to call Bo", "2026-11-24 09:00"),
    ("am Donnerstag", "2026-11-26"),
    ("nächsten Freitag", "2026-11-27"),
    ("übermorgen", "2026-11-25"),
    ("Erinnere mich morgen früh", "2026-11-24 09:00"),
    ("in zwei Wochen", "2026-12-07"),
    ("Ende des Monats", "2026-11-30"),
    ("nächste Woche", "2026-11-30"),
    ("Freitag um 15 Uhr", "2026-11-27 15:00"),
    ("am 5.12.", "2026-12-05"),
    ("am 5. Dezember", "2026-12-05"),
    ("heute Abend", "2026-11-23 18:00"),
    ("in 3 Tagen", "2026-11-26"),
    ("bis Freitag", "2026-11-27"),
    ("kommenden Dienstag", "2026-11-24"),
    ("morgen um 9", "2026-11-24 09:00"),
    ("in einer Stunde", "2026-11-23 15:00"),
    ("Wochenende", "2026-11-28"),
    ("vendredi prochain", "2026-11-27"),
    ("demain à 15h30", "2026-11-24 15:30"),
    ("après-demain", "2026-11-25"),
    ("la semaine prochaine", "2026-11-30"),
    ("lundi à 15h", "2026-11-30 15:00"),
    ("dans deux semaines", "2026-12-07"),
    ("le 5 décembre", "2026-12-05"),
    ("fin du mois", "2026-11-30"),
    ("demain matin", "2026-11-24 09:00"),
    ("dans un mois", "2026-12-23"),
    ("dans 3 jours", "2026-11-26"),
    ("recuérdame mañana", "2026-11-24"),
    ("pasado mañana", "2026-11-25"),
    ("el viernes", "2026-11-27"),
    ("la próxima semana", "2026-11-30"),
    ("el próximo lunes", "2026-11-30"),
    ("en dos semanas", "2026-12-07"),
    ("el 5 de diciembre", "2026-12-05"),
    ("fin de mes", "2026-11-30"),
    ("el lunes a las 15:00", "2026-11-30 15:00"),
    ("dentro de 3 días", "2026-11-26"),
    ("mañana por la mañana", "2026-11-24 09:00"),
    ("la semana que viene", "2026-11-30"),
    ("el viernes que viene", "2026-11-27"),
    ("Send it by 31 June, or by 1 July", "2027-07-01"),
    ("Rechnung bis zum 05.12. bezahlen", "2026-12-05"),
    ("Rechnung bis zum 05.12.2027 bezahlen", "2027-12-05"),
    ("the test runs in 5 minutes usually", "2026-11-23 14:05"),
])  # fmt: skip
def test_the_day_and_time_that_are_named(text: str, when: str):
    day, _, at = when.partition(" ")
    assert find_due(text, MONDAY) == DueDate(date.fromisoformat(day), time.fromisoformat(at) if at else None)


@pytest.mark.parametrize("text", [
    "letzten Freitag",
    "vendredi dernier",
    "el viernes pasado",
    "every Friday",
    "jeden Freitag",
    "last Friday we shipped",
    "I promised to look after the mare.",
    "Deploy with version 3.11.2",
    "May the best one win",
    "in 504 cases",
    "We met 27 people, and in one room",
    "check in after the interview",
    "call me at the office",
    "raise it um 20 Prozent",
    "tell Mars about the mai thing",
    "erhöhe um 3 Euro",
    "Guten Morgen, alles gut?",
    "we saw it 3 days ago",
])  # fmt: skip
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
