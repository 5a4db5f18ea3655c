"""Parses the day on which a statement ends to apply, in English, German, French and Spanish: `until Friday`, `diese
Woche`, `durante los próximos diez días`. Pure.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import partial
from typing import Literal, NamedTuple

from mcp_memory.text.dates import MONTHS, NUMBERS
from mcp_memory.text.dates.due import COUNT, WEEKDAYS, future_days, in_english
from mcp_memory.text.dates.periods import period_near
from mcp_memory.text.language.word_tables import has_cue

_MAY_END = re.compile(
    r"til|through|bis|hasta|jusqu|week|woche|seman|semaine|month|monat|mes\b|mois|today|heute|hoy|aujourd"
    r"|(?:in|im|en|during|durante|pendant|au mois de) (?:the )?[adfjmnos]\w\w|tomorrow|demain"
    r"|next|coming|nächste|kommende|próxim|prochain|venir|vienen|holidays|feiertag|fêtes|fiestas",
    re.IGNORECASE,
)
_UNTIL = re.compile(
    r"(?<!go )(?<!goes )(?<!went )(?<!look )(?<!run )(?<!get )(?<!read )(?<!page )"
    r"\b(?:(?P<firm>until|till|through|hasta|jusqu’(?:à|aux?|en))|bis)"
    r"(?: (?:and including|inclusive|einschließlich|incluid[oa]|inclus))?"
    r"(?: (?:the|this|coming|zum|den|dem|der|diesen|kommenden|el|este|la|le|ce))* *$"
)
_MONTH = re.compile(rf"(?:(?:the )?(?:end of|ende|fin(?: de)?|finales de) )?(?P<month>{'|'.join(MONTHS)})\b(?! [0-9])")
"""Matches the end of a month, also without the words for it: `until March`."""
_IN_MONTH = re.compile(r"\b(?:in|im|en|during|throughout|durante|pendant|au mois de) (?:the )?$")
_NAMED_DAY = re.compile(
    r"\b(?P<before>(?:before|vor|avant|antes del?) (?:(?:next|dem|le|el) )?)?"
    rf"(?:(?P<day>{WEEKDAYS})s?|(?:in|im|en) (?P<month>{'|'.join(MONTHS)}))\b"
)
_JOINS_DAY = re.compile(r"(?<=tag)s?-|(?<=woch)s?-|(?<=day)-", re.IGNORECASE)
_RANGE = re.compile(rf"\b(?:{WEEKDAYS})s?(?: at)?[ 0-9:.]*$")
"""Matches the beginning of a range of weekdays, which recurs: `Monday through Friday`."""
_PERIOD = re.compile(
    r"\b(?:(?P<firm>(?:(?:for|für|por|pour|durante|pendant) )?"
    r"(?:the rest of (?:the|this)|den rest de[rs]|el resto del?(?: la)?|le reste (?:de la|du)))"
    r"|(?:in |during |en |durante |pendant )?"
    r"(?:this|diese[nrsm]?|est[ea]|cette|ce)) (?:(?P<week>weeks?)|(?P<month>months?|monats|mois-ci))\b(?!’)"
    r"|\b(?P<day>today)\b(?!’)"
    r"|\b(?:over|during|über|während|durante|pendant) (?:the|die|der|las|les) "
    r"(?P<year>holidays|feiertage|fiestas|fêtes)\b"
)
_AHEAD, _THE = "next|coming|nächsten|kommenden|próxim[oa]s|prochaine?s", "the|die|de[nr]|les|los|las|ces|est[ao]s"
_NEXT = re.compile(
    rf"\b(?:(?P<firm>for|für|during|während|durante?|pendant)(?: (?:{_THE}))?|(?:(?:in|over) )?(?:{_THE})) "
    rf"(?:(?:{_AHEAD}) (?P<count>{COUNT})|(?P<count2>{COUNT})(?= (?:{_AHEAD})| \w+ (?:à venir|que vienen)))"
    rf"(?: (?:{_AHEAD}))? (?P<unit>day|week|month)s?\b(?: à venir| que vienen)?"
)
_BEGINS = re.compile(
    r"\b(?:from|as of|since|starting|begin\w*|later|earlier|by|of|on|ab|seit|desde|a partir de|à partir d[e’]|dès"
    r"|depuis) *$"
)
"""Matches the words before a period in which something begins: `as of this week`."""
_LEAD = re.compile(
    r"\W*(?:(?:and|so|but|ok|und|also|aber|y|pero|et|mais|from now|from today|ab jetzt|ab today)\W+)*"
    r"(?:(?P<during>während|during|durante|pendant) [^,;]{3,40}\()?$"
)
_CLOSES = re.compile(r",?(?: (?:please|pls|plz|bitte|por favor|porfa|stp))?[ .!)]*(?:$|[,;–—])")
"""Matches the rest of a statement, or of its first clause, that ends with a period."""
_CLAUSE_ENDS = re.compile(r"[,;:.!–—]")
_SPAN = re.compile(
    r"\b(?:(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2})|(?:(?P<before><month>) )?(?P<day>[0-9]{1,2})(?:st|nd|rd|th|er)?\.?"
    r"(?:(?P<number>1[0-2]|0?[1-9])\.(?:[0-9]{4})?)?(?: (?:of |de )?(?P<first><month>)(?: [0-9]{4})?)?)"
    r" ?(?:to|through|till|until|and|bis|und|au|et|al|y|[–-])(?: (?:the|zum|le|el))* ?[0-9]{1,2}(?:st|nd|rd|th|er)?\.?"
    r"(?: (?:of |de )?(?P<last><month>))?".replace("<month>", "|".join(MONTHS))
)
"""Matches a span of days: `from the 15th to the 22nd of December`."""
_DAYS_OF = {"day": 1, "week": 7, "month": 31}
_LEAST_WORDS = 2
"""The minimum number of words of a rule, without those for its end."""
_has = partial(has_cue, "mcp_memory.text.dates", "ends.toml")


class Limit(NamedTuple):
    """The last day on which a text applies. `is_certain`: nothing in it is true after that day. `is_rule`: the text is
    a rule that makes sense by itself. `commas` is their number after the words that name the day, if the first follows
    directly."""

    day: date
    is_certain: bool
    is_rule: bool
    commas: int

    def added_to(self, text: str) -> str:
        """Return the text with the day behind its words for it, or at its end."""
        day = self.day.isoformat()
        if day in text:
            return text
        before, *rest = text.rsplit(",", self.commas) if self.commas else [text.rstrip(".!")]
        return ",".join([f"{before} (until {day})", *rest]) + ("" if rest else ".")


Form = Literal["until", "for", "by", "during"]
"""The form of the words that name an end. `until`: always a duration, `until Friday`; if something recurs, each time
may have such an end. `for`: always a single duration, `for the next ten days`. `by`: a duration or a deadline, `bis
Freitag`. `during`: a duration or the time of an event, `this week`."""


class End(NamedTuple):
    """The last day of a statement. `head` and `tail` are the words before and after those that name it, in English."""

    day: date
    form: Form
    head: str
    tail: str

    @property
    def opens(self) -> bool:
        """Return whether the statement begins with it."""
        return _LEAD.fullmatch(self.head) is not None


def find_limit(text: str, said: datetime) -> Limit | None:
    """Return until when a text applies, unless it is about the past, conditional, or about a deadline, an event or
    something that recurs. It is certain only if nothing in the text is true after that day."""
    end = find_end(text, said)
    view = text.lower().replace("'", "’")
    if end is None or _has("past", view) or _has("depends", view) or _has("then", end.tail):
        return None
    if end.form in {"until", "by"} and _has("recurs", view):
        return None
    is_order = _has("order", end.tail)
    opens = end.opens or (is_order and end.head.rstrip().endswith((",", ";", ":")))
    is_order = is_order and opens
    clause = f"{end.head} {_CLAUSE_ENDS.split(end.tail.lstrip(' ,'))[0]}"
    is_plain = is_order or not (_has("term", clause) or _has("clause", end.head))
    has_norm = is_order or _has("norm", clause)
    if end.form in {"by", "during"} and (not has_norm or not is_plain or _has("duty", view)):
        return None
    if end.form == "during" and not is_order and (_has("changes", view) or _has("trouble", view)):
        return None
    stated = f"{'' if opens else end.head} {end.tail}".strip(" ,")
    is_whole = len(stated.split()) >= _LEAST_WORDS and not _has("pronoun", stated) and not _has("report", view)
    commas = end.tail.count(",") if end.tail.lstrip().startswith(",") else 0
    is_before = end.tail.lstrip().startswith("morning") and end.form != "during"
    return Limit(end.day - timedelta(days=is_before), is_plain, is_plain and is_whole and (opens or has_norm), commas)


def applies_on(text: str, day: date) -> bool:
    """Return whether a rule applies on a day: it names no other weekday or month, `no Friday deploys in December`."""
    plain = in_english(_JOINS_DAY.sub(" ", text))
    named = (match for match in _NAMED_DAY.finditer(plain) if not match["before"])
    found = [match for match in named if not _UNTIL.search(plain, 0, match.start())]
    days = [match["day"] for match in found if match["day"]]
    months = [match["month"] for match in found if match["month"]]
    return (not days or f"{day:%A}".lower() in days) and (not months or f"{day:%B}".lower() in months)


def begins_later(text: str, said: datetime, today: date) -> bool:
    """Return whether a text names a span of days that begins after today."""
    for span in _SPAN.finditer(in_english(text)):
        name = span["before"] or span["first"] or span["last"]
        month = MONTHS[name] if name else int(span["number"] or 0)
        with suppress(ValueError):
            year = said.year + (month < said.month)
            if (date.fromisoformat(span["iso"]) if span["iso"] else date(year, month, int(span["day"]))) > today:
                return True
    return False


def find_end(text: str, said: datetime) -> End | None:
    """Return the end that a text names, the first of several words for it; None if it names several ends. `said` is the
    time of the text, in its author's zone."""
    if not _MAY_END.search(text):
        return None
    plain = in_english(text)
    found = [*_dates(plain, said), *_months(plain, said), *_periods(plain, said)]
    if len({end.day for end in found}) != 1:
        return None
    return min(found, key=lambda end: len(end.head))


def _dates(plain: str, said: datetime) -> Iterator[End]:
    for match, moment in future_days(plain, said):
        start = max(map(match.start, (0, "numbers", "nth")))
        if until := _UNTIL.search(plain, 0, start):
            head, day = plain[: until.start()], moment.date()
            if match["word"] == "endofweek":
                day = _last_day("week", day)
            lead = _LEAD.fullmatch(head)
            is_long = until["firm"] or (lead and lead["during"])  # `während der Messe (bis 5.12.)`
            if not _RANGE.search(head) and not plain.startswith("’s", match.end()):
                yield End(day, "until" if is_long else "by", head, plain[match.end() :])


def _months(plain: str, said: datetime) -> Iterator[End]:
    for match in _MONTH.finditer(plain):
        until = _UNTIL.search(plain, 0, match.start())
        begin = until or (None if _has("then", plain) else _IN_MONTH.search(plain, 0, match.start()))
        if begin:
            month = MONTHS[match["month"]]
            day = _last_day("month", date(said.year + (month < said.month), month, 1))
            form = ("until" if until["firm"] else "by") if until else "during"
            yield End(day, form, plain[: begin.start()], plain[match.end() :])


def _periods(plain: str, said: datetime) -> Iterator[End]:
    today = said.date()
    for match in _PERIOD.finditer(plain):
        form = "for" if match["firm"] or match["year"] else "during"
        day = date(today.year + 1, 1, 1) if match["year"] else _last_day(str(match.lastgroup), today)
        found = End(day, form, plain[: match.start()], plain[match.end() :])
        if (found.opens or _CLOSES.match(found.tail)) and not _BEGINS.search(found.head):
            yield found
    for match in _NEXT.finditer(plain):
        count = match["count"] or match["count2"]
        days = int(NUMBERS.get(count, count)) * _DAYS_OF[match["unit"]]
        form = "for" if match["firm"] else "during"
        yield End(today + timedelta(days), form, plain[: match.start()], plain[match.end() :])


def _last_day(unit: str, today: date) -> date:
    return period_near(unit, 0, today)[1] - timedelta(days=1)
