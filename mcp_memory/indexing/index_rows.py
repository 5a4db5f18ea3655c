"""From a note's text to what the index stores of it: pure, the same text always gives the same rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from mcp_memory.index.base import IndexedChunk, Upsert
from mcp_memory.models import Chunk, NoteRecord, NoteState, TextHash
from mcp_memory.text.chunking import chunker
from mcp_memory.text.chunking.chunker import ChunkedNote, ChunkingConfig
from mcp_memory.text.language.terms import words

MAX_ABOVE_CHARS = 300
"""Title and tags stand beside every chunk, so long ones would be most of the index."""

PASSAGES_VERSION = 8
"""Goes up whenever the same chunks would be embedded or put into words differently: indexes are rebuilt then."""


def to_upsert(
    record: NoteRecord, text: str, body_start: int, config: ChunkingConfig, cut: ChunkedNote | None = None
) -> Upsert:
    """The rows of a note: its chunks with their embedded text, and what stands above its sections. `cut`: its chunks,
    where they are known already.

    `text[body_start:]` is the body. A log entry whose hash is in the record's `forgotten` list leaves no trace, in
    its neighbours' context neither; a deleted note has no chunk at all. Where the text is longer than what is indexed
    of a note, the record's `problem` says so.
    """
    if record.state is NoteState.DELETED:
        return Upsert(record)
    cut = cut or chunker.cut(text, body_start, config, log=record.is_log)
    forgotten = frozenset(record.meta.get("forgotten", ()))
    chunks = [chunk for chunk in cut.chunks if chunk.entry is None or chunk.entry not in forgotten]
    above = _above(record)
    headings = {chunk.section: chunk.headings for chunk in chunks}
    places = {section: "\n".join([*_unsaid(above, path), *path]) for section, path in headings.items()}
    return Upsert(_judged(record, text, cut), [_indexed(record, above, chunk, cut) for chunk in chunks], places)


def _judged(record: NoteRecord, text: str, cut: ChunkedNote) -> NoteRecord:
    """What no search will find is the note's problem."""
    if cut.end == len(text):
        return record
    line = text.count("\n", 0, cut.end) + 1
    limits = f"{chunker.MAX_CHARS:,} characters, {chunker.MAX_LINES:,} lines, {chunker.MAX_CHUNKS:,} passages"
    said = f"searched only up to line {line:,}, since a note is indexed up to {limits}: split the file"
    return replace(record, problem=f"{record.problem}; {said}" if record.problem else said)


def _indexed(record: NoteRecord, above: Sequence[str], chunk: Chunk, cut: ChunkedNote) -> IndexedChunk:
    embedded = chunk.text if record.is_log or cut.turns else _with_place(record, above, chunk)
    return IndexedChunk(chunk, embedded, _hash(embedded))


def _with_place(record: NoteRecord, above: Sequence[str], chunk: Chunk) -> str:
    """File name > title > headings in front: +2 points of evidence on documentation. On logs a date in front costs
    5 points, on conversations a title and a date 2.5, so entries and turns are embedded alone."""
    place = [PurePosixPath(record.path).stem, *_unsaid(above, chunk.headings), *chunk.headings]
    return " > ".join(place) + "\n" + chunk.text


def _above(record: NoteRecord) -> list[str]:
    """What a person would search for and the body need not say: the title and the tags of the frontmatter."""
    return [] if record.is_log else [each[:MAX_ABOVE_CHARS] for each in (record.title, " ".join(record.tags))]


def _unsaid(above: Sequence[str], headings: Sequence[str]) -> list[str]:
    """Those that the heading path does not say already."""
    if not above:
        return []
    said = {word for heading in headings for word in words(heading)}
    return [each for each in above if not said.issuperset(words(each))]


def _hash(embedded: str) -> TextHash:
    return TextHash(hashlib.sha256(embedded.encode("utf-8", "surrogatepass")).hexdigest())
