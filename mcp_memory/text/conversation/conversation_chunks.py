"""Cuts a conversation into chunks of readable size, each a Markdown note of turns with their speakers and times.

    ## 2026-11-21

    - Ada (13:56): Shall we fly or sail?
    - Grace (13:57): We sail. I asked for the fare:

      ```sh
      fare --from Dover
      ```

A turn is a list item, which search treats as an entry. It begins with its speaker, so that search finds the name. A
chunk ends between two turns, and with its session. A turn that is longer than a chunk is cut where it hurts least, and
both sides say so; a fence that is cut is closed and reopened.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import NamedTuple

from mcp_memory.errors import InvalidInput
from mcp_memory.text.chunking.boundaries import best_cut
from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.language.sentences import beginning, is_question, is_secondary, split_sentences
from mcp_memory.text.language.subjects import GENERIC_WORDS
from mcp_memory.text.language.terms import telling_words
from mcp_memory.text.markdown.blocks import scan
from mcp_memory.text.tokens import CHARS_PER_TOKEN

CHUNK_TOKENS = 2048
MIN_TOKENS = 128
"""The minimum size of a chunk; a smaller chunk has hardly room for more than the marks of a continued turn."""

AGENT = "Assistant"
"""The speaker whose words name a conversation only if nobody else's do."""

GOES_ON = "*(goes on)*"
CONTINUED = "continued"

_INDENT = "  "
_BLOCK = re.compile(r"\s*(?:```|~~~|#{1,6}(?:\s|$)|[-*+](?:\s|$)|[0-9]{1,9}[.)](?:\s|$)|[>|<])| {4}|\t")
"""Matches a line whose start would lose its meaning after a name."""

_FENCE = re.compile(r"(?P<before>[^`~\n]*)(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[^\s`]{0,20})")
_MAX_FENCE_MARKS = 40
"""The longest fence that is reopened after a cut; longer marks would fill each chunk."""

_MARKS = re.compile(r"[*`>#|]+|(?<!\w)_+|(?<!_)_+(?!\w)")
_MIN_TITLE_WORDS, _MIN_TITLE_CHARS = 5, 25
_REPLY = re.compile(
    r"(?:yes|yeah|no|nope|ok|okay|sure|right|exactly|done|thanks|ja|nein|klar|genau|danke|oui|non|merci|sí|claro|vale"
    r"|gracias|hecho)[,.;:!]|(?:only|just|nur|seulement|s[oó]lo) (?:for|if|when|für|wenn|pour|si|para|cuando)\b",
    re.IGNORECASE,
)
"""Matches the start of a sentence that answers the one before."""

Span = tuple[int, int]


class ConversationChunk(NamedTuple):
    """A section of a conversation, ready to be stored: `content` is Markdown."""

    title: str
    """The first question or statement."""
    content: str
    session: str | None = None
    speakers: tuple[str, ...] = ()
    """The speakers in the order in which they first speak."""
    began: datetime | None = None
    """The earliest and latest times of its turns, with time zone."""
    ended: datetime | None = None


def chunk_conversation(turns: Iterable[Turn], max_tokens: int = CHUNK_TOKENS) -> list[ConversationChunk]:
    """Return chunks in the order of the turns, none longer than `max_tokens`. Appending turns to a conversation changes
    only its last chunk. Raises InvalidInput for less than MIN_TOKENS."""
    if max_tokens < MIN_TOKENS:
        raise InvalidInput(f"a conversation chunk of {max_tokens} tokens", hint=f"{MIN_TOKENS} or more")
    max_chars = max_tokens * CHARS_PER_TOKEN
    chunks: list[ConversationChunk] = []
    growing = _Growing(max_chars)
    for turn in turns:
        for entry in _entries(turn, max_chars - len(_heading(date.max))):
            if not growing.has_room(turn, entry):
                chunks.append(growing.chunk())
                growing = _Growing(max_chars)
            growing.add(turn, entry)
    return [*chunks, growing.chunk()] if growing.turns else chunks


@dataclass
class _Growing:
    max_chars: int
    turns: list[Turn] = field(default_factory=list[Turn])
    pieces: list[str] = field(default_factory=list[str])
    day: date | None = None
    length: int = 0

    def has_room(self, turn: Turn, entry: str) -> bool:
        if not self.turns:
            return True
        fits = self.length + len(self._above(turn)) + len(entry) <= self.max_chars
        return fits and turn.session == self.turns[-1].session

    def add(self, turn: Turn, entry: str) -> None:
        piece = self._above(turn) + entry
        self.day = turn.at.date() if turn.at else self.day
        self.turns.append(turn)
        self.pieces.append(piece)
        self.length += len(piece)

    def chunk(self) -> ConversationChunk:
        times = [turn.at for turn in self.turns if turn.at]
        persons_first = sorted(zip(self.turns, self.pieces, strict=True), key=lambda both: both[0].speaker == AGENT)
        return ConversationChunk(
            title=_title(piece for _, piece in persons_first),
            content="".join(self.pieces),
            session=self.turns[0].session,
            speakers=tuple(dict.fromkeys(turn.speaker for turn in self.turns)),
            began=min(times, default=None),
            ended=max(times, default=None),
        )

    def _above(self, turn: Turn) -> str:
        """Return the heading of a new day."""
        if turn.at is None or turn.at.date() == self.day:
            return ""
        return ("\n" if self.pieces else "") + _heading(turn.at.date())


def _heading(day: date) -> str:
    return f"## {day.isoformat()}\n\n"


def _entries(turn: Turn, max_chars: int) -> Iterator[str]:
    """Yield the turn as a list item, or as several items if it is too long for a chunk."""
    text, start, opener = turn.text, 0, ""
    fences: list[Span] | None = None
    while True:
        if len(text) - start <= max_chars:
            entry = _entry(turn, opener + text[start:], continued=start > 0)
            if len(entry) <= max_chars:
                yield entry
                return
        fences = _fences(text) if fences is None else fences
        entry, start, opener = _cut(turn, start, opener, fences, max_chars)
        yield entry


def _cut(turn: Turn, start: int, opener: str, fences: list[Span], max_chars: int) -> tuple[str, int, str]:
    """Return the part of the turn's text from `start` on that fits, the start of the rest, and the marks that reopen a
    cut fence."""
    text = turn.text
    room = min(max_chars, len(text) - start - 1)
    while True:
        end = _best_end(text, start, start + room, fences)
        fence = _around(end, fences)
        reopener, closer = _marks(text, fence) if fence else ("", "")
        piece = opener + text[start:end].rstrip("\n") + closer
        entry = _entry(turn, piece, continued=start > 0, goes_on=True)
        if len(entry) <= max_chars:
            return entry, end, reopener
        room = max(1, room * max_chars // len(entry) - 1)  # the indentation is known only now


def _best_end(text: str, start: int, limit: int, fences: list[Span]) -> int:
    """Return a place in the second half between paragraphs, else between lines outside a fence, else `best_cut`."""
    half = start + (limit - start) // 2
    for mark in ("\n\n", "\n"):
        found = text.rfind(mark, half, limit)
        while found >= 0 and (fence := _around(found + len(mark), fences)):
            found = text.rfind(mark, half, fence[0])
        if found >= 0:
            return found + len(mark)
    return best_cut(text, start, limit)


def _fences(text: str) -> list[Span]:
    """Return the start and end of each fence in order, including fences in lists."""
    found: list[Span] = []
    for block in scan(text):
        found += [(block.start, block.end)] if block.kind == "fence" else block.fences
    return found


def _around(place: int, fences: Sequence[Span]) -> Span | None:
    """Return the fence that a cut at `place` would split."""
    at = bisect_right(fences, place, key=lambda fence: fence[0]) - 1
    return fences[at] if at >= 0 and fences[at][0] < place < fences[at][1] else None


def _marks(text: str, fence: Span) -> tuple[str, str]:
    """Return the marks that open and close a fence like this; both are empty for a fence that is cut like other
    text."""
    match = _FENCE.match(text, *fence)
    if not match or len(match["marks"]) > _MAX_FENCE_MARKS:
        return "", ""
    deep = len(match["before"])
    return f"{' ' * min(deep, 3)}{match['marks']}{match['language']}\n", f"\n{' ' * min(deep, 20)}{match['marks']}"


def _entry(turn: Turn, text: str, *, continued: bool = False, goes_on: bool = False) -> str:
    remarks = [*([f"{turn.at:%H:%M}"] if turn.at else ()), *([CONTINUED] if continued else ())]
    remark = f" ({', '.join(remarks)})" if remarks else ""
    lines = text.split("\n")
    first = "\n" if _stands_alone(lines) else f" {lines.pop(0)}"
    below = "".join(f"\n{_INDENT}{line}" if line.strip() else "\n" for line in lines)
    end = f"\n\n{_INDENT}{GOES_ON}\n" if goes_on else "\n"
    return f"- {turn.speaker}{remark}:{first}{below}{end}"


def _stands_alone(lines: Sequence[str]) -> bool:
    """Return whether the first line would lose its meaning after a name: a fence, a list, a heading, a table …"""
    underlined = len(lines) > 1 and bool(lines[1].strip()) and not lines[1].strip("-=|: \t")
    return underlined or bool(_BLOCK.match(lines[0]))


def _title(pieces: Iterable[str]) -> str:
    """Return the first question about something, or sentence of some length that isn't a reply; else the first reply of
    some length; else the first short sentence."""
    reply = short = ""
    for piece in pieces:
        text = re.sub(r"\A(?:\s*## [0-9-]+\s+)?- [^\n:(]*(?:\([^()\n]*\))?:", "", piece)
        for sentence in [one for line in text[:2000].splitlines() for one in split_sentences(line)]:
            words = _MARKS.sub("", sentence).split()
            line = " ".join(words)
            is_long = len(words) >= _MIN_TITLE_WORDS or len(line) >= _MIN_TITLE_CHARS
            if is_long and (_REPLY.match(line) or is_secondary(line)):
                reply = reply or line
            elif is_long or (is_question(line) and len(words) > 1 and telling_words(line) - GENERIC_WORDS):
                return beginning(line)
            elif not short and any(c.isalnum() for c in line):
                short = line
    return beginning(reply) if reply else short or "Conversation"
