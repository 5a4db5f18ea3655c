"""Finds the passages closest to a statement, by words and, if a model is loaded, by embedding."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from mcp_memory.embedders.base import Embedder
from mcp_memory.errors import McpMemoryError
from mcp_memory.extraction.coverage import CoverageStatus, holder
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteState, Passage
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.language.terms import terms

COMPARED = 8
"""Passages compared by words, and as many by embedding."""
LOOK_S = 10.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """`cosine` is 0 if no model was loaded."""

    passage: Passage
    cosine: float


class Neighbours:
    def __init__(self, index: Index, embedder: Callable[[], Embedder | None], clock: Callable[[], datetime]) -> None:
        self._index = index
        self._embedder = embedder
        self._clock = clock

    async def nearest(self, text: str, *, project: str | None = None, kinds: Sequence[str] = ()) -> list[Neighbour]:
        """Searches active notes and waiting candidates. Raises IndexUnavailable, DeadlineExceeded."""
        filters = Filters(
            states=frozenset({NoteState.ACTIVE, NoteState.INBOX}),
            kinds=frozenset(kinds) or None,
            project=project,
            now=self._clock(),
        )
        return await in_thread(lambda: self._look(text, filters), deadline_s=LOOK_S, what="looking for similar notes")

    async def holder(self, text: str) -> CoverageStatus | None:
        """Returns the passage of a note or candidate that holds a statement. Raises as `nearest`."""
        found = [
            CoverageStatus(
                near.passage.shown_id,
                near.passage.note.path,
                near.passage.chunk.text,
                near.passage.note.state is NoteState.INBOX,
                near.cosine,
            )
            for near in await self.nearest(text)
        ]
        return holder(text, found)

    def _look(self, text: str, filters: Filters) -> list[Neighbour]:
        cosines: dict[int, float] = {}
        embedder = self._embedder()
        if embedder:
            try:
                rows = self._index.dense(np.asarray(embedder.embed_query(text)), COMPARED, filters)
                cosines = {row.chunk_id: row.score for row in rows}
            except McpMemoryError as error:  # words decide alone
                log.warning("similar notes: without a model: %s", error.code)
        by_words = self._index.lexical(terms(text), COMPARED, filters, by="overlap").ids.tolist()
        passages = self._index.get(dict.fromkeys([*by_words, *cosines]))
        return [Neighbour(passage, cosines.get(place, 0.0)) for place, passage in passages.items()]
