"""The day for which something is promised: `by Friday 27 November`, `bis morgen`, `due 2026-12-01`."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta

_MONTHS = (
    "jan(?:uary|uar)?", "feb(?:ruary|ruar)?", "mar(?:ch)?|märz|mär", "apr(?:il)?", "may|mai", "june?|juni?",
    "july?|juli?",
    "aug(?:ust)?", "sept?(?:ember)?", "o[ck]t(?:ober)?", "nov(?:ember)?", "de[cz](?:ember)?",
)  # fmt: skip
_WEEKDAYS = (
    "mon(?:day|tag)?", "tue(?:s|sday)?|dienstag", "wed(?:nesday)?|mittwoch", "thu(?:rs|rsday)?|donnerstag",
    "fri(?:day)?|freitag", "sat(?:urday)?|samstag|sonnabend", "sun(?:day)?|sonntag",
)  # fmt: skip
_COUNTS = {
    word: count
    for count, words in enumerate(
        ("a an one ein einem einer", "two zwei", "three drei", "four vier", "five fünf", "six sechs"), 1
    )
    for word in words.split()
}
_MONTH, _WEEKDAY = f"(?:{'|'.join(_MONTHS)})", f"(?:{'|'.join(_WEEKDAYS)})"
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


def due_date(text: str, today: date) -> date | None:
    """The first day that a text names as its date, English or German; without a year the next one from `today` on."""
    for match in _DUE.finditer(text):
        try:
            return _day(match, today)
        except (ValueError, OverflowError):
            continue  # 31 June
    return None


def _day(match: re.Match[str], today: date) -> date:
    if match["iso"]:
        return date.fromisoformat(match["iso"])
    if match["weekday"]:
        ahead = (_place(_WEEKDAYS, match["weekday"]) - today.weekday() - 1) % 7 + 1
        return today + timedelta(days=ahead)
    if near := match["near"]:
        return today + timedelta(days={"tomorrow": 1, "morgen": 1, "übermorgen": 2}.get(near.lower(), 0))
    if match["end"]:
        of = match["of"].lower()
        if of.startswith("w"):
            return today + timedelta(days=6 - today.weekday())
        month = today.month if of.startswith("m") else 12
        return date(today.year, month, monthrange(today.year, month)[1])
    if count := match["count"]:
        times, unit = _COUNTS.get(count.lower()) or int(count), match["unit"].lower()[0]
        return today + timedelta(days=times * {"d": 1, "t": 1, "w": 7, "m": 30}[unit])
    day = int(match["day"] or match["day2"] or match["day3"])
    year = match["year"] or match["year2"] or match["year3"]
    named = match["month"] or match["month2"]
    month = _place(_MONTHS, named) + 1 if named else int(match["month3"])
    if year:
        return date(int(year), month, day)
    this = date(today.year, month, day)
    return this if this >= today else date(today.year + 1, month, day)


def _place(names: tuple[str, ...], said: str) -> int:
    return next(at for at, name in enumerate(names) if re.fullmatch(name, said, re.IGNORECASE))
