"""Parses one phrase with `dateparser`, which is imported when it is needed: that takes a sixth of a second; and
weeks, weekends, months and years given by position or number (`vorletzte Woche`, `le week-end dernier`, `KW 47`) in
English, German, French and Spanish."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple

Leans = Literal["past", "future"]


class ParsedDate(NamedTuple):
    """A moment, and the period that the phrase names: `time`, `part_of_day`, `day`, `week`, `month` or `year`."""

    moment: datetime
    period: str


def parse_phrase(
    phrase: str, now: datetime, leans: Leans, languages: Sequence[str], *, is_day_first: bool
) -> ParsedDate | None:
    """Parse a whole phrase; return None if it isn't a date. `leans`: whether a weekday is the last or the next.
    `is_day_first`: whether `1.2.` is in February."""
    from dateparser.date import DateDataParser

    settings = {"PREFER_DATES_FROM": leans, "RELATIVE_BASE": now.replace(tzinfo=None), "RETURN_TIME_AS_PERIOD": True}
    order = {"DATE_ORDER": "DMY"} if is_day_first else {}
    try:
        found = DateDataParser(languages=list(languages), settings={**settings, **order}).get_date_data(phrase)
    except (OverflowError, ValueError):
        return None
    return ParsedDate(found.date_obj, str(found.period)) if found.date_obj else None


Period = tuple[date, date]
"""The first day, and the day after the last."""

_UNITS = {
    "weekend": r"week-?end|wochenendes?|fin de semana|finde", "week": "week|woche|semaine|semana",
    "month": "month|monate?s?|mois|mes", "year": "year|jahre?s?|année|año",
}  # fmt: skip
_UNIT = "(?:" + "|".join(f"(?P<{name}>{words})" for name, words in _UNITS.items()) + ")"
_AHEAD = (
    r"(?P<n2>vorletzte[nmrs]?|avant-derni(?:er|ère)|penúltim[oa])"
    r"|(?P<n1>last|past|previous|(?:letzte|vorige|vergangene)[nmrs]?|últim[oa])"
    r"|(?P<p2>übernächste[nmrs]?)|(?P<p1>next|coming|(?:nächste|kommende)[nmrs]?|próxim[oa])"
    r"|(?P<p0>this|diese[nmrs]?|ce|cette|est[ea])"
)
_BEHIND = (
    r"(?P<n2b>before last|d['’]avant|antepasad[oa])|(?P<n1b>derni(?:er|ère)|passée?|pasad[oa])"
    r"|(?P<p2b>after next)|(?P<p1b>prochaine?|que viene|próxim[oa])|(?P<p0b>-ci)"
)
_NAMED = re.compile(
    rf"(?:(?:of|the|at|on|am|im|in|an|der|die|das|des|dem|du|de|del|le|la|el|au|en)\s+|l['’]\s*)*(?:(?:{_AHEAD})\s+)?{_UNIT}"
    rf"(?:\s*(?:{_BEHIND}))?"
)
_STEPS = {"n2": -2, "n2b": -2, "n1": -1, "n1b": -1, "p0": 0, "p0b": 0, "p1": 1, "p1b": 1, "p2": 2, "p2b": 2}
_MENTIONED = re.compile(rf"\b{_NAMED.pattern}\b")
_NUMBERED = re.compile(
    r"(?:(?P<year>\d{4})-W|(?:the\s+|la\s+|der\s+|die\s+|calendar\s+)?(?:week|kw|kalenderwoche|woche|semaine|semana|w|s)\s*)"
    r"(?P<week>\d{1,2})(?:\s*(?:/|,|of|von|de|del)?\s*(?P<of>\d{4}))?",
    re.IGNORECASE,
)


def find_period(text: str, leans: Leans, today: date) -> Period | None:
    """Return the period that the whole text names. `leans`: whether week 47 is the last or the next such week."""
    if week := _NUMBERED.fullmatch(text):
        return _week(int(week["week"]), week["year"] or week["of"], leans, today)
    found = _NAMED.fullmatch(text.lower())
    if found is None:
        return None
    return period_near(next(unit for unit in _UNITS if found[unit]), _step(found) or 0, today)


def find_periods(text: str, today: date) -> Iterator[Period]:
    """Yield the periods in a text that are named with a word for their position, such as `last`."""
    for found in _MENTIONED.finditer(text.lower()):
        step = _step(found)
        if step is not None:
            yield period_near(next(unit for unit in _UNITS if found[unit]), step, today)


def _step(found: re.Match[str]) -> int | None:
    return next((number for name, number in _STEPS.items() if found[name]), None)


def period_near(unit: str, step: int, today: date) -> Period:
    """Return the day, week, weekend, month or year that is `step` periods from today's. This weekend is the latest
    weekend that has begun; the last weekend has ended."""
    if unit in {"day", "part_of_day"}:
        return today + timedelta(days=step), today + timedelta(days=step + 1)
    if unit == "week":
        monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
        return monday, monday + timedelta(weeks=1)
    if unit == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7)
        is_on = today.weekday() >= 5
        begun = step if is_on or step >= 0 else step + 1
        return saturday + timedelta(weeks=begun), saturday + timedelta(weeks=begun, days=2)
    if unit == "year":
        return date(today.year + step, 1, 1), date(today.year + step + 1, 1, 1)
    month = today.year * 12 + today.month - 1 + step
    return date(month // 12, month % 12 + 1, 1), date((month + 1) // 12, (month + 1) % 12 + 1, 1)


def _week(number: int, year: str | None, leans: Leans, today: date) -> Period | None:
    """Return the week; None if the year has no such week."""
    years = [int(year)] if year else [today.year + ahead for ahead in ((0, -1) if leans == "past" else (0, 1))]
    for candidate in years:
        try:
            monday = date.fromisocalendar(candidate, number, 1)
        except ValueError:
            continue
        if year or (monday <= today if leans == "past" else monday + timedelta(weeks=1) > today):
            return monday, monday + timedelta(weeks=1)
    return None
