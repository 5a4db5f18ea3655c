"""Checks what a language model answers about a session, and keeps only what the session's words support. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, cast

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.extraction.reading.reading_prompt import ID_CHARS, ReadingPrompt, ShownNote
from mcp_memory.statements.candidate import StatementKind, Voice
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.conversation.own_words import lowered, own_words
from mcp_memory.text.dates import MONTHS
from mcp_memory.text.dates.due import in_english
from mcp_memory.text.escape_invisible import visible
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_overlap import coverage
from mcp_memory.text.markdown.inline_text import is_harmless
from mcp_memory.text.parsed_values import list_at, text_at

MOST_STATEMENTS, MOST_WHEN = 20, 3
LEAST_QUOTE_CHARS, MOST_TEXT_CHARS, MOST_WHEN_CHARS = 4, 500, 80
LEAST_SAID = 0.5
"""The minimum share of a statement's content words that were said in the session or stand in the notes shown with it.
An abstractive summary takes two thirds of its words from the text (Narayan et al. 2018, table 2); dates that were
resolved, and the words that join several sentences, are missing here, too."""
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WRITTEN_DATE = re.compile(
    r"\d{4}-\d\d-\d\d|(?:\b\d{1,2}(?:st|nd|rd|th)?\.? ?(?:to|until|and|-|–|al|au|und|y|et) ?)?"
    rf"(?:\b\d{{1,2}}(?:st|nd|rd|th)?\.? (?:(?:of|de) )?)?\b(?:{'|'.join(MONTHS)})\b\.?"
    r"(?: \d{1,2}(?:st|nd|rd|th)?\b)?(?:,? (?:(?:of|de|del) )?\d{4})?"
)
"""Matches a date in the form of `in_english`. Dates are often resolved from words such as `tomorrow`."""
LONGEST_AHEAD = timedelta(days=3 * 365)


class Verdict(StrEnum):
    """What to do about a statement."""

    STORE = "store"
    REPLACE = "replace"
    PROPOSE = "propose"
    END = "end"
    """The note that it is `of` no longer holds, or its duty is done."""


@dataclass(frozen=True, slots=True)
class ReadStatement:
    """A statement that the session supports. `message`: the person's message with the `quote`, or with their agreement
    to it. `of`: the note that it replaces or ends. An end has no `text` of its own."""

    verdict: Verdict
    kind: StatementKind
    text: str
    quote: str
    message: TranscriptMessage
    voice: Voice
    of: ShownNote | None = None
    is_wide: bool = False
    until: date | None = None
    due: date | None = None
    when: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionReading:
    """What a model found in a part of a session. `wrong`: notes made from the session that shouldn't stay.
    `unsupported`: the number of statements that the session doesn't support."""

    statements: Sequence[ReadStatement] = ()
    wrong: Sequence[ShownNote] = ()
    unsupported: int = 0


def check_answer(answer: str, asked: ReadingPrompt) -> SessionReading:
    """Return what an answer says and the session supports; nothing if it has another format."""
    given = _parsed(answer)
    items = [cast("Mapping[str, Any]", item) for item in list_at(given, "notes") if isinstance(item, dict)]
    support = _Support(asked)
    found = [support.statement(item) for item in items[:MOST_STATEMENTS]]
    statements = [one for one in found if one]
    named = {str(note_id)[-ID_CHARS:] for note_id in list_at(given, "wrong")}
    wrong = [note for note in asked.notes if note.is_made_here and note.short_id in named]
    return SessionReading(statements, wrong, len(found) - len(statements))


def _parsed(answer: str) -> Mapping[str, Any]:
    """Return the JSON object of an answer, also within a fence or after words of courtesy."""
    begin, end = answer.find("{"), answer.rfind("}")
    with suppress(ValueError, RecursionError):
        found: Any = json.loads(answer[begin : end + 1])
        if isinstance(found, dict):
            return cast("Mapping[str, Any]", found)
    return {}


class _Support:
    """The words of a part of a session, which support a statement or don't."""

    def __init__(self, asked: ReadingPrompt) -> None:
        self._messages = asked.messages
        self._notes = {note.short_id: note for note in asked.notes}
        commands = [argument for message in asked.messages for argument in message.arguments.values()]
        self._said = "\n".join([*(message.turn.text for message in asked.messages), *commands])
        self._shown = "\n".join([self._said, asked.about, *(note.text for note in asked.notes)])
        years = {message.turn.at.year for message in asked.messages if message.turn.at}
        self._years = {str(year + more) for year in years for more in range(-2, 4)}

    def statement(self, item: Mapping[str, Any]) -> ReadStatement | None:
        """Return an item as a statement, a proposal if it isn't certain; None if it has no support."""
        with suppress(ValueError):
            verdict = Verdict(text_at(item, "do"))
            is_end = verdict is Verdict.END
            kind = StatementKind.FACT if is_end else StatementKind(text_at(item, "kind"))
            text = "" if is_end else " ".join(visible(text_at(item, "text")).split())
            needs_note = verdict in {Verdict.REPLACE, Verdict.END}
            of = self._notes.get(text_at(item, "of")[-ID_CHARS:]) if needs_note else None
            evidence = self._evidence(item, kind)
            if evidence is None or (needs_note and of is None):
                return None
            if is_end:
                return _ended(evidence, of) if evidence.is_certain else None
            if not self._is_said(text, evidence.quote, of):
                return None
            said_at = evidence.message.turn.at
            until, due = (_day(item, name, said_at.date() if said_at else None) for name in ("until", "due"))
            is_certain = evidence.is_certain and (kind is not StatementKind.COMMITMENT or due is not None)
            verdict = verdict if is_certain else Verdict.PROPOSE
            quote, message, voice = evidence.quote, evidence.message, evidence.voice
            is_wide, when = item.get("everywhere") is True, tuple(_phrases(item))
            return ReadStatement(verdict, kind, text, quote, message, voice, of, is_wide, until, due, when)
        return None

    def _evidence(self, item: Mapping[str, Any], kind: StatementKind) -> "_Evidence | None":
        """Find the quotes, the first of which must be the person's own words; or the agent's, if the person agreed to
        them right after it, or if it is a lesson, which then is a proposal."""
        given = list_at(item, "quote") or [text_at(item, "quote")]
        quotes = [" ".join(visible(str(quote)).split()) for quote in given]
        if any(len(_plain(quote)) < LEAST_QUOTE_CHARS for quote in quotes):
            return None
        agreed = " ".join(visible(text_at(item, "agreed")).split())
        found = self._said_by_person(quotes[0]) or self._said_by_agent(quotes[0], agreed, kind)
        if found is None or not all(self._said_by_person(quote) for quote in quotes[1:]):
            return None
        return replace(found, quote="\n> ".join([found.quote, *quotes[1:]]))

    def _said_by_person(self, quote: str) -> "_Evidence | None":
        plain = _plain(quote)
        for message in self._messages:
            if message.role is Role.USER and plain in _plain(message.turn.text):
                is_own = plain in _plain(own_words(_with_plain_ends(message)))
                is_certain = is_own and any(
                    plain in _plain(one.text) or _plain(one.text) in plain
                    for one in user_sentences(message.turn.text)
                    if not one.is_question and not one.may_be_pasted
                )
                return _Evidence(quote, message, Voice.SAID if is_certain else Voice.UNSURE, is_certain)
        return None

    def _said_by_agent(self, quote: str, agreed: str, kind: StatementKind) -> "_Evidence | None":
        for place, message in enumerate(self._messages):
            if message.role is Role.ASSISTANT and _plain(quote) in _plain(message.turn.text):
                after = next((one for one in self._messages[place + 1 :] if one.role is Role.USER), None)
                if after and _plain(agreed) and _plain(agreed) in _plain(own_words(_with_plain_ends(after))):
                    return _Evidence(f"{quote} ({agreed})", after, Voice.AGREED, True)
                if kind in {StatementKind.LESSON, StatementKind.FIX}:
                    return _Evidence(quote, message, Voice.UNSURE, False)
        return None

    def _is_said(self, text: str, quote: str, of: ShownNote | None) -> bool:
        """Return whether the statement's words and values were said, or stand in the note that it replaces."""
        words = {word for word in content_words(text) if not word.isdigit()}
        if len(text) > MOST_TEXT_CHARS or not words or not is_harmless(text):
            return False
        if coverage(words, content_words(self._shown)) < LEAST_SAID or not (of or words & content_words(quote)):
            return False
        names = [fact.key for fact in facts(text) if fact.kind is FactKind.IDENTIFIER and not fact.key[0].isdigit()]
        numbers = _numbers(self._said) | _numbers(of.text if of else "") | self._years
        has_numbers = _numbers(_WRITTEN_DATE.sub(" ", in_english(text))) <= numbers
        return has_numbers and all(_plain(name) in _plain(self._shown) for name in names)


@dataclass(frozen=True, slots=True)
class _Evidence:
    quote: str
    message: TranscriptMessage
    voice: Voice
    is_certain: bool


def _ended(evidence: _Evidence, of: ShownNote | None) -> ReadStatement:
    return ReadStatement(Verdict.END, StatementKind.FACT, "", evidence.quote, evidence.message, evidence.voice, of)


def _with_plain_ends(message: TranscriptMessage) -> str:
    return message.turn.text.replace("\r\n", "\n").replace("\r", "\n")


def _plain(text: str) -> str:
    """Return a text as it is compared: in lower case, without emphasis, with single spaces."""
    return " ".join(lowered(text).replace("*", "").replace("`", "").split()).strip(' ."“”')


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text; `16:00` and `16`, and `04:30` and `4:30` are the same."""
    found = {number.replace(",", "") for number in _NUMBER.findall(text)}
    return {number.removesuffix(":00").lstrip("0") or "0" for number in found}


def _day(item: Mapping[str, Any], name: str, said: date | None) -> date | None:
    """Return a day that isn't before the statement; ValueError for anything else than a day or nothing."""
    text = text_at(item, name)
    day = date.fromisoformat(text) if text else None
    if day and said and not said <= day <= said + LONGEST_AHEAD:
        raise ValueError(name)
    return day


def _phrases(item: Mapping[str, Any]) -> Iterator[str]:
    for phrase in list_at(item, "when")[:MOST_WHEN]:
        plain = " ".join(visible(str(phrase)).split())
        if plain and len(plain) <= MOST_WHEN_CHARS:
            yield plain
