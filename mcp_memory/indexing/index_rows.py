"""Reads files and cuts them into index rows before the write, so that the index is locked only while storing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from mcp_memory.errors import McpMemoryError, NotFound, PathRefused, Refused
from mcp_memory.index.base import IndexedChunk, Upsert
from mcp_memory.indexing.incremental_chunking import LogChunker
from mcp_memory.models import Chunk, Etag, NotePath, NoteRecord, NoteState, Problem, TextHash
from mcp_memory.text.chunking import chunker
from mcp_memory.text.chunking.chunker import ChunkedNote, ChunkingConfig
from mcp_memory.text.language.terms import words
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault

BATCH_FILES = 64
BATCH_CHUNKS = 256
"""A batch is full with so many; writing them takes 20 to 40 ms, and as long a note of an agent waits behind it."""

MAX_ABOVE_CHARS = 300
"""Title and tags stand beside every chunk, so long ones would be most of the index."""

PASSAGES_VERSION = 8
"""Goes up whenever the same chunks would be embedded or put into words differently: indexes are rebuilt then."""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """What the index was made from."""

    signature: str
    etag: Etag


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """One note to be written to the index, if it is still the one on disk."""

    file: NoteFile
    known: IndexedFile
    upsert: Upsert


@dataclass(slots=True)
class PreparedBatch:
    """What became of some paths, in order. A path in `paths` alone was gone, or cannot be read now."""

    paths: list[NotePath] = field(default_factory=list[NotePath])
    known: dict[NotePath, IndexedFile] = field(default_factory=dict[NotePath, IndexedFile])
    upserts: list[Upsert] = field(default_factory=list[Upsert])
    """Of the notes that are news."""
    unusable: list[NotePath] = field(default_factory=list[NotePath])
    """Files that are no notes any more."""
    problems: dict[str, Problem] = field(default_factory=dict[str, Problem])
    chunks: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.paths) >= BATCH_FILES or self.chunks >= BATCH_CHUNKS


class RowPreparer:
    """Blocking. Of the texts of a batch only their chunks are kept; of logs the latest few, which grow."""

    def __init__(self, vault: Vault, chunking: ChunkingConfig) -> None:
        self._vault = vault
        self._chunking = chunking
        self._logs = LogChunker(chunking)

    def latest(self, file: NoteFile) -> PreparedRows:
        """The note as it is on disk by now. Raises as `Vault.read`."""
        if not self._vault.is_current(file):
            file = self._vault.read(file.record.path)
        return PreparedRows(file, _known(file), self._cut(file))

    def batch(self, paths: Iterable[NotePath], is_news: Callable[[NoteFile], bool]) -> PreparedBatch:
        """As many of the paths as make a batch."""
        batch = PreparedBatch()
        for path in paths:
            batch.paths.append(path)
            try:
                file = self._vault.read(path)
            except NotFound:
                continue  # gone since the listing; the next sweep sees that
            except McpMemoryError as error:
                unusable = isinstance(error, (Refused, PathRefused))
                batch.problems[path] = Problem(path, error.message, unread=not unusable)
                if unusable:
                    batch.unusable.append(path)
                continue
            batch.known[path] = _known(file)
            if is_news(file):
                upsert = self._cut(file)
                batch.upserts.append(upsert)
                batch.chunks += len(upsert.chunks)
                if upsert.note.problem:
                    batch.problems[path] = Problem(path, upsert.note.problem)
            if batch.is_full:
                break
        return batch

    def _cut(self, file: NoteFile) -> Upsert:
        # As in memory: a signature that proves nothing now proves nothing after a restart either.
        record = replace(file.record, signature=_known(file).signature)
        cut = self._logs.cut(record.path, file.text, file.body_start) if record.is_log else None
        return to_upsert(record, file.text, file.body_start, self._chunking, cut)


def _known(file: NoteFile) -> IndexedFile:
    """The signature of a file that is too young to be sure of is marked, so that the next sweep reads it again."""
    signature = file.record.signature
    return IndexedFile(signature if file.settled else f"{signature}?", file.record.etag)


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
