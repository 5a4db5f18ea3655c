"""Reads dates as people write them in options, and hands the engine ISO 8601."""

import re
from datetime import datetime, timedelta
from functools import partial

import click

from mcp_memory.errors import InvalidInput

LANGUAGES = ["en", "de"]
MAX_CHARS = 60
_AMBIGUOUS = re.compile(r"[-+0-9]{1,3}|[a-zA-Z]|[0-9]{1,2}/[0-9]{1,2}(?:/[0-9]+)?")
"""A number or letter alone, and `3/11`, which is in March or in November."""
_COUNTED = re.compile(r"[0-9]\s*[a-zäöü]|\b(?:an?|one|ein\w*)\b", re.IGNORECASE)
"""`2 weeks ago` is counted from today; `last week` begins on its Monday."""
_PREPOSITION = re.compile(r"(?:since|from|until|by|on|seit|ab|bis|am|zum|dem)\s+", re.IGNORECASE)
_WHICH = re.compile(
    r"(?:am\s+)?(?:(?P<past>letzte|vorige|vergangene)|(?P<future>nächste|kommende)|diese)[nmrs]?\s+(?=\w+(?:tag|abend|woch)$)",
    re.IGNORECASE,
)
"""Of a day of the week in German, `letzten Freitag`: dateparser reads these words before weeks and months alone."""
_EXAMPLES = {"past": "yesterday, last week, 2 days ago, Friday", "future": "tomorrow, Friday, in 2 weeks, next month"}


def _callback(leans: str, _: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Raises InvalidInput."""
    if not value:
        return value
    text = value.strip()
    try:
        datetime.fromisoformat(text)
    except ValueError:
        found = _in_words(text, leans) or _in_words(_PREPOSITION.sub("", text), leans)
        if found is None:
            hint = f"pass for example {_EXAMPLES[leans]}, 14:30 or 2026-11-21"
            raise InvalidInput(f"{param.opts[-1]}: not a date or time that can be read", hint=hint) from None
        return found
    return text


past_date, coming_date = partial(_callback, "past"), partial(_callback, "future")
"""Callbacks of options: of several days with a name, the latest that is over, or the next."""


def _in_words(text: str, leans: str) -> str | None:
    """Half a second, most of it imports. A day, week, month or year stands for its beginning."""
    if len(text) > MAX_CHARS or _AMBIGUOUS.fullmatch(text):
        return None
    from dateparser.date import DateDataParser

    if which := _WHICH.match(text):
        text, leans = text[which.end() :], which.lastgroup or leans
    order = {"DATE_ORDER": "DMY"} if "." in text else {}
    settings = {"PREFER_DATES_FROM": leans, "RETURN_TIME_AS_PERIOD": True, **order}
    try:
        found = DateDataParser(languages=LANGUAGES, settings=settings).get_date_data(text)
    except (OverflowError, ValueError):
        return None
    moment, period = found.date_obj, found.period
    if moment is None or period == "time":
        return moment and moment.astimezone().isoformat(timespec="seconds")
    day = moment.date()
    if period == "week" and not _COUNTED.search(text):
        day -= timedelta(days=day.weekday())
    elif period in {"month", "year"} and not _COUNTED.search(text):
        day = day.replace(day=1, month=1 if period == "year" else day.month)
    return day.isoformat()
