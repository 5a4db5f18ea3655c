"""Find the older note that a newer one probably replaces, although no value of the two can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mcp_memory.comparison import overtaken
from mcp_memory.comparison.other_value import Contradiction
from mcp_memory.index.base import Index
from mcp_memory.indexing.stated_texts import StatedText, StatedTexts
from mcp_memory.indexing.writer import IndexWriter
from mcp_memory.models import Filters, NotePath

NEAREST_BY_VECTOR = (24, 96, 384)
"""The numbers of passages to read, one after the other while too few older passages of the project are found."""


Replaced = Sequence[tuple[StatedText, Contradiction]]


@dataclass(frozen=True, slots=True)
class ReplacedNotes:
    """The search for replaced notes. Reads the index: for worker threads. Methods raise IndexUnavailable."""

    index: Index
    writer: IndexWriter
    clock: Callable[[], datetime]
    texts: StatedTexts

    @property
    def judges(self) -> bool:
        """Return whether the index has vectors of the bundled model."""
        return overtaken.judges(self.writer.generation.embedding)

    def have_vectors(self, paths: Sequence[NotePath]) -> list[bool]:
        """Return which of these notes have a vector of that model."""
        if not paths or not self.judges:
            return [False] * len(paths)
        return [bool(vector.any()) for vector in self.index.mean_vectors(paths)]

    def find(self, newer: StatedText) -> Replaced:
        """Find one note at most; none without a vector of that model."""
        if "#" in newer.id or not newer.path or not self.judges or not overtaken.may_overtake(newer.note):
            return []
        vector = self.index.mean_vectors([newer.path])[0]
        olders = self._nearest_older(newer, vector) if vector.any() else []
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

    def _nearest_older(self, newer: StatedText, vector: NDArray[np.float32]) -> list[StatedText]:
        """Return the nearest notes of its project in meaning, the best first."""
        filters, olders = Filters(project=newer.note.project, now=self.clock()), list[StatedText]()
        for most in NEAREST_BY_VECTOR:
            rows = self.index.dense(vector, most, filters).ids.tolist()
            passages = self.index.get(rows)
            paths = dict.fromkeys(passages[row].note.path for row in rows if row in passages)
            olders = [one for path in paths for one in self.texts.at(path) if self._is_older_there(one, newer)]
            if len(olders) >= overtaken.NEAREST_OLDER or len(rows) < most:
                break
        return olders[: overtaken.NEAREST_OLDER]

    def _is_older_there(self, one: StatedText, newer: StatedText) -> bool:
        return "#" not in one.id and one.note.project == newer.note.project and self.texts.is_older(one, newer)
