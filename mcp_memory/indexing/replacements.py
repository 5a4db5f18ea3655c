"""Finds the older note that a newer one probably replaces, although no value of the two can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_memory.conflicts import overtaken
from mcp_memory.conflicts.detector import Contradiction, NoteText
from mcp_memory.index.base import Index
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Filters, NoteId, NotePath

NEAREST_BY_VECTOR = 24
"""So many passages are looked at for the older notes that are nearest in meaning."""


@dataclass(frozen=True, slots=True)
class StatedText:
    """A note, where it stands, and when it was made; `compatible`: ids of what it holds beside. What was imported
    counts as older than one's own words."""

    id: NoteId
    path: NotePath
    note: NoteText
    when: datetime | None = None
    compatible: frozenset[str] = frozenset()
    is_foreign: bool = False

    def holds_beside(self, other: StatedText) -> bool:
        return other.id in self.compatible or self.id in other.compatible


Found = Sequence[tuple[StatedText, Contradiction]]


@dataclass(frozen=True, slots=True)
class ReplacedNotes:
    """Reads the index: for worker threads. Methods raise IndexUnavailable."""

    index: Index
    writer: IndexWriter
    clock: Callable[[], datetime]
    texts_of: Callable[[NotePath], Sequence[StatedText]]
    is_older: Callable[[StatedText, StatedText], bool]

    def find(self, newer: StatedText) -> Found:
        """One at most; none without a vector to judge by."""
        if "#" in newer.id or not newer.path or not overtaken.judges(self.writer.generation.embedding):
            return []
        if not overtaken.may_overtake(newer.note):
            return []
        vector = self.index.mean_vectors([newer.path])[0]
        if not vector.any():
            return []
        rows = self.index.dense(vector, NEAREST_BY_VECTOR, Filters(project=newer.note.project, now=self.clock()))
        passages = self.index.get(rows.ids.tolist())
        paths = dict.fromkeys(passages[row].note.path for row in rows.ids.tolist() if row in passages)
        olders = [
            one
            for path in paths
            for one in self.texts_of(path)
            if "#" not in one.id and one.note.project == newer.note.project and self.is_older(one, newer)
        ][: overtaken.NEAREST_OLDER]
        near: list[float] = (self.index.mean_vectors([one.path for one in olders]) @ vector).tolist()
        likely = [
            (overtaken.likelihood(one.note, newer.note, near[at], max([*near[:at], *near[at + 1 :]], default=0.0)), at)
            for at, one in enumerate(olders)
            if overtaken.may_be_overtaken(one.note, newer.note)
        ]
        likelihood, closest = max(likely, default=(0.0, 0))
        if likelihood < overtaken.LIKELY_FROM:
            return []
        return [(olders[closest], overtaken.replacement(olders[closest].note))]
