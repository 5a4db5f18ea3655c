"""Cuts a note into chunks, the exact slices that search ranks.

Each entry is a chunk: a bullet or paragraph in a log, a turn in a conversation, and elsewhere a paragraph, list item,
fence or table. Small neighbours under a common heading are joined, and large entries are cut. A heading is in the
`headings` of its chunks, not in their text. A heading with nothing below becomes a chunk itself, so that a note with
only a title can be found.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import NamedTuple

from mcp_memory.models import Chunk
from mcp_memory.text.chunking.boundaries import best_cut
from mcp_memory.text.chunking.config import ChunkingConfig
from mcp_memory.text.conversation.speaker_prefix import are_turns
from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.blocks import scan

MAX_CHARS, MAX_LINES = 2_000_000, 50_000
"""The limits of a body, beyond which the rest is skipped: 300,000 words are more than most novels have."""

FINE_CHUNKS = 5_000
"""The number of chunks after which the rest is cut into plain pieces of `max_chars`: 1 MB of tiny entries would make
125,000 chunks."""

MAX_CHUNKS = 10_000
"""The most chunks; the rest is skipped. Only a log can have more, since no piece spans two of its entries."""

_PREFIX_CHARS = 120
"""The length of an entry's start that shows whether it begins with a name."""

Span = tuple[int, int]
"""Start and end as character offsets in the whole text."""


class ChunkMark(NamedTuple):
    """The start of a log entry: character, line and number of its section; or a distance in these units."""

    start: int
    line: int
    section: int

    def moved(self, by: ChunkMark) -> ChunkMark:
        return ChunkMark(self.start + by.start, self.line + by.line, self.section + by.section)


class ChunkedNote(NamedTuple):
    """A note's chunks in order, up to `end`: the end of the text unless a limit was reached. `entries` are the first
    and last entry of a log. `turns`: the body is a conversation, with a chunk per turn."""

    chunks: list[Chunk]
    end: int
    entries: tuple[ChunkMark, ChunkMark] | None = None
    turns: bool = False


def cut(text: str, body_start: int, config: ChunkingConfig, *, log: bool) -> ChunkedNote:
    """Return the chunks of `text[body_start:]`; offsets and lines count from the start of `text`.

    Chunks are exact slices, never empty, without blank lines at their ends. Every line of the body up to the end of the
    cut is in at least one chunk, unless it is blank, a heading or a rule. With `log`, no chunk spans two log entries.
    """
    end = _limit(text, body_start)
    read = text[:end]
    sections = _sections(read, body_start, log=log)
    if log and end < len(text):
        # Half an entry has another hash than the whole entry, so it couldn't be forgotten.
        last = sections[-1].entry
        sections = [section for section in sections if section.entry is not last]
        end = sections[-1].end if sections else body_start
    starts = (read[start : min(end, start + _PREFIX_CHARS)] for section in sections for start, end in section.units)
    turns = not log and are_turns(starts)
    fine = list(islice(_chunks(read, _entries(read, sections, config, log, turns)), FINE_CHUNKS + 1))
    if len(fine) <= FINE_CHUNKS:
        return ChunkedNote(fine, end, _first_and_last(sections), turns)
    rest = _coarse(read, sections, fine.pop().start, config)
    chunks = list(islice(chain(fine, _chunks(read, rest)), MAX_CHUNKS + 1))
    if len(chunks) > MAX_CHUNKS:
        end = chunks.pop().start
    return ChunkedNote(chunks, end, turns=turns)


@dataclass
class _Section:
    """A heading and the blocks directly under it. `above` is the heading path without its own heading."""

    number: int
    start: int
    end: int
    level: int
    above: tuple[str, ...]
    headings: tuple[str, ...]
    entry: logs.LogEntry | None
    units: list[Span] = field(default_factory=list[Span])


_Piece = tuple[_Section, tuple[str, ...], int, int]
"""Section, heading path, start, end."""


def _limit(text: str, body_start: int) -> int:
    """Return the end of the part that is read: the end of the text, or of the last line within both limits."""
    end = min(len(text), body_start + MAX_CHARS)
    if end < len(text):
        end = best_cut(text, body_start, end)
    if text.count("\n", body_start, end) > MAX_LINES:
        end = body_start
        for _ in range(MAX_LINES):
            end = text.index("\n", end) + 1
    return end


def _sections(text: str, body_start: int, *, log: bool) -> list[_Section]:
    blocks = list(scan(text, body_start, breaks=logs.starts_entry if log else None))
    entry_at = {entry.start: entry for entry in logs.entries_in(text, blocks)} if log else {}
    found = [_Section(0, body_start, len(text), 0, (), (), None)]
    path: list[tuple[int, str]] = []
    for block in blocks:
        if block.kind != "heading":
            if block.kind != "rule":
                found[-1].units.append((block.start, block.end))
            continue
        entry = entry_at.get(block.start, found[-1].entry)
        # A heading inside a log entry is below the entry's own heading, whatever its level.
        level = max(3, block.level) if entry and block.start != entry.start else block.level
        while path and path[-1][0] >= level:
            path.pop()
        above = tuple(words for _, words in path)
        if block.title:
            path.append((level, block.title))
        headings = tuple(words for _, words in path)
        found[-1].end = block.start
        found.append(_Section(len(found), block.start, len(text), level, above, headings, entry))
    return found


def _first_and_last(sections: list[_Section]) -> tuple[ChunkMark, ChunkMark] | None:
    marks = [
        ChunkMark(section.start, section.entry.start_line, section.number)
        for section in sections
        if section.entry and section.start == section.entry.start
    ]
    return (marks[0], marks[-1]) if marks else None


def _coarse(text: str, sections: list[_Section], start: int, config: ChunkingConfig) -> Iterator[_Piece]:
    """Yield pieces of the text from `start` on, ignoring its blocks, but no piece of two log entries."""
    rest = [section for section in sections if section.end > start]
    rest[0] = replace(rest[0], start=start)
    starts = [section.start for section in rest]
    for begin, end in _regions(rest):
        for piece_start, piece_end in _cut(text, begin, end, config.max_chars):
            piece = text[piece_start:piece_end]
            section = rest[bisect_right(starts, piece_start + len(piece) - len(piece.lstrip())) - 1]
            yield section, section.headings, piece_start, piece_end


def _entries(text: str, sections: list[_Section], config: ChunkingConfig, log: bool, turns: bool) -> Iterator[_Piece]:
    bare: list[_Section] = []
    for index, section in enumerate(sections):
        is_bare = section.number > 0 and not section.units
        has_child = index + 1 < len(sections) and sections[index + 1].level > section.level
        joins = bare and bare[0].above == section.above and section.end - bare[0].start <= config.join_chars
        if bare and (not is_bare or has_child or log or not joins):
            yield from _bare_pieces(text, bare, config)
            bare = []
        if is_bare and not has_child:
            bare.append(section)
        for start, end in section.units if log or turns else _joined(section.units, config.join_chars):
            for piece_start, piece_end in _cut(text, start, end, config.max_chars):
                yield section, section.headings, piece_start, piece_end
    if bare:
        yield from _bare_pieces(text, bare, config)


def _bare_pieces(text: str, bare: list[_Section], config: ChunkingConfig) -> Iterator[_Piece]:
    for start, end in _cut(text, bare[0].start, bare[-1].end, config.max_chars):
        yield bare[0], bare[0].above, start, end


def _joined(units: list[Span], join_chars: int) -> Iterator[Span]:
    """Merge neighbours, front to back, as long as the result is within `join_chars`."""
    joined: Span | None = None
    for start, end in units:
        if joined and end - joined[0] <= join_chars:
            joined = (joined[0], end)
            continue
        if joined:
            yield joined
        joined = (start, end)
    if joined:
        yield joined


def _cut(text: str, start: int, end: int, max_chars: int) -> Iterator[Span]:
    while end - start > max_chars:
        cut = best_cut(text, start, start + max_chars)
        yield start, cut
        start = cut
    yield start, end


def _regions(sections: list[_Section]) -> Iterator[Span]:
    """Yield the range of the sections of each log entry; a single range for any other note."""
    if not sections:
        return
    first = sections[0]
    for section in sections[1:]:
        if section.entry is not first.entry:
            yield first.start, section.start
            first = section
    yield first.start, sections[-1].end


def _chunks(text: str, pieces: Iterator[_Piece]) -> Iterator[Chunk]:
    line_of = _line_counter(text)
    for section, headings, piece_start, piece_end in pieces:
        start, end = _trimmed(text, piece_start, piece_end)
        if start == end:
            continue
        words, entry = text[start:end], section.entry
        line = line_of(start)
        yield Chunk(
            text=words,
            start=start,
            end=end,
            start_line=line,
            end_line=line + words.count("\n"),
            headings=headings,
            section=section.number,
            entry=entry.hash if entry else None,
            time=entry.time if entry else None,
        )


def _trimmed(text: str, start: int, end: int) -> Span:
    """Trim white space at the end and blank lines at the start; keep the first line's indentation."""
    words = text[start:end]
    end = start + len(words.rstrip())
    first = start + len(words) - len(words.lstrip())
    if first >= end:
        return start, start
    line_start = text.rfind("\n", start, first) + 1
    return max(start, line_start), end


def _line_counter(text: str) -> Callable[[int], int]:
    """Return a function from ascending places to 1-based line numbers that counts each character once."""
    line, counted_to = 1, 0

    def line_of(place: int) -> int:
        nonlocal line, counted_to
        line += text.count("\n", counted_to, place)
        counted_to = place
        return line

    return line_of
