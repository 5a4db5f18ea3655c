"""Find the notes near a text, by words and by embedding, and whether they say it already or contradict it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import numpy as np

from mcp_memory.comparison.comparison import SIMILAR_WORDS, Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.indexing.stated_texts import passages_near
from mcp_memory.models import Contradicted, Filters, NoteState, Passage, PrivateMarks
from mcp_memory.runtime.threads import ThreadPool, in_thread, place_of
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words, terms
from mcp_memory.text.language.word_overlap import coverage
from mcp_memory.text.tokens import truncate
from mcp_memory.vault.succession.entry_marks import admits

COMPARED_CHARS = 1600
"""The length of the longest passage; a longer text is compared only at its beginning."""
COMPARED = 8
"""The most passages that are compared by words, and by embedding."""
QUOTED_TOKENS = 30
"""The most tokens of a note that a receipt quotes: a sentence."""
DEADLINE_S = 0.25
"""The seconds that an append waits for similar notes."""
LOOK_S = 10.0

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NearPassage:
    """A passage near a text. `cosine` is 0 if no model is loaded or the passage was found only by words."""

    passage: Passage
    cosine: float = 0.0

    @property
    def is_waiting(self) -> bool:
        return self.passage.note.state is NoteState.INBOX

    def compare(self, text: str) -> Comparison:
        """Compare a newer text with the passage."""
        return Comparison(NoteText(self.passage.chunk.text.strip()), NoteText(text), self.cosine)


def quote(text: str, words: str) -> str:
    """Return the sentence of a note that has most of these words."""
    wanted = content_words(words)
    found = [sentence.text for sentence in sentences(text)] or [" ".join(text.split())]
    return truncate(max(found, key=lambda sentence: coverage(wanted, content_words(sentence))), QUOTED_TOKENS)


class NearNotes:
    """Looks for notes near a text, and compares them with it."""

    def __init__(
        self, index: Index, conflicts: ConflictScan, model: EmbedderLifecycle, clock: Callable[[], datetime]
    ) -> None:
        self._index = index
        self._conflicts = conflicts
        self._model = model
        self._clock = clock
        self._pool = ThreadPool()

    async def similar(self, text: str, filters: Filters) -> list[Passage]:
        """Return passages that nearly repeat a text that is being written, nearest first; none if the look-up fails or
        is late. Only words are compared: they work while the model is busy, and a vector would cost ten times as
        much."""
        return await self._advise(lambda: self._similar(text[:COMPARED_CHARS], filters))

    async def contradicted_by(
        self, note: NoteText, when: datetime | None, private: PrivateMarks | None = None
    ) -> list[Contradicted]:
        """Return the notes that a text contradicts, the latest first, without private and muted notes. `when`: when the
        text was made, if not now. Empty on failure."""
        return await self._advise(
            lambda: [
                Contradicted(old.id, quote(old.note.text, contradiction.before), contradiction.why)
                for old, contradiction in self._conflicts.contradicted_by(note, when, private)
            ]
        )

    async def nearest(self, text: str, *, project: str | None = None) -> list[NearPassage]:
        """Return the passages of active notes and waiting candidates that are nearest by words, and by embedding if a
        model is loaded. Raises IndexUnavailable, DeadlineExceeded."""
        states = frozenset({NoteState.ACTIVE, NoteState.INBOX})
        filters = Filters(states=states, project=project, now=self._clock())
        return await in_thread(self._nearest, text, filters, deadline_s=LOOK_S, what="looking for near notes")

    async def _advise(self, look: Callable[[], list[T]]) -> list[T]:
        try:
            return await self._pool.run(look, deadline_s=DEADLINE_S, what="looking for similar notes")
        except McpMemoryError:
            return []
        except Exception as error:  # a bug must not fail an append whose note may be on disk
            log.error("similar notes: %s", place_of(error))
            return []

    # -- in threads --------------------------------------------------------------------------------------------

    def _similar(self, text: str, filters: Filters) -> list[Passage]:
        shares: dict[int, float] = {}
        found = passages_near(self._index, terms(text), COMPARED, filters)
        for chunk_id, passage in found.items():
            shares[chunk_id] = Comparison(NoteText(passage.chunk.text[:COMPARED_CHARS]), NoteText(text)).shared_words
        alike = sorted(found.keys(), key=lambda chunk_id: (-shares[chunk_id], found[chunk_id].note.path, chunk_id))
        return [found[chunk_id] for chunk_id in alike if shares[chunk_id] >= SIMILAR_WORDS]

    def _nearest(self, text: str, filters: Filters) -> list[NearPassage]:
        cosines: dict[int, float] = {}
        embedder = self._model.at_hand
        if embedder:
            try:
                rows = self._index.dense(np.asarray(embedder.embed_query(text)), COMPARED, filters)
                cosines = {row.chunk_id: row.score for row in rows}
            except McpMemoryError as error:  # only words decide
                log.warning("near notes: without a model: %s", error.code)
        found = passages_near(self._index, terms(text), COMPARED, filters)
        by_vector = self._index.get([chunk_id for chunk_id in cosines if chunk_id not in found])
        found |= {chunk_id: passage for chunk_id, passage in by_vector.items() if admits(filters, passage)}
        return [NearPassage(passage, cosines.get(chunk_id, 0.0)) for chunk_id, passage in found.items()]
