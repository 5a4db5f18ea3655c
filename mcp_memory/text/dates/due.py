"""Parses due dates of promises, in English, German, French and Spanish: `by Friday`, `morgen um 9`, `fin du mois`, `el
lunes a las 15:00`. Pure.

The words are first translated into English for dateparser. Without this, dateparser misreads many such phrases: it
doesn't know `nächsten Freitag`, `el viernes` and `end of month`, and reads `Freitag um 15 Uhr` as the 15th.
"""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from mcp_memory.text.dates import MONTHS, NUMBERS, as_datetime
from mcp_memory.text.dates.periods import parse_phrase
from mcp_memory.text.language.word_tables import read_table

MOST_CHARS = 2000
"""The most characters of a text that are read."""

WEEK_ENDS_ON = 4
"""The day meant by `by the end of the week`: Friday, or on a weekend, Sunday. An early reminder is better than a late
one."""

MOST_DAYS_TO_NTH = 62
"""The 31st of March is 61 days before the next 31st."""

WEEKDAYS: str = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
DAYS: Sequence[str] = WEEKDAYS.split("|")
_TABLE = read_table("mcp_memory.text.dates", "due.toml")
_FOREIGN: dict[str, str] = _TABLE["words"]
_ENGLISH = {word: english for english, words in _FOREIGN.items() for word in words.split()}
_IN = "in|dans|en|dentro de"
_UNITS = "|".join(
    f"{unit[:-1]}s?|{'|'.join(_FOREIGN[unit].split())}" for unit in ("minutes", "hours", "days", "weeks", "months")
)
_COUNTED = re.compile(rf"\b(?:{_IN}) ([^\W_]+) ({_UNITS})\b")
_PHRASES = [(re.compile(pattern), english) for pattern, english in _TABLE["phrases"]]
_WEEKS = "nextweek|weekafternext"
_ANCHORS = f"{WEEKDAYS}|today|tomorrow|overmorrow"
COUNT = "|".join([*NUMBERS, "[0-9]{1,2}"])
_VERBS = (
    "be|not|have|also|break|cause|change|contain|fail|need|only|still|take|lead|result|run|go|get|make|differ|require|"
    "return|become|happen|occur|use|work|help|come|want|never|well|just"
)
"""Verbs after `may`: `step 2 may fail`."""
_MONTH, _DAY = f"(?:{'|'.join(MONTHS)})", r"(?:0?[1-9]|[12][0-9]|3[01])"
_NOT = re.compile(
    r"\b(?:last|every|each|always|since|from|ago|immer|toujours|siempre|seit|(?:vor)?letzte[nrs]?|vergangene[nrs]?|vorige[nrs]?|jede[nrs]?|chaque"
    r"|tous les|dernière?|depuis|cada|todos los|pasad[oa]|desde|yesterday|gestern|ayer)\b"
    r" *(?:weeks?|day|months?)? *(?:on|am|den|el|le|dem)? *$"
)
"""Words before a day that has passed, or recurs."""
_OVER = re.compile(
    r" *(?:dernier|pasado|passée?|ago|(?:of |der )?(?:last|(?:vor)?letzte[nrs]?|vergangene[nrs]?|vorige[nrs]?) weeks?"
    r"|de la weeks (?:dernière|passée|pasada))\b"
)
_CORE = re.compile(
    rf"\b(?P<iso>[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})\b"
    rf"|(?<!\d\.)\b(?P<absolute>{_DAY}(?:st|nd|rd|th|er)?\.? (?:of |de )?{_MONTH}\b\.?(?! (?:{_VERBS})\b)"
    rf"(?:,? (?:de |del )?[0-9]{{4}}\b)?|{_MONTH}\b\.? {_DAY}(?:st|nd|rd|th)?\b(?:,? [0-9]{{4}}\b)?)"
    rf"|(?:bis|am|zum|den|dem|vor|on|by|due|before|until|le|el) "
    rf"(?P<numbers>{_DAY}\.(?:0?[1-9]|1[0-2])\.(?:[0-9]{{4}})?)(?![0-9])"
    rf"|\b(?:(?:am|zum|vor dem|(?:on|by|until|till|before|for)(?: the)?) (?=\d+[snrt])|(?:le|el|del) "
    rf"|(?<=jusqu’|d’ici )au )(?P<nth>{_DAY})(?:st|nd|rd|th|er)?(?={_TABLE['behind_day']})"
    rf"|\b(?:(?P<week>{_WEEKS})(?: ?,)? (?:(?:on|am|den|el|le) )?(?P<day>{WEEKDAYS})"
    rf"|(?P<day2>{WEEKDAYS}),? (?:of (?:the )?|(?:in )?der |de (?:la )?)?(?P<week2>{_WEEKS}))\b"
    rf"|\b(?P<anchor>{_ANCHORS}) (?:{_IN}) (?P<later>[0-9]{{1,2}}) (?P<step>week|day)s?\b"
    rf"|\b(?P<anchor2>{WEEKDAYS}) (?P<step2>week)\b(?! [0-9])"
    rf"|\b(?P<later3>{COUNT}) (?P<step3>week|day)s? (?:from|after|nach|après|después del?|(?<=weeks )on|(?<=week )on) "
    rf"(?:next |dem |el |le )?(?P<anchor3>{_ANCHORS}|now)\b(?![’]s)"
    rf"|\b(?:{_IN}) (?P<around>[0-9]{{1,2}} (?:week|month)s?),? (?:(?:on|am|den|el|le) )?(?P<weekday>{WEEKDAYS})\b"
    rf"|(?<![./@])\b(?P<word>{_ANCHORS}|endofweek|endofmonth|endofyear|nextmonth|{_WEEKS})\b(?!\.[a-z]| gras\b)"
    rf"|\b(?:{_IN}) (?P<ahead>[0-9]{{1,3}} (?:minute|hour|day|week|month)s?)\b"
)
_CLOCK = re.compile(
    r"\bat (?P<hour>[01]?[0-9]|2[0-3])(?::(?P<minute>[0-5][0-9])?)? ?(?P<half>[ap]\.?m\b)?"
    r"(?![\w.:]*[0-9]|[ -]?(?:%|[$€£]|percent|pro[zc]ent|por ?cien|euro|dollar|times|(?:minute|hour|day|week|month)s))"
    r"|\b(?P<hour2>[01]?[0-9]|2[0-3])(?::(?P<minute2>[0-5][0-9]))? ?(?P<half2>[ap]\.?m\b)"
    r"|\b(?P<hour3>[01]?[0-9]|2[0-3]):(?P<minute3>[0-5][0-9])\b|\b(?P<part>morning|noon|afternoon|evening)\b"
)
_BREAK = re.compile(r"(?:[^\s,;:–—]+ ){3}[^\s,;:–—]+([,;:.!?–—]) \S+ \S")
"""Matches the end of a clause (group 1) whose day has nothing to do with a time after it: `I pay by Friday, lunch is at
1`, but not `on Friday, at 1` or `tomorrow, call Bo at 1`."""
_BEFORE = re.compile(r"\b(?:before|vor|avant|antes del?) (?:(?:the|dem|le|la|el) )?(?:next )?$")
"""Matches the words before a day on which it is too late, unless a time is named."""
_DUTY = re.compile(_TABLE["duty"], re.IGNORECASE)
_THE = re.compile(r"[ ,(]*(?:(?:the|den|dem|der|le|el) )?")
_PARTS = {"morning": time(9), "noon": time(12), "afternoon": time(14), "evening": time(18)}
_WORD = re.compile(r"[^\W\d_]+(?:[-’][^\W\d_]+)*")


class DueDate(NamedTuple):
    """A day, and the time of that day if given; both in the person's zone."""

    day: date
    at: time | None = None

    def __str__(self) -> str:
        """Return for example `Fri 2026-11-27`, with the time if it has one."""
        return f"{self.day:%a %Y-%m-%d}{f' {self.at:%H:%M}' if self.at else ''}"

    def moment(self, zone: tzinfo) -> datetime:
        """The due time; for a day, its beginning."""
        return datetime.combine(self.day, self.at or time(), zone)


def due_from(value: Any, zone: tzinfo) -> DueDate | None:
    """Parse a value in frontmatter or ISO 8601; return None for anything but a date."""
    with suppress(ValueError, TypeError):
        return DueDate(date.fromisoformat(value))
    moment = as_datetime(value, zone)
    if moment is None or (isinstance(value, date) and not isinstance(value, datetime)):
        return moment and DueDate(moment.date())
    local = moment.astimezone(zone)
    return DueDate(local.date(), local.time().replace(second=0, microsecond=0))


def duty_start(text: str) -> int:
    """Return where the first clause with a duty begins behind clauses about something else; 0 if there is none."""
    duty = _DUTY.match(text[:MOST_CHARS].replace("'", "’"))
    return duty.start("clause") if duty else 0


def find_due(text: str, said: datetime) -> DueDate | None:
    """Return the first future day or time in a text, or in the clause of its duty, if that names a day: `the demo is on
    Friday, I'll send it today`. `said` is the time of the text, in its author's zone. A weekday, also `next Friday`, is
    the next such day after `said`. `before Friday` means Thursday. `next week` is its Monday, or the weekday named with
    it. `next month` is its first day. `Monday in two weeks` is two weeks after the next Monday, and `in two weeks on
    Monday` the Monday that is nearest to the day in two weeks."""
    own = in_english(text[duty_start(text) :])
    plain = own if any(future_days(own, said)) else in_english(text)
    clocks = list(_CLOCK.finditer(plain))
    days = list(future_days(plain, said))
    if days:
        match, moment = days[0]
        is_before = _BEFORE.search(plain, 0, match.start(match.lastgroup or 0))
        if re.search("hour|minute", match["ahead"] or ""):
            return DueDate(moment.date(), moment.time().replace(second=0, microsecond=0))
        for other, day in days[1:2]:
            if f"{day:%A}".lower() == match["word"] and _THE.fullmatch(plain, match.end(), other.start()):
                match, moment = other, day  # `Tuesday, December 8`
        clock = _clock_of(match, clocks, plain)
        if is_before and not clock:
            moment -= timedelta(days=1)
        return DueDate(moment.date(), _time_of(clock) if clock else None)
    if not clocks or (clocks[0]["part"] and "today" not in plain):
        return None
    at = _time_of(clocks[0])
    return DueDate(said.date() + timedelta(days=at <= said.time()), at)


def _clock_of(day: re.Match[str], clocks: Sequence[re.Match[str]], plain: str) -> re.Match[str] | None:
    """Return the time that is nearest to a day, in the same clause and without another day between them."""
    found: dict[int, re.Match[str]] = {}
    for clock in reversed(clocks):
        start, end = min(day.end(), clock.end()), max(day.start(), clock.start())
        is_broken = any(start <= mark.start(1) for mark in _BREAK.finditer(plain, 0, end))
        if not (is_broken or _CORE.search(plain, start, end)):
            found[end - start] = clock
    return found[min(found)] if found else None


def future_days(plain: str, said: datetime) -> Iterator[tuple[re.Match[str], datetime]]:
    """Yield the future days that a text in English names, each with its match. The groups `numbers` and `nth` of a
    match are a day without the preposition before it."""
    for match in _CORE.finditer(plain):
        if _NOT.search(plain, 0, match.start()) or _OVER.match(plain, match.end()):
            continue
        moment = _parsed(f"in {match['ahead']}", said) if match["ahead"] else _moment(match, said)
        if moment and moment.date() >= said.date():
            yield match, moment


def in_english(text: str) -> str:
    """Return a text in lower case, with its words for days and times in English, as `future_days` needs it."""
    plain = " ".join(text[:MOST_CHARS].lower().split())
    for pattern, english in _PHRASES:
        plain = pattern.sub(english, plain)
    # Number words are translated only before a unit: `un` is also a French article.
    plain = _COUNTED.sub(lambda found: f"in {NUMBERS.get(found[1], found[1])} {found[2]}", plain)
    return " ".join(_WORD.sub(lambda word: _ENGLISH.get(word[0], word[0]), plain).split())


def _time_of(clock: re.Match[str]) -> time:
    if part := clock["part"]:
        return _PARTS[part]
    hour, minute = (int(clock[name] or clock[f"{name}2"] or clock[f"{name}3"] or 0) for name in ("hour", "minute"))
    half = (clock["half"] or clock["half2"] or "")[:1]
    has_minutes = clock["minute"] or clock["minute3"] or (clock["hour"] and ":" in clock[0])
    if half == "p" or (not half and not has_minutes and 0 < hour < 7):
        hour += 12 * (hour < 12)
    return time(0 if half == "a" and hour == 12 else hour, minute)


def _moment(match: re.Match[str], said: datetime) -> datetime | None:
    if week := match["week"] or match["week2"]:
        return _after(said, _days_until(week, said) + DAYS.index(match["day"] or match["day2"]))
    if anchor := match["anchor"] or match["anchor2"] or match["anchor3"]:
        count = match["later"] or match["later3"] or "1"
        step = match["step"] or match["step2"] or match["step3"]
        return _after(said, _days_until(anchor, said) + int(NUMBERS.get(count, count)) * (7 if step == "week" else 1))
    if match["around"]:
        middle = _parsed(f"in {match['around']}", said)
        return middle and _around(middle, match["weekday"])
    if match["word"]:
        return _after(said, _days_until(match["word"], said))
    if match["nth"]:
        ahead = (_after(said, days) for days in range(MOST_DAYS_TO_NTH))
        return next((one for one in ahead if one and one.day == int(match["nth"])), None)
    if match["numbers"]:  # dateparser takes the numbers for a time
        day, month, year = match["numbers"].split(".")
        return _parsed(f"{day} {date(2000, int(month), 1):%B} {year}", said)
    return _parsed(match["iso"] or re.sub(r"\b(?:of|del?) |(?<=1)er\b", "", match["absolute"]), said)


def _days_until(word: str, said: datetime) -> int:
    """Return the number of days until the day that a word of `_CORE` means."""
    today, weekday = said.date(), said.weekday()
    left = monthrange(today.year, today.month)[1] - today.day
    ahead = {
        "now": 0, "today": 0, "tomorrow": 1, "overmorrow": 2, "nextweek": 7 - weekday, "weekafternext": 14 - weekday,
        "nextmonth": left + 1, "endofmonth": left,
        "endofweek": (WEEK_ENDS_ON if weekday <= WEEK_ENDS_ON else 6) - weekday,
        "endofyear": (date(today.year, 12, 31) - today).days,
    }  # fmt: skip
    return ahead[word] if word in ahead else (DAYS.index(word) - weekday - 1) % 7 + 1


def _after(said: datetime, days: int) -> datetime | None:
    try:
        return datetime.combine(said.date() + timedelta(days), time())
    except OverflowError:
        return None


def _around(middle: datetime, weekday: str) -> datetime | None:
    """Return the weekday from two days before to four days after a day: on a Monday, Friday is later in that week."""
    ahead = (DAYS.index(weekday) - middle.weekday() + 2) % 7 - 2
    return _after(middle, ahead)


def _parsed(phrase: str, said: datetime) -> datetime | None:
    found = parse_phrase(phrase, said, "future", ["en"], is_day_first=True)
    return found and found.moment
