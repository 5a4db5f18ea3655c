"""Finds notes that say nearly the same as one that is being written; never makes the append fail."""

from __future__ import annotations

import logging

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, Passage
from mcp_memory.runtime.threads import ThreadPool, place_of
from mcp_memory.text.language.terms import content_words, overlap, terms

OVERLAP = 0.5
"""Two texts with at least this share of common words (Jaccard) say nearly the same. Nearly all notes with a MiniLM
cosine of .9 or more have it."""

COMPARED_CHARS = 1600
"""The length of the longest passage; of a longer text only the beginning is compared."""

COMPARED = 8
"""The number of passages, those that share the most words, that are compared."""

DEADLINE_S = 0.25

log = logging.getLogger(__name__)


class NearDuplicates:
    """Compares words, which works while the model is busy; a vector would cost ten times as much."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._pool = ThreadPool()

    async def find(self, text: str, filters: Filters) -> list[Passage]:
        """Passages that say nearly the same, nearest first; none if the look-up fails or is late."""
        head = text[:COMPARED_CHARS]
        try:
            return await self._pool.run(
                lambda: self._look(head, filters), deadline_s=DEADLINE_S, what="looking for similar notes"
            )
        except McpMemoryError:
            return []
        except Exception as error:  # a bug must not fail an append whose note may be on disk
            log.error("similar notes: %s", place_of(error))
            return []

    def _look(self, text: str, filters: Filters) -> list[Passage]:
        rows = self._index.lexical(terms(text), COMPARED, filters, by="overlap")
        words = content_words(text)
        near = [
            (-shared, chunk_id, passage)
            for chunk_id, passage in self._index.get(rows.ids.tolist()).items()
            if (shared := overlap(words, content_words(passage.chunk.text[:COMPARED_CHARS]))) >= OVERLAP
        ]
        return [passage for _, _, passage in sorted(near, key=lambda found: found[:2])]
