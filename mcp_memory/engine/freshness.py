"""Freshness: an answer quotes what stands in the files now, also where the index does not know that yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from mcp_memory.engine.notes import NoteFile
from mcp_memory.engine.passages import to_upsert
from mcp_memory.engine.vault import Vault
from mcp_memory.engine.writer import IndexWriter
from mcp_memory.errors import McpMemoryError, NotFound, PathRefused
from mcp_memory.models import NotePath, NoteRecord, Passage
from mcp_memory.text.chunking import ChunkingConfig

MOST_NAMED = 5


@dataclass(slots=True)
class Checked:
    """`passages` are as their files say now, None for one that must not be shown. What is said of each file that is
    not as it was indexed stands in `remarks`."""

    passages: list[Passage | None] = field(default_factory=list[Passage | None])
    newer: list[NotePath] = field(default_factory=list[NotePath])
    dropped: list[NotePath] = field(default_factory=list[NotePath])

    @property
    def remarks(self) -> list[str]:
        said = [f"changed since it was indexed, shown as it is now: {each}" for each in self.newer]
        said += [f"left out, since its file is gone or says something else now: {each}" for each in self.dropped]
        return [*said[:MOST_NAMED], *([f"{len(said) - MOST_NAMED} more such files"] if len(said) > MOST_NAMED else [])]


class Freshness:
    """Looks at the files of passages that are about to be shown. Synchronous, for worker threads."""

    def __init__(
        self, vault: Vault, writer: IndexWriter, chunking: ChunkingConfig, is_lost: Callable[[], bool]
    ) -> None:
        """`is_lost` says whether missing files are kept in the index, because the vault seems to be away."""
        self._vault = vault
        self._writer = writer
        self._chunking = chunking
        self._is_lost = is_lost

    def check(self, passages: Sequence[Passage]) -> Checked:
        """Never raises: a file that cannot be looked at now is taken to be as it was."""
        checked = Checked()
        notes = {passage.note.path: passage.note for passage in passages}
        changed = {path: now for path, record in notes.items() if (now := self._changed(record))}
        for passage in passages:
            path = passage.note.path
            now = changed.get(path)
            fresh = now.passage(passage) if now else passage
            told = checked.dropped if fresh is None else checked.newer
            # That a log has more entries by now is no news about this one.
            is_told = now and not (fresh and fresh.note.is_log and fresh.chunk is passage.chunk)
            if is_told and path not in told:
                told.append(path)
            checked.passages.append(fresh)
        return checked

    def _changed(self, record: NoteRecord) -> _Changed | None:
        """None for a file that is as it was when these rows were written."""
        try:
            if self._writer.is_known(record.path, record.etag, self._vault.signature(record.path)):
                return None
            file = self._vault.read(record.path)
        except (NotFound, PathRefused):
            return None if self._is_lost() else _Changed(None, self._chunking)
        except McpMemoryError:
            return None
        return None if file.record.etag == record.etag else _Changed(file, self._chunking)


class _Changed:
    """A file that is another one by now, or none."""

    def __init__(self, file: NoteFile | None, chunking: ChunkingConfig) -> None:
        self._file = file
        self._chunking = chunking
        self._chunks: list[Passage] | None = None

    def passage(self, old: Passage) -> Passage | None:
        """The same words, where they stand now."""
        if self._file is None or self._file.record.shelf is not old.note.shelf:
            return None
        if self._stands(old):
            return replace(old, note=self._file.record)
        same = [each for each in self._passages(old) if each.chunk.text == old.chunk.text]
        return min(same, key=lambda each: abs(each.ordinal - old.ordinal), default=None)

    def _stands(self, old: Passage) -> bool:
        """At the very place: something was added behind, as to a log."""
        if self._file is None or _forgotten(self._file.record) != _forgotten(old.note):
            return False
        chunk, text = old.chunk, self._file.text
        return text.startswith(chunk.text, chunk.start) and text.count("\n", 0, chunk.start) + 1 == chunk.start_line

    def _passages(self, old: Passage) -> list[Passage]:
        if self._chunks is None and self._file:
            record = self._file.record
            cut = to_upsert(record, self._file.text, self._file.body_start, self._chunking)
            self._chunks = [Passage(old.chunk_id, at, each.chunk, record) for at, each in enumerate(cut.chunks)]
        return self._chunks or []


def _forgotten(record: NoteRecord) -> frozenset[str]:
    return frozenset(record.meta.get("forgotten", ()))
