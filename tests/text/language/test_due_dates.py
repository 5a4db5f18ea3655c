"""The day for which something is promised, from the day on which it was said: Monday 23 November 2026."""

from __future__ import annotations

from datetime import date

import pytest

from mcp_memory.text.language.due_dates import due_date

TODAY = date(2026, 11, 23)


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
