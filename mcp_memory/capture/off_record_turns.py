"""Drop the turns of a session that its person wants nobody to keep. A turn is a message of the person's and the
messages until the next one."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from mcp_memory.capture.readers.message import MOST_SILENCES, ReaderContext, Role, Silence, TranscriptMessage
from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.conversation.off_record import (
    OffRecord,
    off_record,
    on_record_again,
    open_sentences,
    words_taken_back,
)
from mcp_memory.text.conversation.typed_words import typed_words

START = "0001-01-01T00:00:00+00:00"
"""Before every session."""


class Spoken(Protocol):
    """A turn, and the byte of its transcript at which its line begins."""

    @property
    def turn(self) -> Turn: ...

    @property
    def offset(self) -> int: ...


def on_record(
    messages: Sequence[TranscriptMessage], context: ReaderContext, earlier: Sequence[Spoken] = ()
) -> tuple[list[TranscriptMessage], int | None]:
    """Return the messages that may be kept; and, if the person takes something back, the offset from which on no
    earlier message may be kept. `context` remembers what the next messages need; `earlier` are kept messages, in which
    a thing that the person takes back may be mentioned."""
    kept: list[TranscriptMessage] = []
    taken_back: int | None = None
    for message in messages:
        if message.role is not Role.USER or not typed_words(message.turn.text).strip():
            # A notice in the person's name, such as of an interruption, neither uses up a wish nor begins a turn.
            kept += [] if context.silence else [message]
            continue
        wish = off_record(message.turn.text)
        if OffRecord.ALL in wish and context.turn_at >= 0:
            context.turn_at, context.turn_began, context.turn_pages = 0, START, {}
            if mention := _first_mention(words_taken_back(message.turn.text), [*earlier, *kept]):
                context.turn_at = mention.offset
                context.turn_began = mention.turn.at.isoformat() if mention.turn.at else START
        if OffRecord.BEFORE in wish and context.turn_at >= 0:
            taken_back = context.turn_at if taken_back is None else min(taken_back, context.turn_at)
            kept = [one for one in kept if one.offset < context.turn_at]
            context.silences.append([context.turn_began, ""])
        context.turn_at = message.offset
        text = open_sentences(message.turn.text)
        context.silence = _silence(message, wish, context.silence)
        if not context.silence and text.strip():
            kept.append(replace(message, turn=replace(message.turn, text=text)))
        if not context.silence and text != message.turn.text:
            context.silence = Silence.TURN  # the answer may repeat it
        _note_time(message, context)
    return kept, taken_back


def _first_mention(words: frozenset[str], spoken: Sequence[Spoken]) -> Spoken | None:
    """Return the first message that has all the words; if none has, the first with any of them."""
    for has in (all, any) if words else ():
        found = [one for one in spoken if has(word in one.turn.text.casefold() for word in words)]
        if found:
            return min(found, key=lambda one: one.offset)
    return None


def silent_from(messages: Sequence[TranscriptMessage], silences: Sequence[Sequence[str]]) -> int:
    """Count the messages of a sub-agent before the first that falls into a silence of its session: from there on it may
    repeat words of the silence."""
    spans = [(datetime.fromisoformat(begin), datetime.fromisoformat(end) if end else None) for begin, end in silences]
    for number, message in enumerate(messages):
        at = message.turn.at
        if at and any(begin <= at and (end is None or at < end) for begin, end in spans):
            return number
    return len(messages)


def _note_time(message: TranscriptMessage, context: ReaderContext) -> None:
    """End the silence before this message of the person's, and begin another if it asks for one."""
    at = message.turn.at.isoformat() if message.turn.at else ""
    for silence in context.silences:
        silence[1] = silence[1] or at
    if context.silence and at:
        context.silences.append([at, ""])
    context.silences = [silence for silence in context.silences if silence[0]][-MOST_SILENCES:]
    context.turn_began = at


def _silence(message: TranscriptMessage, wish: OffRecord, before: Silence) -> Silence:
    goes_on = before is Silence.SESSION and not on_record_again(message.turn.text)
    if OffRecord.SESSION in wish or goes_on:
        return Silence.SESSION
    if OffRecord.NEXT in wish:
        return Silence.NEXT
    return Silence.TURN if wish or before is Silence.NEXT else Silence.NONE
