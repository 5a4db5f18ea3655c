"""Finds notes that say nearly the same as one that is being written. Advice, never a reason to fail."""

from __future__ import annotations

import logging

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, Passage
from mcp_memory.runtime.threads import ThreadPool, place_of
from mcp_memory.text.language.terms import overlap, telling, terms

OVERLAP = 0.5
"""From here on two texts say nearly the same: so many of the words of both are shared (Jaccard). Of the notes that
MiniLM gives a cosine of .9 or more, nearly all have it."""

COMPARED_CHARS = 1600
"""Of a text only its beginning counts: as much as the longest passage holds."""

COMPARED = 8
"""So many passages, those that share the most words, are looked at closely."""

DEADLINE_S = 0.25

log = logging.getLogger(__name__)


class NearDuplicates:
    """Looks by words: a note is as easily found while the model is busy, and its vector would cost ten times more."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._crew = ThreadPool()

    async def find(self, text: str, filters: Filters) -> list[Passage]:
        """Passages that say nearly the same, nearest first; none where the look-up fails or is late."""
        head = text[:COMPARED_CHARS]
        try:
            return await self._crew.run(
                lambda: self._look(head, filters), deadline_s=DEADLINE_S, what="looking for similar notes"
            )
        except McpMemoryError:
            return []
        except Exception as error:  # a fault of ours must not fail a note that may be on disk by now
            log.error("similar notes: %s", place_of(error))
            return []

    def _look(self, text: str, filters: Filters) -> list[Passage]:
        rows = self._index.lexical(terms(text), COMPARED, filters, by="overlap")
        said = telling(text)
        near = [
            (shared, passage)
            for passage in self._index.get(row.chunk_id for row in rows).values()
            if (shared := overlap(said, telling(passage.chunk.text[:COMPARED_CHARS]))) >= OVERLAP
        ]
        return [passage for _, passage in sorted(near, key=lambda each: (-each[0], each[1].chunk_id))]
