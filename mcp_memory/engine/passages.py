"""From a note's text to what the index stores of it: pure, the same text always gives the same rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from mcp_memory.index.base import IndexedChunk, Upsert
from mcp_memory.models import Chunk, NoteRecord, Shelf, TextHash
from mcp_memory.text import chunking
from mcp_memory.text.chunking import ChunkingConfig
from mcp_memory.text.terms import words

MAX_ABOVE_CHARS = 300
"""Title and tags stand beside every chunk, so long ones would be most of the index."""

PASSAGES_VERSION = 2
"""Goes up whenever the same chunks would be embedded or put into words differently: indexes are rebuilt then."""


def to_upsert(record: NoteRecord, text: str, body_start: int, config: ChunkingConfig) -> Upsert:
    """The rows of a note: its chunks with their context and embedded text, and its sections' words.

    `text[body_start:]` is the body. A log entry whose hash is in the record's `forgotten` list leaves no trace, in
    its neighbours' context neither; a deleted note has no chunk at all.
    """
    if record.shelf is Shelf.DELETED:
        return Upsert(record)
    cut = chunking.chunk(text, body_start, config, log=record.is_log)
    forgotten = frozenset(record.meta.get("forgotten", ()))
    chunks = [chunk for chunk in cut if chunk.entry is None or chunk.entry not in forgotten]
    above = _above(record)
    indexed = [_indexed(record, above, chunks, at) for at in range(len(chunks))]
    return Upsert(record, indexed, _sections(record, above, text, body_start, chunks))


def _indexed(record: NoteRecord, above: Sequence[str], chunks: Sequence[Chunk], at: int) -> IndexedChunk:
    chunk = chunks[at]
    # The heading right above, in a log the entry's title, is searched as if it stood in the chunk, so that it
    # can be found by its name; on both evaluation sets that changes evidence by less than 1 point.
    context = "\n".join([*_unsaid(above, chunk.headings), *chunk.headings[-1:], chunking.context(chunks, at)])
    embedded = chunk.text if record.is_log else _with_place(record, above, chunk)
    return IndexedChunk(chunk, context, embedded, _hash(embedded))


def _with_place(record: NoteRecord, above: Sequence[str], chunk: Chunk) -> str:
    """File name > title > headings in front: +2 points of evidence on documentation. On logs a date in front costs
    5 points, so entries are embedded alone."""
    place = [PurePosixPath(record.path).stem, *_unsaid(above, chunk.headings), *chunk.headings]
    return " > ".join(place) + "\n" + chunk.text


def _sections(
    record: NoteRecord, above: Sequence[str], text: str, body_start: int, chunks: Sequence[Chunk]
) -> dict[int, str]:
    """Each section's whole text under its heading path; only sections that a chunk stands in."""
    headings = {chunk.section: chunk.headings for chunk in chunks}
    spans = chunking.sections(text, body_start, log=record.is_log)
    return {
        number: "\n".join([*_unsaid(above, headings[number]), *headings[number][:-1], text[start:end]])
        for number, (start, end) in spans.items()
        if number in headings
    }


def _above(record: NoteRecord) -> list[str]:
    """What a person would search for and the body need not say: the title and the tags of the frontmatter."""
    return [] if record.is_log else [each[:MAX_ABOVE_CHARS] for each in (record.title, " ".join(record.tags))]


def _unsaid(above: Iterable[str], headings: Sequence[str]) -> list[str]:
    """Those that the heading path does not say already."""
    said = {word for heading in headings for word in words(heading)}
    return [each for each in above if not said.issuperset(words(each))]


def _hash(embedded: str) -> TextHash:
    return TextHash(hashlib.sha256(embedded.encode("utf-8", "surrogatepass")).hexdigest())
