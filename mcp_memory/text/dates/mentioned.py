"""Finds the days, weeks, months and years that a question mentions, in English, German, French and Spanish: `7 May
2023`, `im Mai`, `la semaine dernière`, `hace tres días`. Pure.
"""

import re
from calendar import monthrange
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise

from mcp_memory.text.dates import MONTHS, NUMBERS, VAGUE_NUMBERS
from mcp_memory.text.dates.due import DAYS, MOST_CHARS, WEEKDAYS, in_english
from mcp_memory.text.dates.periods import find_periods
from mcp_memory.text.language.terms import words
from mcp_memory.text.language.word_lists import language_of

YEARS_BACK = 5
"""The number of past years that a day or month without a year may belong to."""

MAX_RANGES = 100
"""The most ranges of a question, since each passage is compared with all of them."""


@dataclass(frozen=True, order=True)
class DateRange:
    """The days from `start` to `end`, both included."""

    start: date
    end: date

    def includes(self, day: date) -> bool:
        return self.start <= day <= self.end


_NUMBER_WORDS = NUMBERS | VAGUE_NUMBERS
_COUNT = rf"[0-9]{{1,3}}|{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))}"
_UNITS = "days?|weeks?|months?|years?|jahren?|ans?|années?|años?"
_DAYS_OF = {"d": 1, "w": 7, "m": 30}
_COUNTED = re.compile(
    rf"\b(?:(?P<ago>vor|il y a|hace) |(?P<running>last|past|letzten|vergangenen|últim[oa]s) )?"
    rf"(?P<count>{_COUNT}) (?P<unit>{_UNITS})\b(?P<behind> (?:ago|back|earlier)\b)?"
)
_STEPS = {
    "today": 0, "tomorrow": 1, "yesterday": -1, "last night": -1, "gestern": -1, "hier": -1, "ayer": -1, "anoche": -1,
    "vorgestern": -2, "day before yesterday": -2, "avant-hier": -2, "anteayer": -2,
}  # fmt: skip
_IN = (
    "in|since|during|of|until|till|before|after|by|from|early|late|mid|last|this|next|summer|spring|winter|autumn|fall"
    "|year|im|jahr|seit|bis|vor|nach|ab|anfang|mitte|ende|en|de|depuis|avant|après|année|desde|hasta|año"
)
_YEAR = r"(?:19|20)[0-9]{2}(?![\w\-/:%]|[.,][0-9])"
_DAY = "3[01]|[12][0-9]|0?[1-9]"
_COUNTABLE = (
    "m?s|px|%|[kmg]i?b|bytes|tokens|chars|words|lines|rows|users|requests|files|notes|times|steps|euros|dollars"
)
"""Words after a number that isn't a year."""
_NO_MONTH = "i|we|you|it|be|not|have|also|fail|on|minutes|hours|days|weeks|months|ans|années"
"""Words after `may` and `sept` that show that no month is meant."""
_DATE = re.compile(
    r"(?<![\w.\-/:#$€£])(?:(?P<iso>(?:19|20)[0-9]{2}[-/](?:0[1-9]|1[0-2])(?:[-/][0-3][0-9])?)(?![0-9\-/])"
    rf"|(?P<first>{_DAY})([/.]) ?(?P<second>{_DAY})\3 ?(?P<year>{_YEAR})"
    rf"|(?:(?P<day>{_DAY})(?:st|nd|rd|th|er|\.)? (?:of |de )?|(?P<in>{_IN}) )?(?P<month>{'|'.join(MONTHS)})\b\.?"
    rf"(?! (?:{_NO_MONTH})\b)(?: (?:the )?(?P<day2>{_DAY})(?:st|nd|rd|th)?\b)?(?:,? (?:of |del? )?(?P<year2>{_YEAR}))?"
    rf"|(?:{_IN}) (?P<year3>{_YEAR})(?! ?(?:{_COUNTABLE})\b)"
    rf"|(?P<weekday>{WEEKDAYS})\b|(?P<step>{'|'.join(_STEPS)})\b)"
)
_BETWEEN = re.compile(r"\b(?:between|from|zwischen|vom|von|entre|du|de|del|desde)(?: the| dem| le| el)? $")
_AND = re.compile(r" (?:and|to|until|till|through|und|bis|et|au|à|y|al|a|hasta)(?: the| dem| le| el)? | ?[-–] ?")


def mentioned_dates(text: str, now: datetime) -> list[DateRange]:
    """Return the days, weeks, months and years in the beginning of a question, without duplicates; at most MAX_RANGES.

    A day or month without a year takes the year of another date in the question, else each of the last five.
    `3/4/2023` gives both readings. A year is read only after a word such as `in`."""
    today, plain = now.date(), in_english(text)
    found = [DateRange(first, after - timedelta(days=1)) for first, after in find_periods(text[:MOST_CHARS], today)]
    for match in _COUNTED.finditer(plain):
        with suppress(OverflowError):
            found += _counted(match, today)
    is_german = language_of(words(text[:MOST_CHARS])) == "de"  # where `hier` is a place
    dates = [match for match in _DATE.finditer(plain) if not (is_german and match["step"] == "hier")]
    years = [int(match["year2"]) for match in dates if match["year2"]]
    years = years or list(range(today.year, today.year - YEARS_BACK, -1))
    named = [(match, _ranges(match, years, today)) for match in dates]
    for (one, first), (other, last) in pairwise(named):
        is_opened = _BETWEEN.search(plain, 0, max(one.start(), one.end("in") + 1))
        is_joined = _AND.fullmatch(plain, one.end(), other.start())
        if is_opened and is_joined and len(first) == len(last) == 1 and first < last:
            found.append(DateRange(first[0].start, last[0].end))
    found += [days for _, ranges in named for days in ranges]
    return list(dict.fromkeys(found))[:MAX_RANGES]


def _counted(match: re.Match[str], today: date) -> list[DateRange]:
    """Return the days around `two weeks ago`, or the days of `the last two weeks`."""
    count, unit = match["count"], timedelta(days=_DAYS_OF.get(match["unit"][0], 365))
    middle = today - int(_NUMBER_WORDS.get(count, count)) * unit
    if match["ago"] or match["behind"]:
        around = unit if count in VAGUE_NUMBERS else unit // 2
        return [DateRange(middle - around, middle + around)]
    return [DateRange(middle, today)] if match["running"] else []


def _ranges(match: re.Match[str], years: Sequence[int], today: date) -> list[DateRange]:
    """Return the readings of a match of `_DATE`."""
    if match["step"]:
        return _days(today, _STEPS[match["step"]])
    if match["weekday"]:
        return _days(today, -((today.weekday() - DAYS.index(match["weekday"]) - 1) % 7) - 1)
    if match["iso"]:
        year, month, *day = map(int, match["iso"].replace("/", "-").split("-"))
        return _periods([year], month, *day)
    if match["first"]:
        first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
        return [*_periods([year], second, first), *_periods([year], first, second)]
    if match["year3"]:
        return _periods([int(match["year3"])])
    if match["year2"]:
        years = [int(match["year2"])]
    day = match["day"] or match["day2"]
    if not (day or match["year2"] or match["in"]):
        return []
    return _periods(years, MONTHS[match["month"]], int(day or 0))


def _days(today: date, step: int) -> list[DateRange]:
    day = today + timedelta(days=step)
    return [DateRange(day, day)]


def _periods(years: Sequence[int], month: int = 0, day: int = 0) -> list[DateRange]:
    """Return the day, month or year in each of the years that has it."""
    found: list[DateRange] = []
    for year in years:
        with suppress(ValueError):
            start = date(year, month or 1, day or 1)
            last_month = month or 12
            end = start if day else date(year, last_month, monthrange(year, last_month)[1])
            found.append(DateRange(start, end))
    return found
