"""Dates: read from arguments and frontmatter, written as ISO 8601 with an offset, and found in questions."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, tzinfo
from typing import Any

from mcp_memory.errors import InvalidInput
from mcp_memory.text.language.question_dates import DateRange, dates_in_question

__all__ = ["DateRange", "as_datetime", "dates_in_question", "format_when", "parse_when"]

_EXAMPLE = "pass for example 2026-11-21 or 2026-11-21T10:00:00+01:00"


def parse_when(text: str, zone: tzinfo) -> datetime:
    """An ISO 8601 date or time as an aware datetime; without an offset it is in `zone`, a date is its midnight.

    Raises InvalidInput with an example.
    """
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
    """A value from frontmatter as an aware datetime; None for what is no date."""
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
