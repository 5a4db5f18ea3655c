"""Compare passages with their files before they are shown, and describe where the index lags behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from mcp_memory.errors import McpMemoryError, NotFound, PathRefused
from mcp_memory.indexing.incremental_chunking import LogChunker
from mcp_memory.indexing.reconciler import READING, Reconciler
from mcp_memory.indexing.watcher import Watcher
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Chunk, Filters, NotePath, NoteRecord, Passage
from mcp_memory.runtime.health import Health
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.chunking.chunker import ChunkedNote, ChunkingConfig, cut
from mcp_memory.text.escape_invisible import visible
from mcp_memory.text.language.terms import content_words, jaccard
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.text.pluralize import counted, first_of
from mcp_memory.vault.marks.set_aside import original_of
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault

MOST_NAMED = 5

_KEPT = 16
"""The files whose latest version is cached."""

SIMILAR = 0.5
"""The least share of common words (Jaccard) of a passage that is taken for a later version of another."""


@dataclass
class FreshPassages:
    """`passages` as they are in their files now, None for one that must not be shown. `newer` and `dropped` name the
    files that have changed, `copies` the conflict copies that are not merged yet."""

    passages: list[Passage | None] = field(default_factory=list[Passage | None])
    newer: dict[NotePath, None] = field(default_factory=dict[NotePath, None])
    dropped: dict[NotePath, None] = field(default_factory=dict[NotePath, None])
    copies: dict[NotePath, None] = field(default_factory=dict[NotePath, None])

    @property
    def is_stale(self) -> bool:
        """Return whether the index has to be brought up to date."""
        return bool(self.newer or self.dropped)

    @property
    def remarks(self) -> list[str]:
        """Return one remark for each kind of change, with the files."""
        remarks = {
            "changed since it was indexed, shown as it is now": self.newer,
            "left out, since its file is gone or says something else now": self.dropped,
            "also in a conflict copy that is not merged yet (see mcp-memory doctor)": self.copies,
        }
        named = {remark: first_of([*map(visible, files)], MOST_NAMED) for remark, files in remarks.items()}
        return [f"{remark}: {files}" for remark, files in named.items() if files]


class Freshness:
    """The comparison of passages with their files, in worker threads, and the remarks on how the index lags behind."""

    def __init__(
        self,
        vault: Vault,
        writer: IndexWriter,
        chunking: ChunkingConfig,
        reconciler: Reconciler,
        watcher: Watcher,
        health: Health,
    ) -> None:
        self._vault = vault
        self._writer = writer
        self._chunking = chunking
        self._reconciler = reconciler
        self._watcher = watcher
        self._health = health
        self._logs = LogChunker(chunking)
        self._reading = threading.Lock()
        self._latest: LruCache[NotePath, tuple[str, _Changed]] = LruCache(_KEPT)

    def check(self, passages: Sequence[Passage], filters: Filters) -> FreshPassages:
        """Check passages. Never raises: a file that cannot be read now is treated as unchanged. Drops passages that
        `filters` no longer admit."""
        checked = FreshPassages()
        notes = {passage.note.path: passage.note for passage in passages}
        changed = {path: now for path, record in notes.items() if (now := self._changed(record))}
        for passage in passages:
            path = passage.note.path
            now = changed.get(path)
            fresh = now.passage(passage, filters) if now else passage
            if fresh and fresh.note.path != path:  # moved meanwhile, which needs no remark
                checked.passages.append(None if fresh.note.path in notes else fresh)
                continue
            if fresh and self._is_repeated(fresh, filters):
                checked.copies[path] = None
                checked.passages.append(None)
                continue
            # Further entries of a log don't change this one.
            if now and not (fresh and fresh.note.is_log):
                (checked.dropped if fresh is None else checked.newer)[path] = None
            checked.passages.append(fresh)
        return checked

    def describe_lag(self) -> str | None:
        """Return why an answer may not know the latest files; None if it does."""
        if self._reconciler.pruning_paused:
            return f"{self._reconciler.pruning_paused}: answers come from the last good index (see mcp-memory doctor)"
        if self._reconciler.replaced:
            self._watcher.hurry()
            return "the index was damaged and is being rebuilt from the files"
        if fault := self._health.faults.get("sweep") or self._health.faults.get("index"):
            return f"the latest changes may be missing: {fault.reason}"
        behind = self._behind()
        if self._reconciler.last is None:
            return f"the first sweep of the vault is not finished{f': {behind}' if behind else ''}"
        return "; ".join(filter(None, (behind, self._unread()))) or None

    def request_sweep(self) -> None:
        """Sweep when the vault is quiet."""
        self._watcher.hint()

    def _is_repeated(self, passage: Passage, filters: Filters) -> bool:
        """Return whether the passage comes from a conflict copy of a log that has the same text and may be shown."""
        original = original_of(passage.note.path)
        if original is None or not is_log_path(original):
            return False
        try:
            return self._now(NotePath(original), self._vault.signature(NotePath(original))).contains(passage, filters)
        except McpMemoryError:
            return False

    def _changed(self, record: NoteRecord) -> _Changed | None:
        """Return the changed file; None for a file that hasn't changed since its rows were written."""
        # With 64 sessions at work each system call waits for Python's lock, so most files cost only one.
        if self._writer.is_known(record.path, record.etag, self._vault.glance(record.path) or ""):
            return None
        try:
            signature = self._vault.signature(record.path)
            if self._writer.is_known(record.path, record.etag, signature):
                return None
            now = self._now(record.path, signature)
        except (NotFound, PathRefused):
            # Missing notes are kept in the index until they come back or you confirm their loss.
            if self._vault.is_away or self._reconciler.pruning_paused is not None:
                return None
            return _Changed(self._vault.provenance.find_note(record.id), self._cut)
        except McpMemoryError:
            return None
        return None if now.etag == record.etag else now

    def _now(self, path: NotePath, signature: str) -> _Changed:
        """Read each version of a file once for all searches: a log that many write to is always newer."""
        with self._reading:
            known = self._latest.get(path)
            if known is None or known[0] != signature:
                known = self._latest.store(path, (signature, _Changed(self._vault.read(path), self._cut)))
            return known[1]

    def _cut(self, file: NoteFile) -> ChunkedNote:
        if file.record.is_log:
            return self._logs.cut(file.record.path, file.text, file.body_start)
        return cut(file.text, file.body_start, self._chunking, log=False)

    def _behind(self) -> str | None:
        """Return how many files the sweep still has to read, if it reads many."""
        now = self._health.progress
        if now.phase != READING or now.done >= now.total:
            return None
        return f"{counted(now.total - now.done, 'file')} may be newer than the index and are being read"

    def _unread(self) -> str | None:
        """Return how many files could not be read. Their names are untrusted data; `doctor` lists them."""
        unread = sum(problem.unread for problem in self._writer.problems.values())
        if not unread:
            return None
        return f"{counted(unread, 'file')} could not be read and may be newer than the index (see mcp-memory doctor)"


class _Changed:
    """A file that has changed since it was indexed; `file` is None if it is gone."""

    def __init__(self, file: NoteFile | None, cut_of: Callable[[NoteFile], ChunkedNote]) -> None:
        self._file = file
        self._cut_of = cut_of
        self._cut: list[Chunk] | None = None
        self._words: str | None = None
        self.etag = file.record.etag if file else None
        self._forgotten = _forgotten(file.record) if file else frozenset[str]()

    def passage(self, old: Passage, filters: Filters) -> Passage | None:
        """Return the same passage where it is now, or the passage that contains or resembles it."""
        if self._file is None or not filters.admits(self._file.record):
            return None
        if self._stands(old):
            return replace(old, note=self._file.record)
        best = max(self._alike(old), key=lambda at: (at[0], -abs(at[1] - old.ordinal)), default=None)
        return Passage(old.chunk_id, best[1], self._chunks()[best[1]], self._file.record) if best else None

    def contains(self, other: Passage, filters: Filters) -> bool:
        """Return whether the text of a passage is in the file, however it was chunked. Forgotten entries are included,
        so that a copy doesn't bring them back."""
        if self._file is None or not filters.admits(self._file.record):
            return False
        if self._words is None:
            self._words = " ".join(self._file.text.split())
        return " ".join(other.chunk.text.split()) in self._words

    def _alike(self, old: Passage) -> list[tuple[float, int]]:
        """Return the similarity (from `SIMILAR`) and place of each chunk that may be the passage now. An entry of a log
        is there or not."""
        text, chunks = old.chunk.text, self._chunks()
        if holding := [(1.0, at) for at, chunk in enumerate(chunks) if text in chunk.text]:
            return holding
        if old.note.is_log:
            return []
        words = content_words(text)
        shared = ((jaccard(words, content_words(chunk.text)), at) for at, chunk in enumerate(chunks))
        return [(share, at) for share, at in shared if share >= SIMILAR]

    def _stands(self, old: Passage) -> bool:
        """Return whether the passage is unchanged at its place, because text was only added behind it."""
        if self._file is None or old.chunk.entry in self._forgotten:
            return False
        chunk, text = old.chunk, self._file.text
        return text.startswith(chunk.text, chunk.start) and text.count("\n", 0, chunk.start) + 1 == chunk.start_line

    def _chunks(self) -> list[Chunk]:
        if self._cut is None and (file := self._file):
            chunks = self._cut_of(file).chunks
            self._cut = [chunk for chunk in chunks if chunk.entry not in self._forgotten]
        return self._cut or []


def _forgotten(record: NoteRecord) -> frozenset[str]:
    return frozenset(record.meta.get("forgotten", ()))
