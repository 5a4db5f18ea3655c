"""Finds the words of a session that support a statement: the person's own, or the agent's that the person agreed to.
Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.statements.candidate import Voice
from mcp_memory.statements.cues import AGREEMENT, patterns
from mcp_memory.statements.user_sentences import UserSentence, user_sentences
from mcp_memory.text.conversation.own_words import MASK, lowered, own_words
from mcp_memory.text.language.terms import content_words, coverage
from mcp_memory.text.markdown.inline_text import is_harmless

LEAST_QUOTE_CHARS, MOST_QUOTE_CHARS, MOST_QUOTES = 4, 600, 5
_PUNCTUATION = '.,;:!?¿¡…()"“”«»-–•*+'
LEAST_UNQUOTED = 0.5
"""The least share of a quotation's content words that the person neither put in quotation marks nor marked as code."""


@dataclass(frozen=True, slots=True)
class Quotations:
    """Quotations and the messages that they stand in; the first message is the person's. `is_certain`: they state
    something, rather than ask or repeat it."""

    quotes: tuple[str, ...]
    messages: tuple[TranscriptMessage, ...]
    voice: Voice
    is_certain: bool

    @property
    def text(self) -> str:
        return "\n> ".join(self.quotes)


@dataclass(frozen=True)
class _PersonsMessage:
    message: TranscriptMessage

    @cached_property
    def text(self) -> str:
        return self.message.turn.text.replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def plain(self) -> str:
        return plain(self.text)

    @cached_property
    def sentences(self) -> Sequence[UserSentence]:
        return user_sentences(self.text)

    @cached_property
    def words(self) -> Sequence[tuple[str, UserSentence]]:
        """The words of the person's sentences, each with its sentence."""
        return [(word, sentence) for sentence in self.sentences for word in _words(sentence.text)]

    def states(self, quote: str) -> bool:
        """Return whether the quotation is made of the person's statements: none of its sentences is a question or
        perhaps pasted, and most of it isn't quoted or code."""
        wanted, own = _words(quote), [word for word, _ in self.words]
        for at in range(len(own) - len(wanted) + 1):
            if wanted and own[at : at + len(wanted)] == wanted:
                touched = [sentence for _, sentence in self.words[at : at + len(wanted)]]
                is_statement = not any(
                    sentence.is_question or (sentence.may_be_pasted and not sentence.is_below_heading)
                    for sentence in touched
                )
                unquoted = content_words(" ".join(sentence.unquoted.replace(MASK, " ") for sentence in touched))
                if is_statement and coverage(content_words(quote), unquoted) >= LEAST_UNQUOTED:
                    return True
        return False


class SessionWords:
    """The words of a part of a session. A quotation must stand in a message at or after the offset `fresh_from`; those
    before it were read with an earlier part."""

    def __init__(self, messages: Sequence[TranscriptMessage], fresh_from: int) -> None:
        self._messages = messages
        self._fresh_from = fresh_from
        self._persons = [_PersonsMessage(message) for message in messages if message.role is Role.USER]
        agents = [message.turn.text for message in messages if message.role is Role.ASSISTANT]
        self.said = "\n".join([*(own_words(one.text) for one in self._persons), *agents])
        """What the person and the agent said, without pasted texts and the output of tools."""

    def find(self, quotes: Sequence[str], agreed: str, *, is_lesson: bool) -> Quotations | None:
        """Find all quotations, at least one. The first must be the person's own words, beside which the agent's are
        left out; or the agent's, if the person agreed to them right after it. Otherwise the agent's words support only
        a lesson, for review."""
        if not all(map(_is_usable, quotes)):
            return None
        first, *others = quotes
        quotes = [first, *(quote for quote in others if not self._is_agents(quote))]
        found = [self._persons_quote(quote) for quote in quotes]
        if found[0] is None:
            return self._agents_quote(first, agreed, is_lesson=is_lesson) if len(quotes) == 1 else None
        if None in found:
            return None
        messages = tuple(one.message for one in found if one)
        is_certain = all(one.states(quote) for one, quote in zip(found, quotes, strict=True) if one)
        return Quotations(tuple(quotes), messages, Voice.SAID if is_certain else Voice.UNSURE, is_certain)

    def before(self, message: TranscriptMessage) -> str:
        """Return the text of a message and of the two before it."""
        place = self._messages.index(message)
        return "\n".join(one.turn.text for one in self._messages[max(0, place - 2) : place + 1])

    def _is_agents(self, quote: str) -> bool:
        return self._persons_quote(quote) is None and any(
            plain(quote) in plain(message.turn.text) for message in self._messages if message.role is Role.ASSISTANT
        )

    def _persons_quote(self, quote: str) -> _PersonsMessage | None:
        wanted = plain(quote)
        fresh = (one for one in self._persons if one.message.offset >= self._fresh_from and wanted in one.plain)
        return min(fresh, key=lambda one: not one.states(quote), default=None)

    def _agents_quote(self, quote: str, agreed: str, *, is_lesson: bool) -> Quotations | None:
        for place, message in enumerate(self._messages):
            if message.role is not Role.ASSISTANT or plain(quote) not in plain(message.turn.text):
                continue
            after = next((one for one in self._messages[place + 1 :] if one.role is Role.USER), None)
            if after and after.offset >= self._fresh_from and _agrees(_PersonsMessage(after), agreed, quote):
                return Quotations((f"{quote} ({agreed})",), (after, message), Voice.AGREED, is_certain=True)
            if is_lesson and message.offset >= self._fresh_from:
                return Quotations((quote,), (message,), Voice.UNSURE, is_certain=False)
        return None


def _agrees(answer: _PersonsMessage, agreed: str, quote: str) -> bool:
    """Return whether the sentences with the words `agreed` accept what the agent said: they say yes or repeat it, and
    none of the answer's sentences refuses or asks."""
    found = patterns(AGREEMENT)
    if not plain(agreed) or not answer.states(agreed):
        return False
    if any(found["refuses"].match(sentence.view) for sentence in answer.sentences):
        return False
    views = [sentence.view for sentence in answer.sentences]
    says_yes = any(found["yes"].match(view) or found["manner"].match(view) for view in views)
    return says_yes or bool(content_words(agreed) & content_words(quote))


def _is_usable(quote: str) -> bool:
    return LEAST_QUOTE_CHARS <= len(plain(quote)) <= MOST_QUOTE_CHARS and is_harmless(quote)


def plain(text: str) -> str:
    """Return a text as quotations are compared: in lower case, without emphasis, with single spaces."""
    return " ".join(lowered(text).replace("*", "").replace("`", "").split()).strip(' ."“”')


def _words(text: str) -> list[str]:
    bare = (word.strip(_PUNCTUATION) for word in plain(text).split())
    return [word for word in bare if word]
