"""Preparing: files read and cut into what the index stores, so that the index is held for the writing alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from mcp_memory.errors import McpMemoryError, NotFound, PathRefused, Refused
from mcp_memory.index.base import Upsert
from mcp_memory.indexing.diff import IndexedFile
from mcp_memory.indexing.incremental_chunking import LogChunker
from mcp_memory.indexing.index_rows import to_upsert
from mcp_memory.models import NotePath, Problem
from mcp_memory.text.chunking.chunker import ChunkingConfig
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault

BATCH_FILES = 64
BATCH_CHUNKS = 256
"""A batch is full with so many; writing them takes 20 to 40 ms, and as long a note of an agent waits behind it."""


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
