"""Parses dates as people write them (`yesterday`, `letzte Woche`, `il y a 3 jours`, `el viernes`, `14:30`) in English,
German, French and Spanish. Pure.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from mcp_memory.errors import InvalidInput
from mcp_memory.text.dates import NUMBERS, VAGUE_NUMBERS
from mcp_memory.text.dates.due import find_due
from mcp_memory.text.dates.periods import Leans, find_period, parse_phrase, period_near
from mcp_memory.text.language.word_tables import read_table

LANGUAGES = ["en", "de", "fr", "es"]
MAX_CHARS = 60
_AMBIGUOUS = re.compile(
    r"[-+0-9]{1,3}|[a-zA-Z]|[0-9]{1,2}/[0-9]{1,2}(?:/[0-9]+)?|[0-9]{4}-(?:1[3-9]|[2-9][0-9]).*|[QTqt][1-4]\b.*"
)
"""Matches ambiguous dates: a lone number or letter; `3/11`, which is in March or in November; a 13th month or a
quarter, which would become a day."""
_COUNTED = re.compile(r"[0-9]\s*[a-zäöü]|\b(?:an?|one|ein\w*|une?|una)\b", re.IGNORECASE)
"""Matches counted periods: `2 weeks ago` is counted from today, but `last week` begins on its Monday."""
_PREPOSITION = re.compile(
    r"(?:since|from|until|by|on|seit|ab|bis|am|zum|dem|depuis|dès|jusqu['’]?(?:à|au)|à partir d[eu]|le|desde|hasta|el)"
    r"\s+",
    re.IGNORECASE,
)
_WHICH = re.compile(
    r"(?:am\s+)?(?:(?P<past>letzte|vorige|vergangene)|(?P<future>nächste|kommende)|diese)[nmrs]?\s+(?=\w+(?:tag|abend|woch)$)",
    re.IGNORECASE,
)
"""Matches the words before a German weekday, as in `letzten Freitag`; dateparser knows them only before weeks and
months."""
_NUMBERS = {word: number for word, number in (NUMBERS | VAGUE_NUMBERS).items() if number != "1"}
_UNIT = (
    r"(?:minute[sn]?|minutos?|hours?|stunden?|heures?|horas?|days?|tage?n?|jours?|días?|weeks?|wochen?|semaines?|semanas?"
    r"|months?|monate?n?|mois|mes(?:es)?|years?|jahre?n?|ans?|années?|años?)"
)
_NUMBER_WORD = re.compile(
    rf"\b({'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\s+(?=(?:derni\S+ |últim\S+ )?{_UNIT}\b)", re.IGNORECASE
)
_FROM_NOW = re.compile(rf"(?P<span>\S+\s+{_UNIT})\s+from\s+(?:now|today)", re.IGNORECASE)
_RUNNING = re.compile(
    r"(?:(?:in|im|over|during|within|au cours|pendant|durante|en)\s+)?(?:(?:the|den|der|die|des|ces|les|los|las)\s+)?"
    rf"(?:(?:last|past|letzten?|vergangenen?|últim[oa]s)\s+(?P<span>\d+\s+{_UNIT})"
    rf"|(?P<number>\d+)\s+(?:(?:derni(?:er|ère)s|últim[oa]s)\s+(?P<unit>{_UNIT})"
    rf"|(?P<unit2>{_UNIT})\s+(?:passée?s|pasad[oa]s)))",
    re.IGNORECASE,
)
"""Matches periods that end now: `the last two weeks`, `ces 3 derniers jours`."""
_AGO = ("{} ago", "vor {}", "il y a {}", "hace {}")
_LAST = re.compile(r"\s+(?:dernier|pasado)$", re.IGNORECASE)
"""Matches the words after a French or Spanish weekday, as in `vendredi dernier`."""
_PART_OF_DAY = re.compile(
    r"(?<=\w)(?<!\bthis)(?<!\bce)(?<!\bcet)(?<!\bcette)"
    r"(?:\s*abends?|\s+(?:früh|morgens?|nachts?|(?:vor|nach)?mittags?|(?:(?:au|dans la|in the) )?"
    r"(?:soir|matin|après-midi|nuit|evening|morning|afternoon)|(?:por|en) la (?:mañana|tarde|noche)))$",
    re.IGNORECASE,
)
"""Matches a part of a past day, `gestern Abend`. It is read as the whole day, so that nothing is missed."""
_PART_OF_MONTH = re.compile(
    r"(?:(?:a|the|am|zu|à la|au)\s+)?(?:(?P<early>early|beginning of|start of|anfang|début|principios de|inicios de)"
    r"|(?P<mid>mid|middle of|mitte|milieu|mi|mediados de)|(?P<late>late|end of|ende|fin|finales de|final de|fines de))"
    r"[\s-]+(?=\w)(?!de semana)",
    re.IGNORECASE,
)
"""Matches a third of a period: `early November`, `Ende 2025`."""
_COMPOUND = re.compile(r"(monat|jahr)e?s(anfang|mitte|ende)", re.IGNORECASE)
_SAME: dict[str, str] = read_table("mcp_memory.text.dates", "due.toml")["same"]
"""Phrases that dateparser doesn't know, with equivalent phrases that it knows."""
_ARTICLES = ("la ", "le ", "el ")
"""Articles that dateparser needs: it knows `la semaine dernière`, but not `semaine dernière`."""
_EXAMPLES = {
    "past": "yesterday, last weekend, 2 days ago, Friday, week 47",
    "future": "tomorrow, Friday, in 2 weeks, end of the month",
}


class SpokenDate(NamedTuple):
    """A date in ISO 8601: a moment, with both fields equal, or a day, week, month or year with the day after it."""

    start: str
    end: str


def is_iso(text: str) -> bool:
    """Return whether a text is a date or time in ISO 8601, which isn't parsed here. A week like `2026-W47` is."""
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return "W" not in text


def read_date(name: str, text: str, leans: Leans, now: datetime) -> SpokenDate:
    """Parse a date in words. `leans`: whether a weekday is the last or the next. `now` is aware, in the speaker's zone.
    Takes half a second the first time, most of it for imports. Raises InvalidInput with `name` and examples."""
    if is_iso(text):
        return SpokenDate(text.strip(), text.strip())
    if len(text) <= MAX_CHARS and not _AMBIGUOUS.fullmatch(text.strip()):
        counted = _NUMBER_WORD.sub(lambda word: f"{_NUMBERS[word[1].lower()]} ", text.strip())
        whole = _COMPOUND.sub(r"\2 \1s", _FROM_NOW.sub(r"in \g<span>", counted))
        if found := _named(_PART_OF_DAY.sub("", whole) if leans == "past" else whole, leans, now):
            return found
        if leans == "future" and (due := find_due(text, now)):
            if not due.at:
                return _days(due.day, due.day + timedelta(days=1))
            moment = due.moment(now.tzinfo or UTC).isoformat(timespec="seconds")
            return SpokenDate(moment, moment)
    hint = f"pass for example {_EXAMPLES[leans]}, 14:30 or 2026-11-21"
    raise InvalidInput(f"{name}: not a date or time that can be read", hint=hint)


def _named(text: str, leans: Leans, now: datetime) -> SpokenDate | None:
    plain = _PREPOSITION.sub("", text)
    if running := _RUNNING.fullmatch(plain):
        span = running["span"] or f"{running['number']} {running['unit'] or running['unit2']}"
        began = next(filter(None, (_in_words(ago.format(span), "past", now) for ago in _AGO)), None)
        return began and SpokenDate(began.start, (now.date() + timedelta(days=1)).isoformat())
    period = find_period(plain, leans, now.date())
    if period and (leans == "past" or period[1] > now.date()):
        return _days(*period)
    for variant in _variants(text):
        if found := _in_words(_SAME.get(variant.lower(), variant), leans, now):
            return found
    part = _PART_OF_MONTH.match(plain)
    return _part(part, plain[part.end() :], leans, now) if part else None


def _part(part: re.Match[str], of: str, leans: Leans, now: datetime) -> SpokenDate | None:
    """Return a third of the period. The end of a future period is its last day; the end of a week is left to
    `find_due`."""
    number = ("early", "mid", "late").index(str(part.lastgroup))
    whole = _named(of, leans, now)
    if whole and leans == "past" and _third(whole, number).start > now.date().isoformat():
        whole = _named(of, leans, datetime.fromisoformat(whole.start).replace(tzinfo=now.tzinfo) - timedelta(days=1))
    if whole is None or leans == "past" or number < 2:
        return whole and _third(whole, number)
    first, after = (datetime.fromisoformat(at).date() for at in whole)
    return None if after - first == timedelta(weeks=1) else _days(after - timedelta(days=1), after)


def _third(whole: SpokenDate, number: int) -> SpokenDate:
    """Return the first, second or last third of a month or year; the whole period if it is shorter than three days."""
    first, after = (datetime.fromisoformat(at).date() for at in whole)
    third = (after - first) // 3
    if not third:
        return whole
    return _days(first + number * third, after if number == 2 else first + (number + 1) * third)


def _variants(text: str) -> Iterator[str]:
    plain = _PREPOSITION.sub("", text)
    if not _AMBIGUOUS.fullmatch(plain):
        yield from dict.fromkeys((text, plain, _LAST.sub("", plain), *(article + plain for article in _ARTICLES)))


def _in_words(text: str, leans: Leans, now: datetime) -> SpokenDate | None:
    if which := _WHICH.match(text):
        text = text[which.end() :]
        leans = "past" if which["past"] else "future" if which["future"] else leans
    found = parse_phrase(text, now, leans, LANGUAGES, is_day_first="." in text)
    if found is None:
        return None
    if found.period == "time":
        moment = found.moment if found.moment.tzinfo else found.moment.replace(tzinfo=now.tzinfo)
        written = moment.isoformat(timespec="seconds")
        return SpokenDate(written, written)
    try:
        return _days(*period_near("day" if _COUNTED.search(text) else found.period, 0, found.moment.date()))
    except (OverflowError, ValueError):  # the day after the last one of all
        return None


def _days(first: date, after: date) -> SpokenDate:
    return SpokenDate(first.isoformat(), after.isoformat())
