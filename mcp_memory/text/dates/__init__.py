"""Dates: in ISO 8601 here, in words in `spoken` (a whole phrase), `due` (within a text) and `periods` (weeks, months).

Only `parse_phrase` asks `dateparser`. The others have what it misreads, in English, German, French and Spanish.
"""

from datetime import UTC, date, datetime, time, tzinfo
from typing import Any

from mcp_memory.errors import InvalidInput

_MONTHS = (
    "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,september sept sep,october oct,"
    "november nov,december dec"
)
MONTHS = {name: number for number, names in enumerate(_MONTHS.split(","), 1) for name in names.split()}
"""English names in lower case, longest first."""

_COUNTS = (
    "a an one ein einem einer eine un une una,two zwei beiden deux dos,three drei trois tres,four vier quatre cuatro,"
    "five fünf cinq cinco,six sechs seis,seven sieben sept siete,eight acht huit ocho,nine neun neuf nueve,"
    "ten zehn dix diez,eleven elf,twelve zwölf"
)
NUMBERS = {word: str(number) for number, words in enumerate(_COUNTS.split(","), 1) for word in words.split()}
"""Number words in all languages, with the articles that mean one."""

_TWO = "a couple of,couple of,a couple,un par de"
_FEW = "a few,few,several,ein paar,einigen,einige,mehreren,quelques,plusieurs,unos,unas,algunos,algunas,varios,varias"
VAGUE_NUMBERS = dict.fromkeys(_TWO.split(","), "2") | dict.fromkeys(_FEW.split(","), "3")
"""Words for a few: `a few days ago`."""

_EXAMPLE = "pass for example 2026-11-21 or 2026-11-21T10:00:00+01:00"


def parse_when(text: str, zone: tzinfo) -> datetime:
    """Parse an ISO 8601 date or time as an aware datetime. Without an offset it is in `zone`; a date means its
    midnight. Raises InvalidInput with an example."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput("not an ISO 8601 date or time", hint=_EXAMPLE) from None
    return _aware(moment, zone)


def parse_argument(name: str, text: str | None, zone: tzinfo) -> datetime | None:
    """Parse an optional argument like `parse_when`. Raises InvalidInput, naming the argument."""
    if not text:
        return None
    try:
        return parse_when(text, zone)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error.message}", hint=error.hint) from error


def format_when(moment: datetime) -> str:
    """Format a time in ISO 8601 to the second, with offset. `moment` must be aware."""
    if moment.tzinfo is None:
        raise InvalidInput("a time without an offset cannot be written", hint=_EXAMPLE)
    return moment.isoformat(timespec="seconds")


def as_datetime(value: Any, zone: tzinfo) -> datetime | None:
    """Return a value from frontmatter as an aware datetime; None for anything but a date."""
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
