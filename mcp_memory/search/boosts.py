"""Score how the wording of a question fits a passage: dates, speakers, questions. Pure functions on values.

The patterns for times that an entry names are English; questions in other languages get no such boost.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from mcp_memory.models import Passage
from mcp_memory.search.confidence import place_of
from mcp_memory.text.conversation.speaker_prefix import speaker_of
from mcp_memory.text.dates.mentioned import DateRange, mentioned_dates
from mcp_memory.text.language.identifiers import tickets
from mcp_memory.text.markdown.logs import is_log_path

_ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_REMARK_AT_END = re.compile(r"\s*(?:\[[^\[\]]*\]|\([^()]*\))$")
_ASKS_WHEN = re.compile(
    r"\A\W*(?:when|since when|until when|how long|(?:what|which) (?:day|date|week|month|year|time))\b"
    r"|\bwhen (?:did|do|does|is|are|was|were|has|have|had|will|should)\b",
    re.IGNORECASE,
)
_NAMES_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|recently|weeks?|weekends?|months?|years?)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
    r"|\b(?:19|20)[0-9]{2}\b|\b[0-9]{1,2}(?:st|nd|rd|th)\b",
    re.IGNORECASE,
)


class BoostWeights(NamedTuple):
    """The boosts, which are added to a fused score, whose best is about 2. Measured on the development sets, within 500
    tokens."""

    lead: float = 0.7
    """The boost of an entry that begins with a name (`Name: …`) of the question. .35 costs 2 points on questions that
    need several entries; .5 to 1.0 differ by less than 1 point."""
    date: float = 0.6
    """The boost of an entry whose log, or the heading above it, has a day that fits a date in the question. .4 is .3
    points worse, which is noise."""
    time: float = 0.1
    """The boost of an entry that names a time, if the question asks when: +1 point of reciprocal rank on logs."""
    question: float = -0.15
    """The boost of an entry that is itself a question, and so is hardly an answer. From 0 to -.25 each step gains
    tenths of a point."""
    ticket: float = 1.5
    """The boost of an entry with a numbered name of the question as a whole: `XRAY-78`, not `xray` and `78` apart."""
    foreign: float = -0.3
    """The boost of an imported note or a read-only source: the person's own words come first if both fit. Measured on
    the developer's notes: 200 imported documents reduce the evidence within 500 tokens from .941 to .903 without this
    boost, and to .933 with it. 13 of 18 questions about such documents find theirs first, 15 with -.1 and 10 with -.5.
    All find theirs among the first five."""


class ParsedQuestion(NamedTuple):
    """The parts of a question that boosts depend on."""

    names: frozenset[str]
    """Names that some entry begins with, in lower case."""
    days: Sequence[DateRange]
    """The days on which a log may have mentioned the dates in the question."""
    asks_when: bool
    asked_at: datetime
    tickets: frozenset[str] = frozenset()
    """Numbered names, in lower case."""


def read_question(text: str, now: datetime, names: Iterable[str] = ()) -> ParsedQuestion:
    """Read a question. `names`: the names in the question that some entry begins with."""
    days = [telling_days(date_range) for date_range in mentioned_dates(text, now)]
    asks_when = _ASKS_WHEN.search(text) is not None
    return ParsedQuestion(frozenset(name.lower() for name in names), days, asks_when, now, tickets(text))


def telling_days(named: DateRange) -> DateRange:
    """Return the days on which people write about `named`: from 3 days before to 14 days after a single day, and until
    10 days after the end of a longer period. They write about yesterday, last week, and what they are about to do."""
    if named.end - named.start <= timedelta(days=3):
        return DateRange(_shifted(named.start, -3), _shifted(named.end, 14))
    return DateRange(named.start, _shifted(named.end, 10))


def most_boost(question: ParsedQuestion, weights: BoostWeights) -> float:
    """Return the highest possible sum of all boosts of a passage."""
    named = weights.lead if question.names else 0.0
    dated = weights.date if question.days else 0.0
    timed = weights.time if question.asks_when else 0.0
    numbered = weights.ticket if question.tickets else 0.0
    return named + dated + timed + numbered


def boosts(question: ParsedQuestion, passage: Passage, weights: BoostWeights) -> dict[str, float]:
    """Return the boosts of a passage that apply, by name."""
    chunk, note = passage.chunk, passage.note
    found: dict[str, float] = {}
    if lead := named_lead(question, chunk.text):
        found[f"lead {lead}"] = weights.lead
    if question.days and (day := is_log_path(note.path) or _headed(chunk.headings)):
        found |= {"date": weights.date} if any(days.includes(day) for days in question.days) else {}
    if question.asks_when and _NAMES_TIME.search(chunk.text):
        found["time"] = weights.time
    if question.tickets and question.tickets & tickets(f"{place_of(passage)} {chunk.text}"):
        found["ticket"] = weights.ticket
    if is_question(chunk.text):
        found["question"] = weights.question
    if note.is_foreign:
        found["foreign"] = weights.foreign
    return found


def named_lead(question: ParsedQuestion, text: str) -> str | None:
    """Return the name that the text begins with (`Name: …`), if it is in the question."""
    if not question.names:
        return None
    lead = speaker_of(text)
    return lead if lead and lead.lower() in question.names else None


def is_question(text: str) -> bool:
    """Return whether the text ends with a question, ignoring a remark in brackets after it."""
    end = text[-1000:].rstrip()
    if end.endswith((")", "]")):
        end = _REMARK_AT_END.sub("", end)
    return end.endswith(("?", "？"))


def _headed(headings: Sequence[str]) -> date | None:
    """Return the day in the heading directly above an entry, `## 2026-11-21`."""
    try:
        return date.fromisoformat(headings[-1]) if headings and _ISO_DAY.fullmatch(headings[-1]) else None
    except ValueError:
        return None


def _shifted(day: date, days: int) -> date:
    """Move the day by this number of days, clipped to the calendar."""
    return date.fromordinal(min(max(day.toordinal() + days, 1), date.max.toordinal()))
