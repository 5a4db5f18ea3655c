"""Reads and writes dates: ISO 8601 from arguments and frontmatter, and the day for which something is promised."""

import re
from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from mcp_memory.errors import InvalidInput


def _numbered(*rows: str, start: int = 0) -> dict[str, int]:
    """The words of each row, with the row's number."""
    return {word: number for number, row in enumerate(rows, start) for word in row.split()}


MONTHS = _numbered(
    "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
    "september sept sep", "october oct", "november nov", "december dec", start=1,
)  # fmt: skip
"""English names in lower case, the longest first."""

_ALL_MONTHS = MONTHS | _numbered(
    "januar", "februar", "märz mär", "", "mai", "juni", "juli", "", "", "oktober okt", "", "dezember dez", start=1
)
_WEEKDAYS = _numbered(
    "monday mon montag", "tuesday tues tue dienstag", "wednesday wed mittwoch", "thursday thurs thu donnerstag",
    "friday fri freitag", "saturday sat samstag sonnabend", "sunday sun sonntag",
)  # fmt: skip
_COUNTS = _numbered(
    "a an one ein einem einer", "two zwei", "three drei", "four vier", "five fünf", "six sechs", start=1
)
_NEAR = {"tomorrow": 1, "morgen": 1, "übermorgen": 2}
_UNIT_DAYS = {"d": 1, "t": 1, "w": 7, "m": 30}
_MONTH, _WEEKDAY = f"(?:{'|'.join(_ALL_MONTHS)})", f"(?:{'|'.join(_WEEKDAYS)})"
_DAY = r"(?:0?[1-9]|[12][0-9]|3[01])"
_DUE = re.compile(
    r"\b(?:by|until|till|before|due(?:[ ]on)?|deadline:?|no[ ]later[ ]than|on|in|bis(?:[ ]zum|[ ]spätestens)?|vor[ ]dem"
    r"|spätestens(?:[ ]am)?|fällig(?:[ ]am)?|am|for)[ ]"
    rf"(?:the[ ]|next[ ]|this[ ]|coming[ ]|dem[ ]|den[ ]|nächsten[ ]|kommenden[ ])?"
    rf"(?:{_WEEKDAY}\b[.,]?[ ](?:the[ ]|dem[ ]|den[ ])?(?=[0-9a-zä]))?"
    r"(?:(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2})\b"
    rf"|(?P<day>{_DAY})(?:st|nd|rd|th)?\.?[ ](?:of[ ])?(?P<month>{_MONTH})\b\.?(?:,?[ ](?P<year>[0-9]{{4}})\b)?"
    rf"|(?P<month2>{_MONTH})\b\.?[ ](?P<day2>{_DAY})(?:st|nd|rd|th)?\b(?:,?[ ](?P<year2>[0-9]{{4}})\b)?"
    rf"|(?P<day3>{_DAY})\.(?P<month3>0?[1-9]|1[0-2])\.(?P<year3>[0-9]{{4}})?(?![0-9])"
    rf"|(?P<weekday>{_WEEKDAY})\b"
    r"|(?P<near>today|heute|tonight|tomorrow|morgen|übermorgen)\b"
    r"|(?P<end>end[ ]of[ ](?:the[ ]|this[ ])?|ende[ ](?:der|des|dieser|dieses)[ ])"
    r"(?P<of>week|month|year|woche|monats|jahres)\b"
    rf"|(?P<count>[0-9]{{1,3}}|{'|'.join(_COUNTS)})[ ]"
    r"(?P<unit>days?|weeks?|months?|tag(?:en)?|wochen?|monat(?:en)?)\b)",
    re.IGNORECASE,
)

_EXAMPLE = "pass for example 2026-11-21 or 2026-11-21T10:00:00+01:00"


def parse_when(text: str, zone: tzinfo) -> datetime:
    """An ISO 8601 date or time as an aware datetime; without an offset it is in `zone`, a date is its midnight. Raises
    InvalidInput with an example."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput("not an ISO 8601 date or time", hint=_EXAMPLE) from None
    return _aware(moment, zone)


def format_when(moment: datetime) -> str:
    """ISO 8601 to the second, with offset. `moment` must be aware."""
    if moment.tzinfo is None:
        raise InvalidInput("a time without an offset cannot be written", hint=_EXAMPLE)
    return moment.isoformat(timespec="seconds")


def as_datetime(value: Any, zone: tzinfo) -> datetime | None:
    """A value from frontmatter as an aware datetime; None for anything but a date."""
    try:
        match value:
            case datetime():
                return _aware(value, zone)
            case date():
                return _aware(datetime.combine(value, time()), zone)
            case str():
                return parse_when(value, zone)
            case _:
                return None
    except InvalidInput:
        return None


def _aware(moment: datetime, zone: tzinfo) -> datetime:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
    try:
        aware.astimezone(UTC)
    except (OverflowError, ValueError):
        raise InvalidInput("a time outside the years 1 to 9999", hint=_EXAMPLE) from None
    return aware


def due_date(text: str, today: date) -> date | None:
    """The first day that a text names as its date, in English or German (`by Friday 27 November`, `bis morgen`, `due
    2026-12-01`); without a year the next one from `today` on."""
    for match in _DUE.finditer(text):
        try:
            return _due_day(match, today)
        except (ValueError, OverflowError, LookupError):
            continue  # 31 June, or a letter that only resembles one (ſ, ı)
    return None


def _due_day(match: re.Match[str], today: date) -> date:
    if match["iso"]:
        return date.fromisoformat(match["iso"])
    if weekday := match["weekday"]:
        return today + timedelta(days=(_WEEKDAYS[weekday.lower()] - today.weekday()) % 7 or 7)
    if near := match["near"]:
        return today + timedelta(days=_NEAR.get(near.lower(), 0))
    if match["end"]:
        of = match["of"].lower()
        if of.startswith("w"):
            return today + timedelta(days=6 - today.weekday())
        month = today.month if of.startswith("m") else 12
        return date(today.year, month, monthrange(today.year, month)[1])
    if count := match["count"]:
        return today + timedelta(days=(_COUNTS.get(count.lower()) or int(count)) * _UNIT_DAYS[match["unit"].lower()[0]])
    day = int(match["day"] or match["day2"] or match["day3"])
    year = match["year"] or match["year2"] or match["year3"]
    name = match["month"] or match["month2"]
    month = _ALL_MONTHS[name.lower()] if name else int(match["month3"])
    if year:
        return date(int(year), month, day)
    this = date(today.year, month, day)
    return this if this >= today else date(today.year + 1, month, day)
