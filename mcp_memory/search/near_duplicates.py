"""Find notes that nearly repeat or contradict a note that is being written; never makes the append fail."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from mcp_memory.conflicts.detector import NoteText
from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.models import Contradicted, Filters, Passage, PrivateMarks
from mcp_memory.runtime.threads import ThreadPool, place_of
from mcp_memory.text.language.terms import content_words, overlap, terms
from mcp_memory.vault.succession.entry_marks import admits

OVERLAP = 0.5
"""The least share of common words (Jaccard) of two texts that are nearly the same. Nearly all pairs of notes with a
MiniLM cosine of .9 or more have it."""

COMPARED_CHARS = 1600
"""The length of the longest passage; a longer text is compared only at its beginning."""

COMPARED = 8
"""The most passages that are compared, chosen by shared words."""

SHOWN_CHARS = 300
"""The most characters shown of a note that is contradicted."""

DEADLINE_S = 0.25

T = TypeVar("T")

log = logging.getLogger(__name__)


class NearDuplicates:
    """The comparison by words, which works while the model is busy; a vector would cost ten times as much."""

    def __init__(self, index: Index, conflicts: ConflictScan) -> None:
        self._index = index
        self._conflicts = conflicts
        self._pool = ThreadPool()

    async def find(self, text: str, filters: Filters) -> list[Passage]:
        """Return passages that are nearly the same, nearest first; none if the look-up fails or is late."""
        return await self._run(lambda: self._look(text[:COMPARED_CHARS], filters))

    async def contradicted_by(
        self, note: NoteText, when: datetime | None, private: PrivateMarks | None = None
    ) -> list[Contradicted]:
        """Return the notes that a text contradicts, the latest first, without private and muted notes. `when`: when the
        text was made, if not now. Empty on failure."""
        return await self._run(
            lambda: [
                Contradicted(old.id, " ".join(old.note.text.split())[:SHOWN_CHARS], contradiction.why)
                for old, contradiction in self._conflicts.contradicted_by(note, when, private)
            ]
        )

    async def _run(self, look: Callable[[], list[T]]) -> list[T]:
        try:
            return await self._pool.run(look, deadline_s=DEADLINE_S, what="looking for similar notes")
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
            if admits(filters, passage)
            and (shared := overlap(words, content_words(passage.chunk.text[:COMPARED_CHARS]))) >= OVERLAP
        ]
        return [passage for _, _, passage in sorted(near, key=lambda found: found[:2])]
