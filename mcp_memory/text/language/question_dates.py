"""Finds the days in a question: `7 May 2023`, `last week`, `two weeks ago`."""

import re
from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple

from mcp_memory.text.dates import MONTHS, NUMBERS, VAGUE_NUMBERS
from mcp_memory.text.dates.due import WEEKDAYS
from mcp_memory.text.dates.periods import find_period

YEARS_BACK = 5
"""The number of past years that a day or month without a year may belong to."""

MAX_CHARS, MAX_YEARS, MAX_RANGES = 2000, 20, 100
"""Limits for dates: dates in text pasted after a question mean nothing, and each passage is compared with all
ranges."""


@dataclass(frozen=True, order=True)
class DateRange:
    """The days from `start` to `end`, both included."""

    start: date
    end: date

    def includes(self, day: date) -> bool:
        return self.start <= day <= self.end


def dates_in_question(text: str, now: datetime) -> list[DateRange]:
    """Return the days, weeks, months and years in a question, in order and without duplicates; at most MAX_RANGES.

    English and ISO forms are read: `2023-05-07`, `7 May 2023`, `May 2023`, `in 2023`, `yesterday`, `last week`, `two
    weeks ago`, `last March`, `between 3 and 9 May 2023`. `3/4/2023` gives both readings. A day or month without a year
    takes the year of another date in the question, else each of the last five, latest first. Other numbers are ignored,
    and so is a year without a word such as `in` before it."""
    text = text[:MAX_CHARS]
    found: list[_Found] = []
    taken = bytearray(len(text))
    context = _Context(now.date(), _years_in(text))
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            if taken.find(1, *match.span()) >= 0:
                continue
            try:
                ranges = read(match, context)
            except (ValueError, OverflowError, LookupError):
                continue  # 31 June, the year 10000, or a month with a look-alike letter (ſ, ı)
            if ranges:
                found.append((*match.span(), ranges))
                taken[match.start() : match.end()] = b"\1" * len(match[0])
    found.sort(key=lambda entry: entry[0])
    return list(dict.fromkeys(span for ranges in _merge_spans(text, found) for span in ranges))[:MAX_RANGES]


class _Context(NamedTuple):
    today: date
    years: list[int]
    """The years that the question gives beside a month."""


_Found = tuple[int, int, list[DateRange]]
"""The position of a date in the question, and the ranges that it may mean."""
_Read = Callable[["re.Match[str]", _Context], list[DateRange]]

_VERBS = frozenset(("may", "march", "mar"))
"""Words that are months only with a year if they are in lower case."""

_NUMBER_WORDS = NUMBERS | VAGUE_NUMBERS

_MONTH = rf"(?P<month>{'|'.join(MONTHS)})\b\.?"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})(?![\w\-/:%]|[.,][0-9])"
_DAY = r"(?P<day>3[01]|[12][0-9]|0?[1-9])(?:st|nd|rd|th)?\b"
_FIRST = r"(?P<first>[0-9]{1,2})(?:st|nd|rd|th)?"
_AMOUNT = rf"(?P<amount>[0-9]{{1,3}}|{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>day|week|month|year)s?\b"
_START = r"(?<![\w.\-/:#$€£])"
_COUNTED = (
    "ms|s|sec|seconds|minutes|hours|days|px|[kmg]i?b|bytes|tokens|chars|characters|words|lines|rows|items|users|people|"
    "requests|records|files|notes|messages|times|points|steps|entries|percent|dollars|euros"
)
"""Words after a number that isn't a year."""

_BARE_YEAR = rf"{_YEAR}(?! ?(?:{_COUNTED})\b)"
_YEAR_WORDS = r"(?:in|since|during|of|year|until|till|before|after|early|late|mid|throughout)"
_MONTH_WORDS = r"(?P<which>in|since|during|of|until|before|after|by|from|early|late|mid|last|past|this past|this|next)"
_STEPS = {"last": -1, "past": -1, "this past": -1, "this": 0, "next": 1}
_NAMED_DAYS = {"day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1}


def _years_in(text: str) -> list[int]:
    beside_month = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b[\w., ]{{0,8}}?\b((?:19|20)[0-9]{{2}})\b", re.IGNORECASE)
    return list(dict.fromkeys(int(match[1]) for match in beside_month.finditer(text)))[:MAX_YEARS]


def _calendar(match: re.Match[str], context: _Context) -> list[DateRange]:
    """Return a day, month or year, depending on the match; without a year, return the range in each possible year."""
    groups = match.groupdict()
    month = int(groups["number"]) if "number" in groups else None
    if "month" in groups:
        month = MONTHS[groups["month"].lower()]
    day = int(groups["day"]) if "day" in groups else None
    if groups.get("year"):
        return [_period(int(groups["year"]), month, day)]
    return _in_years(context, groups["month"], lambda year: _period(year, month, day))


def _slashed(match: re.Match[str], _context: _Context) -> list[DateRange]:
    """Return both readings, day first and month first, if they exist."""
    one, two, year = int(match["one"]), int(match["two"]), int(match["year"])
    readings = [(one, two)] if match["mark"] == "." else [(one, two), (two, one)]
    return [_period(year, month, day) for day, month in readings if 1 <= month <= 12 and 1 <= day <= 31]


def _day_span(match: re.Match[str], context: _Context) -> list[DateRange]:
    """Parse `between 3 and 9 May 2023`, `May 3-9, 2023`."""
    month, first, last = MONTHS[match["month"].lower()], int(match["first"]), int(match["day"])
    years = [int(match["year"])] if match["year"] else context.years or [context.today.year]
    return [DateRange(date(year, month, first), date(year, month, last)) for year in years if first <= last]


def _month_alone(match: re.Match[str], context: _Context) -> list[DateRange]:
    month, today = MONTHS[match["month"].lower()], context.today
    step = _STEPS.get(match["which"].lower())
    if step is None:
        return _in_years(context, match["month"], lambda year: _period(year, month))
    is_this_year = step == 0 or (month < today.month if step < 0 else month > today.month)
    return [_period(today.year if is_this_year else today.year + step, month)]


def _quarter(match: re.Match[str], _context: _Context) -> list[DateRange]:
    year, last_month = int(match["year"]), int(match["quarter"]) * 3
    return [DateRange(_period(year, last_month - 2).start, _period(year, last_month).end)]


def _year_span(match: re.Match[str], _context: _Context) -> list[DateRange]:
    first, last = int(match["first"]), int(match["year"])
    return [DateRange(_period(first).start, _period(last).end)] if first <= last else []


def _named_day(match: re.Match[str], context: _Context) -> list[DateRange]:
    return _days(context.today + timedelta(days=_NAMED_DAYS.get(_normalized(match[0]).removeprefix("the "), 0)))


def _named_period(match: re.Match[str], context: _Context) -> list[DateRange]:
    """Parse `last week`, `this month`, `next year`, `last weekend`."""
    period = find_period(_normalized(match["period"]), "past", context.today)
    return [DateRange(period[0], period[1] - timedelta(days=1))] if period else []


def _weekday(match: re.Match[str], context: _Context) -> list[DateRange]:
    """Return the nearest such day in the past, excluding today; with `next` or `this`, the nearest in the future."""
    ahead = (WEEKDAYS.split("|").index(match["weekday"].lower()) - context.today.weekday()) % 7
    is_to_come = _normalized(match["which"]) in {"next", "this"}
    return _days(context.today + timedelta(days=(ahead or 7) if is_to_come else ahead - 7))


def _ago(match: re.Match[str], context: _Context) -> list[DateRange]:
    """Parse an age: `3 days ago` is that day, `2 weeks ago` the week around it; months and years are whole."""
    amount, today = _amount(match), context.today
    slack = 1 if _normalized(match["amount"]) in VAGUE_NUMBERS else 0
    match match["unit"].lower():
        case "day":
            return _days(today - timedelta(days=amount + 2 * slack), 3 * slack)
        case "week":
            return _days(today - timedelta(weeks=amount + slack, days=3), 6 + 14 * slack)
        case "month":
            return [DateRange(_month_around(today, -amount - slack).start, _month_around(today, slack - amount).end)]
        case _:
            year = today.year - amount
            return [DateRange(_period(year - slack).start, _period(year + slack).end)]


def _past_stretch(match: re.Match[str], context: _Context) -> list[DateRange]:
    """Parse `the last 10 days`, `past two months`: the days up to today."""
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[match["unit"].lower()] * _amount(match)
    return _days(context.today - timedelta(days=days), days)


_READERS: tuple[tuple[re.Pattern[str], _Read], ...] = tuple(
    (re.compile(_START + expression.replace(" ", r"\s{1,3}"), re.IGNORECASE), read)
    for expression, read in (
        (r"(?P<year>(?:19|20)[0-9]{2})([\-/])(?P<number>[0-9]{2})\2(?P<day>[0-9]{2})(?![0-9\-/])", _calendar),
        (r"(?P<one>[0-9]{1,2})(?P<mark>[/.])(?P<two>[0-9]{1,2})(?P=mark)(?P<year>(?:19|20)[0-9]{2})\b", _slashed),
        (r"(?P<year>(?:19|20)[0-9]{2})-(?P<number>0[1-9]|1[0-2])(?![\w\-/:])", _calendar),
        (rf"{_FIRST}(?:-|–| (?:and|to|until|-|–) ){_DAY} {_MONTH}(?:,? {_YEAR})?", _day_span),
        (rf"{_MONTH} {_FIRST}(?:-|–| (?:and|to|-|–) ){_DAY}(?:,? {_YEAR})?", _day_span),
        (rf"{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?", _calendar),
        (rf"{_MONTH} (?:the )?{_DAY}(?:,? {_YEAR})?", _calendar),
        (rf"{_MONTH}(?:,| of)? {_YEAR}", _calendar),
        (rf"Q(?P<quarter>[1-4])(?:,| of)? {_YEAR}", _quarter),
        (r"(?:(?:the )?day before yesterday|yesterday|today|tonight|tomorrow|last night|this morning)\b", _named_day),
        (rf"{_AMOUNT} {_UNIT} (?:ago|back|earlier)\b", _ago),
        (rf"(?:last|past|previous) {_AMOUNT} {_UNIT}", _past_stretch),
        (
            r"(?:this (?=past))?(?P<period>(?:last|previous|past|this|next) (?:weekend|week|month|year))\b",
            _named_period,
        ),
        (rf"(?P<which>last|past|on|this|next) (?P<weekday>{WEEKDAYS})\b", _weekday),
        (rf"{_MONTH_WORDS} {_MONTH}", _month_alone),
        (rf"(?:between|from) (?P<first>(?:19|20)[0-9]{{2}})(?:-|–| (?:and|to|until) ){_BARE_YEAR}", _year_span),
        (rf"{_YEAR_WORDS} (?:the (?:year|summer|spring|winter|autumn|fall)(?: of)? )?{_BARE_YEAR}", _calendar),
        (rf"(?:summer|spring|winter|autumn|fall)(?: of)? {_BARE_YEAR}", _calendar),
    )
)
"""Readers in order of priority: where two match the same words, the earlier reader wins."""

_JOINER = re.compile(r"\s{1,3}(?:and|to|until|till|through)\s{1,3}|\s?[-–]\s?", re.IGNORECASE)
_OPENER = re.compile(r"(?:between|from)\s{1,3}$", re.IGNORECASE)


def _merge_spans(text: str, found: list[_Found]) -> list[list[DateRange]]:
    """Merge `between A and B` and `from A to B` into a single range if each side is a single range."""
    merged: list[list[DateRange]] = []
    at = 0
    while at < len(found):
        ranges = found[at][2]
        if at + 1 < len(found) and (span := _span(text, found[at], found[at + 1])):
            ranges = [span]
            at += 1
        merged.append(ranges)
        at += 1
    return merged


def _span(text: str, one: _Found, other: _Found) -> DateRange | None:
    opened = _OPENER.search(text[max(0, one[0] - 12) : one[0]])
    if not (opened and _JOINER.fullmatch(text[one[1] : other[0]]) and len(one[2]) == len(other[2]) == 1):
        return None
    start, end = one[2][0].start, other[2][0].end
    return DateRange(start, end) if start <= end else None


def _normalized(text: str) -> str:
    return " ".join(text.lower().split())


def _amount(match: re.Match[str]) -> int:
    words = _normalized(match["amount"])
    return int(_NUMBER_WORDS.get(words, words))


def _in_years(context: _Context, month: str, build: Callable[[int], DateRange]) -> list[DateRange]:
    """Return the range in each possible year; years without the day (29 February) are skipped."""
    if month in _VERBS:
        return []
    years = context.years or range(context.today.year, context.today.year - YEARS_BACK, -1)
    ranges: list[DateRange] = []
    for year in years:
        with suppress(ValueError):
            ranges.append(build(year))
    return [span for span in ranges if context.years or span.start <= context.today]


def _days(start: date, more: int = 0) -> list[DateRange]:
    return [DateRange(start, start + timedelta(days=more))]


def _period(year: int, month: int | None = None, day: int | None = None) -> DateRange:
    """Return the day, or the whole month or year."""
    if month is not None and day is not None:
        return DateRange(date(year, month, day), date(year, month, day))
    first, last = (1, 12) if month is None else (month, month)
    return DateRange(date(year, first, 1), date(year, last, monthrange(year, last)[1]))


def _month_around(day: date, months: int) -> DateRange:
    count = day.year * 12 + day.month - 1 + months
    return _period(count // 12, count % 12 + 1)
