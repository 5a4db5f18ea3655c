"""Drop the turns of a session that the person doesn't want kept. A turn is a message from the person, and the messages
before the person's next message."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from mcp_memory.capture.readers.message import MOST_SILENCES, ReaderContext, Silence, Transcript, TranscriptMessage
from mcp_memory.text.conversation.off_record import (
    OffRecord,
    off_record,
    on_record_again,
    open_sentences,
    words_taken_back,
)
from mcp_memory.text.conversation.typed_words import typed_words
from mcp_memory.text.language.terms import content_words, plain

LONG = 4
"""The least letters of a word that may be a part of another."""

ON_AND_ON = 2**63
"""An offset after every transcript's end."""

START = "0001-01-01T00:00:00+00:00"
"""A time before every session."""


@dataclass(frozen=True)
class Stretch:
    """The messages of a transcript from the offset `begin` up to, but without, `end`."""

    begin: int
    end: int

    def __contains__(self, offset: object) -> bool:
        return isinstance(offset, int) and self.begin <= offset < self.end


@dataclass(frozen=True)
class TakenBack:
    """The earlier messages that a person takes back. `is_missing`: the person named a thing that no message
    mentions."""

    stretches: tuple[Stretch, ...] = ()
    is_missing: bool = False

    def __bool__(self) -> bool:
        return bool(self.stretches)

    def __contains__(self, offset: object) -> bool:
        return any(offset in stretch for stretch in self.stretches)

    @property
    def end(self) -> int:
        return max((stretch.end for stretch in self.stretches), default=0)

    def meets(self, begin: int, end: int) -> bool:
        """Return whether a message between these offsets may be taken back."""
        return any(stretch.begin < end and begin < stretch.end for stretch in self.stretches)

    def __add__(self, other: "TakenBack") -> "TakenBack":
        return TakenBack((*self.stretches, *other.stretches), self.is_missing or other.is_missing)


NOTHING = TakenBack()


def on_record(
    messages: Transcript,
    context: ReaderContext,
    earlier: Callable[[], Iterable[TranscriptMessage]] = tuple,
) -> tuple[list[TranscriptMessage], TakenBack]:
    """Return the messages that may be kept, and the stretches that the person takes back. `context` remembers the state
    for the next messages. `earlier` reads the kept messages before these, which may mention a thing that the person
    takes back."""
    kept: list[TranscriptMessage] = []
    taken_back = NOTHING
    for message in messages:
        if not _is_typed(message):
            # A notice in the person's name, such as of an interruption, neither uses up a request nor begins a turn.
            kept += [] if context.silence else [message]
            continue
        wish = off_record(message.text)
        if OffRecord.BEFORE in wish and context.turn_at >= 0:
            found = _taken_back(message, wish, context, earlier, kept)
            kept = [one for one in kept if one.offset not in found]
            taken_back += found
        context.turn_at = message.offset
        text = open_sentences(message.text)
        context.silence = _silence(message, wish, context.silence)
        if not context.silence and text.strip():
            kept.append(replace(message, turn=replace(message.turn, text=text)))
        if not context.silence and text != message.text:
            context.silence = Silence.TURN  # the answer may repeat it
        _note_time(message, context)
    return kept, taken_back


def _taken_back(
    message: TranscriptMessage,
    wish: OffRecord,
    context: ReaderContext,
    earlier: Callable[[], Iterable[TranscriptMessage]],
    kept: Transcript,
) -> TakenBack:
    """Return the stretches that the message takes back, and remember their times for the session's sub-agents."""
    words = words_taken_back(message.text) if OffRecord.ALL in wish else frozenset[str]()
    if words:
        turns = list_turns([*earlier(), *kept, message])
        named = [_words_in(words, turn) for turn in turns[:-1]]
        # turns with all words of the name of a thing, or else those with any of them
        wanted = [len(found) == len(words) for found in named]
        if not any(wanted):
            wanted = [bool(found) for found in named]
        about = [
            (turn[0], after[0]) for (turn, after), is_about in zip(pairwise(turns), wanted, strict=True) if is_about
        ]
        context.silences += [[_time_of(begin), _time_of(end)] for begin, end in about]
        return TakenBack(tuple(Stretch(begin.offset, end.offset) for begin, end in about), is_missing=not about)
    if OffRecord.ALL in wish:
        context.turn_at, context.turn_began = 0, START
    context.silences.append([context.turn_began, ""])
    return TakenBack((Stretch(context.turn_at, message.offset),))


def list_turns(messages: Transcript) -> list[Transcript]:
    """Return the messages by turn. Messages before the person's first message form a turn, too."""
    starts = [at for at, one in enumerate(messages) if at == 0 or _is_typed(one)]
    return [messages[start:end] for start, end in pairwise([*starts, len(messages)])]


def _words_in(words: frozenset[str], messages: Transcript) -> frozenset[str]:
    """Return the folded words that occur in the messages; a long word may be a part of another word."""
    text = " ".join(one.text for one in messages)
    said, letters = content_words(text), plain(text).casefold()
    return frozenset(word for word in words if word in said or (len(word) >= LONG and word in letters))


def _is_typed(message: TranscriptMessage) -> bool:
    return message.is_persons and bool(typed_words(message.text).strip())


def _time_of(message: TranscriptMessage) -> str:
    return message.at.isoformat() if message.at else START


def silent_from(messages: Transcript, silences: Sequence[Sequence[str]]) -> int:
    """Count the messages of a sub-agent before the first that falls into a silence of its session: from that message
    on, it may repeat words of the silence."""
    spans = [(datetime.fromisoformat(begin), datetime.fromisoformat(end) if end else None) for begin, end in silences]
    for number, message in enumerate(messages):
        at = message.at
        if at and any(begin <= at and (end is None or at < end) for begin, end in spans):
            return number
    return len(messages)


def _note_time(message: TranscriptMessage, context: ReaderContext) -> None:
    """End the silence before this message of the person's, and begin another if it asks for one."""
    at = message.at.isoformat() if message.at else ""
    for silence in context.silences:
        silence[1] = silence[1] or at
    if context.silence and at:
        context.silences.append([at, ""])
    context.silences = [silence for silence in context.silences if silence[0]][-MOST_SILENCES:]
    context.turn_began = at


def _silence(message: TranscriptMessage, wish: OffRecord, before: Silence) -> Silence:
    goes_on = before is Silence.SESSION and not on_record_again(message.text)
    if OffRecord.SESSION in wish or goes_on:
        return Silence.SESSION
    if OffRecord.NEXT in wish:
        return Silence.NEXT
    return Silence.TURN if wish or before is Silence.NEXT else Silence.NONE
