"""Finds the passages closest to a statement, by words and, if a model is loaded, by embedding."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteState, Passage
from mcp_memory.runtime.threads import in_thread
from mcp_memory.statements.comparison import Holder, best_holder
from mcp_memory.text.language.terms import terms

COMPARED = 8
"""The number of passages compared by words, and by embedding."""
LOOK_S = 10.0

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Neighbours:
    _index: Index
    embedder: Callable[[], Embedder | None]
    _clock: Callable[[], datetime]

    async def nearest(self, text: str, *, project: str | None = None) -> list[tuple[Passage, float]]:
        """Search active notes and waiting candidates. Return passages with their cosine, 0 if no model is loaded.
        Raises IndexUnavailable, DeadlineExceeded."""
        states = frozenset({NoteState.ACTIVE, NoteState.INBOX})
        filters = Filters(states=states, project=project, now=self._clock())
        return await in_thread(lambda: self._look(text, filters), deadline_s=LOOK_S, what="looking for similar notes")

    async def holder(self, text: str) -> Holder | None:
        """Return the passage of a note or candidate that contains a statement. Raises like `nearest`."""
        passages = [
            Holder(one.shown_id, one.note.path, one.chunk.text, one.note.state is NoteState.INBOX, cosine)
            for one, cosine in await self.nearest(text)
        ]
        return best_holder(text, passages)

    def _look(self, text: str, filters: Filters) -> list[tuple[Passage, float]]:
        cosines: dict[int, float] = {}
        embedder = self.embedder()
        if embedder:
            try:
                rows = self._index.dense(np.asarray(embedder.embed_query(text)), COMPARED, filters)
                cosines = {row.chunk_id: row.score for row in rows}
            except McpMemoryError as error:  # only words decide
                log.warning("similar notes: without a model: %s", error.code)
        by_words = self._index.lexical(terms(text), COMPARED, filters, by="overlap").ids.tolist()
        passages = self._index.get(dict.fromkeys([*by_words, *cosines]))
        return [(passage, cosines.get(chunk_id, 0.0)) for chunk_id, passage in passages.items()]
