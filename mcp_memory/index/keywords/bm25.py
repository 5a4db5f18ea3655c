"""Rank chunks with BM25 by their own words and the words around them, and sections by all their words.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with k1 = 1.2 and b = .75.
Words are counted in all living notes, so a score does not depend on the filter. Pages that we write are excluded: they
repeat the notes, and would make their words look common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.keywords.segment import PostingSegment, Some

Ids, Mask = NDArray[np.int64], NDArray[np.bool_]

K1, B = 1.2, 0.75

_MOST_WORDS = 16
"""The most words of a question, without stop words; a question with more is a pasted page."""

_LEAST_IDF = 1e-6
"""The weight of a word in more than half of all texts: little, but more than a missing word's."""


@dataclass(frozen=True)
class TermPart:
    """A segment, and which of its rows (n,) belong to notes that still exist. `counted`: the rows that frequencies are
    taken from; None for all living rows."""

    segment: PostingSegment
    alive: NDArray[np.bool_]
    counted: NDArray[np.bool_] | None = None

    @property
    def counted_rows(self) -> NDArray[np.bool_]:
        return self.alive if self.counted is None else self.counted

    @cached_property
    def counted_sections(self) -> NDArray[np.bool_]:
        """(m,): which sections have a counted row."""
        found = np.zeros(len(self.segment.place_lengths), dtype=np.bool_)
        found[self.segment.sections[self.counted_rows]] = True
        return found


@dataclass(frozen=True)
class TermCorpus:
    """All words of a generation at one moment. The parts are in order of their ids."""

    parts: Sequence[TermPart] = ()
    _counting: dict[int, TermCorpus] = field(default_factory=dict[int, "TermCorpus"], compare=False, repr=False)

    @property
    def rows(self) -> int:
        """The number of rows, including dead rows."""
        return sum(part.segment.rows for part in self.parts)

    @cached_property
    def chunks(self) -> NDArray[np.int64]:
        """(n,): the ids of all rows, including dead ones, ascending."""
        return _joined([part.segment.chunks for part in self.parts], np.int64)

    @cached_property
    def section_chunks(self) -> NDArray[np.int64]:
        """(m,): the id of each section's first row."""
        return self.chunks[self.section_starts[:-1]]

    @cached_property
    def section_starts(self) -> NDArray[np.int64]:
        """(m + 1,): section s has the rows from `[s]` to before `[s + 1]`."""
        starts, before = [np.zeros(1, dtype=np.int64)], 0
        for part in self.parts:
            starts.append(part.segment.section_starts[1:] + before)
            before += part.segment.rows
        return np.concatenate(starts)

    def counting(self, counts: Callable[[Ids], Mask], token: int) -> TermCorpus:
        """Return the same words with the frequencies of only these chunks; remembered for the index's latest token."""
        if (known := self._counting.get(token)) is None:
            parts = [replace(part, counted=part.alive & counts(part.segment.chunks)) for part in self.parts]
            known = TermCorpus(parts)
            self._counting.clear()
            self._counting[token] = known
        return known

    def score_chunks(self, keys: Iterable[int]) -> NDArray[np.float32]:
        """Return (n,): the score of each row; 0 where no key occurs."""
        scores = self._scores(keys, self._chunk_scale, lambda part, key: part.segment.around(key))
        return _joined(scores, np.float32)

    def score_sections(self, keys: Iterable[int]) -> NDArray[np.float32]:
        """Return (m,): the score of each section; 0 where no key occurs."""
        scores = self._scores(keys, self._section_scale, lambda part, key: (slice(None), part.segment.in_sections(key)))
        return _joined(scores, np.float32)

    def count_shared(self, keys: Sequence[int]) -> NDArray[np.float32]:
        """Return (n,): how many of the keys each row has in itself."""
        wanted = np.array(keys, dtype=np.uint64)
        times = [np.bincount(part.segment.own.rows_of_any(wanted), minlength=part.segment.rows) for part in self.parts]
        return _joined([count.astype(np.float32) for count in times], np.float32)

    def sections(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (n,): a number for the section of each chunk; −1 for a chunk that is not here."""
        found = np.full(len(chunk_ids), -1, dtype=np.int64)
        before = 0
        for part in self.parts:
            segment = part.segment
            at = np.searchsorted(segment.chunks, chunk_ids)
            here = at < segment.rows
            here[here] = segment.chunks[at[here]] == chunk_ids[here]
            found[here] = before + segment.sections[at[here]]
            before += len(segment.place_lengths)
        return found

    def commonest(self, keys: NDArray[np.uint64]) -> int | None:
        """Return the place of the key that is in the most chunks, the first of equals; None if no key occurs."""
        counts = {int(at): self.frequency([int(keys[at])]) for at in np.flatnonzero(self.contains(keys))}
        best = max(counts, key=lambda at: (counts[at], -at), default=None)
        return best if best is not None and counts[best] else None

    def contains(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return (n,): whether each of the keys is in any row, including dead ones."""
        here = np.zeros(len(keys), dtype=np.bool_)
        for part in self.parts:
            here |= part.segment.own.contains(keys)
        return here

    def frequency(self, keys: Sequence[int], admitted: Callable[[Ids], Mask] | None = None) -> int:
        """Count the `admitted` chunks in which all keys occur."""
        return sum(_holding(part, keys, admitted) for part in self.parts) if keys else 0

    def count(self, admitted: Callable[[Ids], Mask]) -> int:
        """Count the admitted chunks."""
        return sum(int(np.count_nonzero(part.alive & admitted(part.segment.chunks))) for part in self.parts)

    @cached_property
    def _chunk_scale(self) -> _Scale:
        return _scale([(part.segment.around_lengths, part.counted_rows) for part in self.parts])

    @cached_property
    def _section_scale(self) -> _Scale:
        return _scale([(part.segment.section_lengths, part.counted_sections) for part in self.parts])

    def _scores(
        self, keys: Iterable[int], scale: _Scale, look: Callable[[TermPart, int], tuple[Some, NDArray[np.float32]]]
    ) -> list[NDArray[np.float32]]:
        scores = [np.zeros(len(damping), dtype=np.float32) for damping in scale.damping]
        for key in keys:
            found = [look(part, key) for part in self.parts]
            holding = sum(
                int(np.count_nonzero(np.logical_and(times, counted[some])))
                for (some, times), counted in zip(found, scale.counted, strict=True)
            )
            weight = np.float32((K1 + 1) * _idf(holding, scale.total))
            for (some, times), score, damping in zip(found, scores, scale.damping, strict=True):
                worth = weight * times
                worth /= times + damping[some]  # in place: fresh megabytes cost as much as the sums
                score[some] += worth
        return scores


def ceiling(frequencies: Collection[int], chunks: int) -> float:
    """Return the limit of the score of a chunk that repeats all words of a question; 0 for a long question, all of
    whose words no chunk has. `frequencies`: in how many of all `chunks` each word occurs."""
    if len(frequencies) > _MOST_WORDS:
        return 0.0
    return sum((K1 + 1) * _idf(frequency, chunks) for frequency in frequencies)


class _Scale(NamedTuple):
    """The effect of a text's length on its score: for each part `damping`, k1 · (1 − b + b · length / mean length)."""

    damping: list[NDArray[np.float32]]
    counted: list[NDArray[np.bool_]]
    total: int


def _scale(parts: Sequence[tuple[NDArray[np.float32], NDArray[np.bool_]]]) -> _Scale:
    counted = [mask for _, mask in parts]
    total = sum(int(np.count_nonzero(mask)) for mask in counted)
    # Lengths are whole numbers, so their sum does not depend on their order.
    mean = sum(float(lengths[mask].sum(dtype=np.float64)) for lengths, mask in parts) / total if total else 0.0
    damping = [K1 * (1 - B) + K1 * B * (lengths / mean if mean else lengths) for lengths, _ in parts]
    return _Scale([part.astype(np.float32) for part in damping], counted, total)


def _joined(arrays: list[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    """Join all arrays; a single array is not copied."""
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate([np.empty(0, dtype=kind), *arrays])


def _idf(holding: int, total: int) -> float:
    return max(math.log((max(total, holding) - holding + 0.5) / (holding + 0.5)), _LEAST_IDF)


def _holding(part: TermPart, keys: Sequence[int], admitted: Callable[[Ids], Mask] | None) -> int:
    rows = part.segment.own.rows_and_counts(keys[0])[0]
    for key in keys[1:]:
        rows = np.intersect1d(rows, part.segment.own.rows_and_counts(key)[0], assume_unique=True)
    held = part.alive[rows]
    return int(np.count_nonzero(held & admitted(part.segment.chunks[rows]) if admitted else held))
