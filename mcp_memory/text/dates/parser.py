"""Parses one phrase with `dateparser`, which is imported when it is needed: that takes a sixth of a second."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

Leans = Literal["past", "future"]


class ParsedDate(NamedTuple):
    """A moment, and the period that the phrase names: `time`, `day`, `week`, `month` or `year`."""

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
