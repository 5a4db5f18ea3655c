"""Chunk a log that has grown at its end by cutting only its end.

No fence, comment or list is open at the heading of an entry, so whatever is added behind, the chunks before it stay the
same. The last entry is cut again, since its text may continue.
"""

from dataclasses import replace
from typing import NamedTuple

from mcp_memory.models import Chunk
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.chunking.chunker import (
    FINE_CHUNKS,
    MAX_CHARS,
    MAX_LINES,
    ChunkedNote,
    ChunkingConfig,
    ChunkMark,
    cut,
)


class ChunkedLog(NamedTuple):
    """A log's text, where its body begins, and its chunks."""

    text: str
    body_start: int
    cut: ChunkedNote

    def grown(self, text: str, body_start: int, config: ChunkingConfig) -> ChunkedNote | None:
        """Return the chunks that `cut` would return for `text` with the same configuration. None if it isn't this log
        with another frontmatter or a longer end, or if it may exceed the limits."""
        if not self.cut.entries or self.cut.end != len(self.text):
            return None
        first, last = self.cut.entries
        kept = self.text[self.body_start : last.start]
        if not text.startswith(kept, body_start):
            return None
        if len(text) - body_start > MAX_CHARS or text.count("\n", body_start) > MAX_LINES:
            return None
        # The text above the first entry has the headings above all entries.
        above = self.text[self.body_start : first.start]
        end = cut(above + text[body_start + len(kept) :], 0, config, log=True)
        if not end.entries or end.entries[0].start != len(above):
            return None  # the last entry's heading was edited
        moved = ChunkMark(
            body_start - self.body_start, text.count("\n", 0, body_start) - self.text.count("\n", 0, self.body_start), 0
        )
        now = last.moved(moved)
        behind = ChunkMark(now.start - len(above), now.line - end.entries[0].line, now.section - end.entries[0].section)
        chunks = [_moved(chunk, moved) for chunk in self.cut.chunks if chunk.start < last.start]
        chunks += [_moved(chunk, behind) for chunk in end.chunks if chunk.start >= len(above)]
        if len(chunks) > FINE_CHUNKS:
            return None
        return ChunkedNote(chunks, len(text), (first.moved(moved), end.entries[1].moved(behind)))


class LogChunker:
    """A cutter of logs that caches the `kept` latest. Thread-safe."""

    def __init__(self, config: ChunkingConfig, kept: int = 4) -> None:
        self._config = config
        self._latest: LruCache[str, ChunkedLog] = LruCache(kept)

    def cut(self, path: str, text: str, body_start: int) -> ChunkedNote:
        """Cut a log, as `chunker.cut` does."""
        before = self._latest.get(path)
        found = before.grown(text, body_start, self._config) if before else None
        found = found or cut(text, body_start, self._config, log=True)
        self._latest.store(path, ChunkedLog(text, body_start, found))
        return found


def _moved(chunk: Chunk, by: ChunkMark) -> Chunk:
    if by == _NOWHERE:
        return chunk
    return replace(
        chunk,
        start=chunk.start + by.start,
        end=chunk.end + by.start,
        start_line=chunk.start_line + by.line,
        end_line=chunk.end_line + by.line,
        section=chunk.section + by.section,
    )


_NOWHERE = ChunkMark(0, 0, 0)
