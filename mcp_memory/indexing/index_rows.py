"""Read files and cut them into index rows before the write, so that the index is locked only while storing."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from mcp_memory.errors import McpMemoryError, NotFound, PathRefused, Refused
from mcp_memory.index.base import Index, IndexedChunk, Upsert
from mcp_memory.indexing.incremental_chunking import LogChunker
from mcp_memory.models import Chunk, Etag, NotePath, NoteRecord, NoteState, Problem, TextHash
from mcp_memory.text.chunking import chunker
from mcp_memory.text.chunking.chunker import ChunkedNote, ChunkingConfig
from mcp_memory.text.language.terms import words
from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.frontmatter import split_head
from mcp_memory.text.markdown.note_links import note_links, without_spans
from mcp_memory.text.text_hash import text_hash
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault

BATCH_FILES = 64
BATCH_CHUNKS = 256
"""The size of a full batch. Writing it takes 20 to 40 ms, for which an agent's note may have to wait."""

MAX_ABOVE_CHARS = 300
"""The most characters of title and tags: they are repeated with every chunk, so they would fill the index."""

PASSAGES_VERSION = 14
"""The version of the rows. Raise it whenever the same chunks would be embedded or tokenized differently, so that
indexes are rebuilt."""


class IndexedFile(NamedTuple):
    """The version of a file from which its rows were made."""

    signature: str
    etag: Etag


class PreparedRows(NamedTuple):
    """One note to be written to the index, unless the file has changed."""

    file: NoteFile
    known: IndexedFile
    upsert: Upsert


@dataclass
class PreparedBatch:
    """The outcome of reading some paths. A path only in `paths` is gone or cannot be read now."""

    paths: list[NotePath] = field(default_factory=list[NotePath])
    known: dict[NotePath, IndexedFile] = field(default_factory=dict[NotePath, IndexedFile])
    upserts: list[Upsert] = field(default_factory=list[Upsert])
    """The rows of new and changed notes."""
    unusable: list[NotePath] = field(default_factory=list[NotePath])
    """The files that are no longer notes."""
    problems: dict[str, Problem] = field(default_factory=dict[str, Problem])
    chunks: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.paths) >= BATCH_FILES or self.chunks >= BATCH_CHUNKS


@dataclass(frozen=True)
class RowPreparer:
    """The reader and chunker of notes. Blocking."""

    vault: Vault
    chunking: ChunkingConfig

    @cached_property
    def logs(self) -> LogChunker:
        return LogChunker(self.chunking)

    def latest(self, file: NoteFile) -> PreparedRows:
        """Return the note as it is on disk now. Raises as `Vault.read`."""
        if not self.vault.is_current(file):
            file = self.vault.read(file.record.path)
        return PreparedRows(file, _known(file), self._cut(file))

    def batch(self, paths: Iterable[NotePath], is_news: Callable[[NoteFile], bool]) -> PreparedBatch:
        """Read the paths until the batch is full."""
        batch = PreparedBatch()
        for path in paths:
            batch.paths.append(path)
            try:
                file = self.vault.read(path)
            except NotFound:
                continue  # gone since the listing; the next sweep will see that
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

    def outdated(self, changed: Iterable[NoteRecord], index: Index) -> list[NoteFile]:
        """Return the notes that these replaced and whose state in the index is out of date."""
        chains, found = self.vault.chains, list[NoteFile]()
        for path in dict.fromkeys(path for record in changed for path in chains.depending(record)):
            with suppress(McpMemoryError):
                file, was = self.vault.read(path), index.note(path)
                now = file.record
                if was and (was.state, was.superseded_at, was.meta) != (now.state, now.superseded_at, now.meta):
                    found.append(file)
        return found

    def _cut(self, file: NoteFile) -> Upsert:
        # The marked signature, so that the file is also read again after a restart.
        record = replace(file.record, signature=_known(file).signature)
        cut = self.logs.cut(record.path, file.text, file.body_start) if record.is_log else None
        return to_upsert(record, file.text, file.body_start, self.chunking, cut)


def _known(file: NoteFile) -> IndexedFile:
    """Return the file's version. The signature of a file that is too new for it to be reliable is marked, so that the
    next sweep reads the file again."""
    signature = file.record.signature
    return IndexedFile(signature if file.settled else f"{signature}?", file.record.etag)


def to_upsert(
    record: NoteRecord, text: str, body_start: int, config: ChunkingConfig, cut: ChunkedNote | None = None
) -> Upsert:
    """Return the rows of a note: its chunks with their embedded text, and the text above its sections. `cut`: its
    chunks, if they are known already. Its properties and its phrases under `when` are found with its first chunk;
    without a text, properties become a chunk.

    `text[body_start:]` is the body. A log entry whose hash is in the record's `forgotten` list leaves no trace, not
    even in its neighbors' context; a deleted note has no chunks. If the text is longer than the limits, the record has
    a `problem`."""
    if record.state is NoteState.DELETED:
        return Upsert(record)
    cut = cut or chunker.cut(text, body_start, config, log=record.is_log)
    forgotten = frozenset(record.meta.get("forgotten", ()))
    chunks = [chunk for chunk in cut.chunks if chunk.entry is None or chunk.entry not in forgotten]
    said = "" if chunks else record.properties
    chunks = [_head_chunk(text)] if said else chunks
    # the body may not repeat them
    above = [] if record.is_log else [part[:MAX_ABOVE_CHARS] for part in (record.title, " ".join(record.tags))]
    headings = {chunk.section: chunk.headings for chunk in chunks}
    places = {section: "\n".join([*_missing(above, path), *path]) for section, path in headings.items()}
    unshown = list(record.when) if said else list(filter(None, [record.properties, *record.when]))
    if chunks and unshown:
        places[chunks[0].section] = "\n".join([places[chunks[0].section], *unshown])
    links = note_links(text, body_start, record.path) if record.state is not NoteState.TRANSCRIPT else []
    hidden = [(chunk.start, chunk.end) for chunk in cut.chunks if chunk.entry in forgotten] if links else []
    return Upsert(
        _with_problem(record, text, cut),
        [_indexed(record, above, chunk, cut, is_first=not at) for at, chunk in enumerate(chunks)],
        places,
        without_spans(links, hidden),
    )


def _with_problem(record: NoteRecord, text: str, cut: ChunkedNote) -> NoteRecord:
    """Report the part of the text that is not indexed."""
    if cut.end == len(text):
        return record
    line = text.count("\n", 0, cut.end) + 1
    limits = f"{chunker.MAX_CHARS:,} characters, {chunker.MAX_LINES:,} lines, {chunker.MAX_CHUNKS:,} passages"
    problem = f"searched only up to line {line:,}, since a note is indexed up to {limits}: split the file"
    return replace(record, problem=f"{record.problem}; {problem}" if record.problem else problem)


def _head_chunk(text: str) -> Chunk:
    """Return the properties of a note that has nothing else."""
    head = split_head(text)
    lines = text[head.start : head.end].rstrip()
    first = text.count("\n", 0, head.start) + 1
    return Chunk(lines, head.start, head.start + len(lines), first, first + lines.count("\n"))


def _indexed(
    record: NoteRecord, above: Sequence[str], chunk: Chunk, cut: ChunkedNote, *, is_first: bool
) -> IndexedChunk:
    """Return a chunk with its text for embedding. File name > title > headings in front gain 2 points of evidence on
    documentation. On logs a date in front costs 5 points, on conversations a title and a date 2.5, so entries and turns
    are embedded without a head."""
    embedded = logs.without_author(chunk.text) if chunk.entry else chunk.text
    if not record.is_log and not cut.turns:
        place = [PurePosixPath(record.path).stem, *_missing(above, chunk.headings), *chunk.headings]
        said = f"{record.properties}\n" if is_first and record.properties else ""
        embedded = " > ".join(place) + f"\n{said}{chunk.text}"
    return IndexedChunk(chunk, embedded, TextHash(text_hash(embedded)))


def _missing(above: Sequence[str], headings: Sequence[str]) -> list[str]:
    """Return the texts with words that the headings lack."""
    if not above:
        return []
    known = {word for heading in headings for word in words(heading)}
    return [text for text in above if not known.issuperset(words(text))]
