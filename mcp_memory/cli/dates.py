"""Reads dates as people write them in options, and hands the engine ISO 8601."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import click

from mcp_memory.errors import InvalidInput

LANGUAGES = ["en", "de"]
MAX_CHARS = 60
_AMBIGUOUS = re.compile(r"[-+0-9]{1,3}|[a-zA-Z]|[0-9]{1,2}/[0-9]{1,2}(?:/[0-9]+)?")
"""A number or letter alone, and `3/11`, which is in March or in November."""
_COUNTED = re.compile(r"[0-9]\s*[a-zäöü]|\b(?:an?|one|ein\w*)\b", re.IGNORECASE)
"""`2 weeks ago` is counted from today; `last week` begins on its Monday."""
_PREPOSITION = re.compile(r"(?:since|from|until|by|on|seit|ab|bis|am|zum|dem)\s+", re.IGNORECASE)


def past_date(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001 -- click's signature
    """The callback of an option: of several days with a name, the latest that is over. Raises InvalidInput."""
    return value and _read(param, value, "past", "yesterday, last week, 2 days ago, Friday")


def coming_date(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001 -- likewise
    """The same for the next such day."""
    return value and _read(param, value, "future", "tomorrow, Friday, in 2 weeks, next month")


def _read(param: click.Parameter, value: str, leans: str, examples: str) -> str:
    text = value.strip()
    try:
        datetime.fromisoformat(text)
    except ValueError:
        found = _in_words(text, leans) or _in_words(_PREPOSITION.sub("", text), leans)
        if found is None:
            hint = f"pass for example {examples}, 14:30 or 2026-11-21"
            raise InvalidInput(f"{param.opts[-1]}: not a date or time that can be read", hint=hint) from None
        return found
    return text


def _in_words(text: str, leans: str) -> str | None:
    """Half a second, most of it imports. A day, week, month or year stands for its beginning."""
    if len(text) > MAX_CHARS or _AMBIGUOUS.fullmatch(text):
        return None
    from dateparser.date import DateDataParser

    order = {"DATE_ORDER": "DMY"} if "." in text else {}
    settings = {"PREFER_DATES_FROM": leans, "RETURN_TIME_AS_PERIOD": True, **order}
    try:
        found = DateDataParser(languages=LANGUAGES, settings=settings).get_date_data(text)
    except (OverflowError, ValueError):
        return None
    moment = found.date_obj
    if moment is None:
        return None
    if found.period == "time":
        return moment.astimezone().isoformat(timespec="seconds")
    day = moment.date()
    if not _COUNTED.search(text):
        match found.period:
            case "week":
                day -= timedelta(days=day.weekday())
            case "month":
                day = day.replace(day=1)
            case "year":
                day = day.replace(month=1, day=1)
            case _:
                pass
    return day.isoformat()
