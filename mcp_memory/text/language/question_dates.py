"""The days that a question speaks of: `7 May 2023`, `last week`, `two weeks ago`."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

YEARS_BACK = 5
"""A day or month without a year fits each of the last so many."""

MOST_CHARS = 2000
"""Of a longer question only the beginning is read; in what is pasted behind it dates stand for nothing."""

MOST_YEARS, MOST_RANGES = 20, 100
"""Of one question; each passage that may answer it is compared with all of its ranges."""


@dataclass(frozen=True, slots=True, order=True)
class DateRange:
    """Days from `start` to `end`, both included."""

    start: date
    end: date

    def includes(self, day: date) -> bool:
        return self.start <= day <= self.end


def dates_in_question(text: str, now: datetime) -> list[DateRange]:
    """The days, weeks, months and years that a question names, in the order of their mention, without repetition.

    English and ISO forms: `2023-05-07`, `7 May 2023`, `May 2023`, `in 2023`, `yesterday`, `last week`, `two weeks
    ago`, `last March`, `between 3 and 9 May 2023`. `3/4/2023` gives both readings. A day or month without a year
    takes the year of another date in the question, else fits each of the last five, the latest first. Numbers that
    are no dates give nothing, and neither does a bare year without a word such as `in` before it. At most MOST_RANGES,
    the first ones, out of the first MOST_CHARS.
    """
    text = text[:MOST_CHARS]
    found: list[_Found] = []
    taken = bytearray(len(text))
    context = _Context(now.date(), _years_in(text))
    for pattern, read in _READERS:
        for match in pattern.finditer(text):
            if taken.find(1, *match.span()) >= 0:
                continue
            try:
                ranges = read(match, context)
            except (ValueError, OverflowError):
                continue  # 31 June, or the year 10000: no date after all
            if ranges:
                found.append((*match.span(), ranges))
                taken[match.start() : match.end()] = b"\1" * len(match[0])
    found.sort(key=lambda each: each[0])
    return list(dict.fromkeys(each for ranges in _spanned(text, found) for each in ranges))[:MOST_RANGES]


@dataclass(frozen=True, slots=True)
class _Context:
    today: date
    years: list[int]
    """Years that the question names beside a month."""


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
_VERBS = frozenset(("may", "march", "mar"))
"""In small letters these need a year to be months."""

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBER_WORDS = {
    word: number
    for number, words in enumerate(
        (
            (),
            ("a", "an", "one"),
            ("two", "couple of", "a couple of"),
            ("three", "few", "a few", "several"),
            ("four",),
            ("five",),
            ("six",),
            ("seven",),
            ("eight",),
            ("nine",),
            ("ten",),
            ("eleven",),
            ("twelve",),
        )
    )
    for word in words
}
_VAGUE = frozenset(("few", "a few", "several", "couple of", "a couple of"))

_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})\b\.?"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})(?![\w\-/:%]|[.,][0-9])"
_DAY = r"(?P<day>3[01]|[12][0-9]|0?[1-9])(?:st|nd|rd|th)?\b"
_AMOUNT = rf"(?P<amount>[0-9]{{1,3}}|{'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})"
_START = r"(?<![\w.\-/:#$€£])"
_COUNTED = (
    "ms|s|sec|seconds|minutes|hours|days|px|[kmg]i?b|bytes|tokens|chars|characters|words|lines|rows|items|users|people|"
    "requests|records|files|notes|messages|times|points|steps|entries|percent|dollars|euros"
)
"""What follows a number that is no year."""

_BARE_YEAR = rf"{_YEAR}(?! ?(?:{_COUNTED})\b)"
_LEADS = r"(?:in|since|during|of|year|until|till|before|after|early|late|mid|throughout)"
_MONTH_LEADS = r"(?P<lead>in|since|during|of|until|before|after|by|from|early|late|mid|last|past|this past|this|next)"


def _years_in(text: str) -> list[int]:
    beside_month = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b[\w., ]{{0,8}}?\b((?:19|20)[0-9]{{2}})\b", re.IGNORECASE)
    return list(dict.fromkeys(int(match[1]) for match in beside_month.finditer(text)))[:MOST_YEARS]


_Found = tuple[int, int, list[DateRange]]
"""Where a date stands in the question, and the ranges that it may mean."""

_Read = Callable[["re.Match[str]", _Context], list[DateRange]]


def _iso_day(match: re.Match[str], _context: _Context) -> list[DateRange]:
    return [_one_day(date(int(match["year"]), int(match["number"]), int(match["day"])))]


def _iso_month(match: re.Match[str], _context: _Context) -> list[DateRange]:
    return [_whole_month(int(match["year"]), int(match["number"]))]


def _slashed(match: re.Match[str], _context: _Context) -> list[DateRange]:
    """Day first or month first: nobody can tell, so both where both exist."""
    one, two, year = int(match["one"]), int(match["two"]), int(match["year"])
    readings = [(one, two)] if match["mark"] == "." else [(one, two), (two, one)]
    return [_one_day(date(year, month, day)) for day, month in readings if 1 <= month <= 12 and 1 <= day <= 31]


def _day_of_month(match: re.Match[str], context: _Context) -> list[DateRange]:
    month, day = _MONTHS[match["month"].lower()], int(match["day"])
    if match["year"]:
        return [_one_day(date(int(match["year"]), month, day))]
    if match["month"] in _VERBS:
        return []
    return _fitting(context, lambda year: _one_day(date(year, month, day)))


def _day_span(match: re.Match[str], context: _Context) -> list[DateRange]:
    """`between 3 and 9 May 2023`, `May 3-9, 2023`."""
    month, first, last = _MONTHS[match["month"].lower()], int(match["first"]), int(match["day"])
    years = [int(match["year"])] if match["year"] else context.years or [context.today.year]
    return [DateRange(date(year, month, first), date(year, month, last)) for year in years if first <= last]


def _month_of_year(match: re.Match[str], _context: _Context) -> list[DateRange]:
    return [_whole_month(int(match["year"]), _MONTHS[match["month"].lower()])]


def _month_alone(match: re.Match[str], context: _Context) -> list[DateRange]:
    month, lead = _MONTHS[match["month"].lower()], match["lead"].lower()
    year, today = context.today.year, context.today
    if lead in {"last", "past", "this past"}:
        return [_whole_month(year if month < today.month else year - 1, month)]
    if lead == "next":
        return [_whole_month(year if month > today.month else year + 1, month)]
    if lead == "this":
        return [_whole_month(year, month)]
    if match["month"] in _VERBS:
        return []
    return _fitting(context, lambda each: _whole_month(each, month))


def _quarter(match: re.Match[str], _context: _Context) -> list[DateRange]:
    first_month = int(match["quarter"]) * 3 - 2
    year = int(match["year"])
    return [DateRange(date(year, first_month, 1), _whole_month(year, first_month + 2).end)]


def _year_span(match: re.Match[str], _context: _Context) -> list[DateRange]:
    first, last = int(match["first"]), int(match["year"])
    return [DateRange(date(first, 1, 1), date(last, 12, 31))] if first <= last else []


def _year_alone(match: re.Match[str], _context: _Context) -> list[DateRange]:
    return [_whole_year(int(match["year"]))]


def _named_day(match: re.Match[str], context: _Context) -> list[DateRange]:
    words = " ".join(match[0].lower().split())
    shift = {"the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1}.get(
        words, 0
    )
    return [_one_day(context.today + timedelta(days=1 if words == "tomorrow" else shift))]


def _relative_unit(match: re.Match[str], context: _Context) -> list[DateRange]:
    """`last week`, `this month`, `next year`, `last weekend`."""
    step = {"last": -1, "previous": -1, "past": -1, "this past": -1, "this": 0, "next": 1}[_words(match["which"])]
    monday = context.today - timedelta(days=context.today.weekday())
    match match["unit"].lower():
        case "week":
            start = monday + timedelta(weeks=step)
            return [DateRange(start, start + timedelta(days=6))]
        case "weekend":
            saturday = monday + timedelta(days=5, weeks=step)
            return [DateRange(saturday, saturday + timedelta(days=1))]
        case "month":
            return [_shifted_month(context.today, step)]
        case _:
            return [_whole_year(context.today.year + step)]


def _weekday(match: re.Match[str], context: _Context) -> list[DateRange]:
    """The nearest one in the past, today left out; with `next` or `this` the nearest to come."""
    wanted = _WEEKDAYS.index(match["weekday"].lower())
    if _words(match["which"]) in {"next", "this"}:
        return [_one_day(context.today + timedelta(days=(wanted - context.today.weekday() - 1) % 7 + 1))]
    return [_one_day(context.today - timedelta(days=(context.today.weekday() - wanted - 1) % 7 + 1))]


def _ago(match: re.Match[str], context: _Context) -> list[DateRange]:
    """`3 days ago` is that day, `2 weeks ago` the week around it, months and years are whole ones."""
    amount, unit = _amount(match), match["unit"].lower()
    slack = 1 if _words(match["amount"]) in _VAGUE else 0
    match unit:
        case "day":
            day = context.today - timedelta(days=amount)
            return [DateRange(day - timedelta(days=2 * slack), day + timedelta(days=slack))]
        case "week":
            day = context.today - timedelta(weeks=amount)
            return [DateRange(day - timedelta(days=3 + 7 * slack), day + timedelta(days=3 + 7 * slack))]
        case "month":
            first, last = (_shifted_month(context.today, -amount + shift) for shift in (-slack, slack))
            return [DateRange(first.start, last.end)]
        case _:
            year = context.today.year - amount
            return [DateRange(_whole_year(year - slack).start, _whole_year(year + slack).end)]


def _past_stretch(match: re.Match[str], context: _Context) -> list[DateRange]:
    """`the last 10 days`, `past two months`: up to today."""
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[match["unit"].lower()] * _amount(match)
    return [DateRange(context.today - timedelta(days=days), context.today)]


def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(_START + expression.replace(" ", r"\s{1,3}"), re.IGNORECASE)


_UNIT = r"(?P<unit>day|week|month|year)s?\b"
_READERS: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (_pattern(r"(?P<year>(?:19|20)[0-9]{2})([\-/])(?P<number>[0-9]{2})\2(?P<day>[0-9]{2})(?![0-9\-/])"), _iso_day),
    (_pattern(r"(?P<one>[0-9]{1,2})(?P<mark>[/.])(?P<two>[0-9]{1,2})(?P=mark)(?P<year>(?:19|20)[0-9]{2})\b"), _slashed),
    (_pattern(r"(?P<year>(?:19|20)[0-9]{2})-(?P<number>0[1-9]|1[0-2])(?![\w\-/:])"), _iso_month),
    (
        _pattern(
            rf"(?P<first>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:-|–| (?:and|to|until|-|–) ){_DAY} {_MONTH}(?:,? {_YEAR})?"
        ),
        _day_span,
    ),
    (
        _pattern(rf"{_MONTH} (?P<first>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:-|–| (?:and|to|-|–) ){_DAY}(?:,? {_YEAR})?"),
        _day_span,
    ),
    (_pattern(rf"{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?"), _day_of_month),
    (_pattern(rf"{_MONTH} (?:the )?{_DAY}(?:,? {_YEAR})?"), _day_of_month),
    (_pattern(rf"{_MONTH}(?:,| of)? {_YEAR}"), _month_of_year),
    (_pattern(rf"Q(?P<quarter>[1-4])(?:,| of)? {_YEAR}"), _quarter),
    (
        _pattern(r"(?:(?:the )?day before yesterday|yesterday|today|tonight|tomorrow|last night|this morning)\b"),
        _named_day,
    ),
    (_pattern(rf"{_AMOUNT} {_UNIT} (?:ago|back|earlier)\b"), _ago),
    (_pattern(rf"(?:last|past|previous) {_AMOUNT} {_UNIT}"), _past_stretch),
    (
        _pattern(r"(?P<which>last|previous|this past|past|this|next) (?P<unit>weekend|week|month|year)\b"),
        _relative_unit,
    ),
    (_pattern(rf"(?P<which>last|past|on|this|next) (?P<weekday>{'|'.join(_WEEKDAYS)})\b"), _weekday),
    (
        _pattern(rf"{_MONTH_LEADS} {_MONTH}"),
        _month_alone,
    ),
    (_pattern(rf"(?:between|from) (?P<first>(?:19|20)[0-9]{{2}})(?:-|–| (?:and|to|until) ){_BARE_YEAR}"), _year_span),
    (_pattern(rf"{_LEADS} (?:the (?:year|summer|spring|winter|autumn|fall)(?: of)? )?{_BARE_YEAR}"), _year_alone),
    (_pattern(rf"(?:summer|spring|winter|autumn|fall)(?: of)? {_BARE_YEAR}"), _year_alone),
)
"""Tried in this order; where two would match the same words, the earlier one has them."""

_JOINER = re.compile(r"\s{1,3}(?:and|to|until|till|through)\s{1,3}|\s?[-–]\s?", re.IGNORECASE)
_OPENER = re.compile(r"(?:between|from)\s{1,3}$", re.IGNORECASE)


def _spanned(text: str, found: list[_Found]) -> list[list[DateRange]]:
    """`between A and B`, `from A to B` become one range where each side is one."""
    outcome: list[list[DateRange]] = []
    at = 0
    while at < len(found):
        ranges = found[at][2]
        if at + 1 < len(found) and (span := _span(text, found[at], found[at + 1])):
            ranges = [span]
            at += 1
        outcome.append(ranges)
        at += 1
    return outcome


def _span(text: str, one: _Found, other: _Found) -> DateRange | None:
    opened = _OPENER.search(text[max(0, one[0] - 12) : one[0]])
    if not (opened and _JOINER.fullmatch(text[one[1] : other[0]]) and len(one[2]) == len(other[2]) == 1):
        return None
    start, end = one[2][0].start, other[2][0].end
    return DateRange(start, end) if start <= end else None


def _words(text: str) -> str:
    return " ".join(text.lower().split())


def _amount(match: re.Match[str]) -> int:
    words = _words(match["amount"])
    return int(words) if words.isdigit() else _NUMBER_WORDS[words]


def _fitting(context: _Context, build: Callable[[int], DateRange]) -> list[DateRange]:
    """The range in each year that it may mean; years without it (29 February) are left out."""
    years = context.years or range(context.today.year, context.today.year - YEARS_BACK, -1)
    outcome: list[DateRange] = []
    for year in years:
        try:
            outcome.append(build(year))
        except ValueError:
            continue
    return [each for each in outcome if context.years or each.start <= context.today]


def _one_day(day: date) -> DateRange:
    return DateRange(day, day)


def _whole_month(year: int, month: int) -> DateRange:
    return DateRange(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def _shifted_month(day: date, months: int) -> DateRange:
    count = day.year * 12 + day.month - 1 + months
    return _whole_month(count // 12, count % 12 + 1)


def _whole_year(year: int) -> DateRange:
    return DateRange(date(year, 1, 1), date(year, 12, 31))
