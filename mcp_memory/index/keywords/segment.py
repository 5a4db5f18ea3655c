"""Lay out the words of some notes for ranking. Immutable; a generation has a few segments.

Terms. ROW: a chunk, in order of its id, so that a note's chunks are adjacent. PLACE: the words above a section (title,
tags, headings); each chunk of the section is searched as if it contained them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.keywords.postings import Postings, join, stretches

Some = slice | NDArray[np.intp]
"""All rows, or the rows with these numbers."""

_Counted = tuple[NDArray[np.intp], NDArray[Any]]
"""Distinct numbers of rows or sections, and a count for each."""

OWN_WEIGHT = 2
"""The weight of a chunk's own words; the words of its neighbors and its place have weight 1."""

REACH = (1, 2)
"""The distances on each side at which a neighbor's words are included."""

_DENSE_SHARE = 50
"""The rows per occurrence: a more frequent word is summed over all rows, since single rows cost that much more each."""


@dataclass(frozen=True)
class PostingSegment:
    """The words of notes. `chunks` (n,): ids, ascending. `lengths` (n,): words of each. `sections` (n,): which of the m
    sections each is in, ascending. `place_lengths` (m,): words above each. `own`, `place`: postings of rows and of
    sections."""

    chunks: NDArray[np.int64]
    lengths: NDArray[np.uint32]
    sections: NDArray[np.uint32]
    place_lengths: NDArray[np.uint32]
    own: Postings
    place: Postings

    @property
    def rows(self) -> int:
        return len(self.chunks)

    @cached_property
    def section_starts(self) -> NDArray[np.int64]:
        """(m + 1,): section s has the rows from `[s]` to before `[s + 1]`."""
        return np.searchsorted(self.sections, np.arange(len(self.place_lengths) + 1))

    @cached_property
    def around_lengths(self) -> NDArray[np.float32]:
        """(n,): each chunk's length, counted as in `around`."""
        around = self._spread(self.lengths.astype(np.float32)) + self.place_lengths[self.sections]
        return around.astype(np.float32)

    @cached_property
    def section_lengths(self) -> NDArray[np.float32]:
        """(m,): the words in a section's chunks and above it."""
        own = np.bincount(self.sections, weights=self.lengths, minlength=len(self.place_lengths))
        return (own + self.place_lengths).astype(np.float32)

    def around(self, key: int) -> tuple[Some, NDArray[np.float32]]:
        """Count how often the key occurs in, beside and above a chunk: for all rows, or for the rows where it does."""
        rows, counts = self.own.rows_and_counts(key)
        places, above = self.place.rows_and_counts(key)
        sizes = self.section_starts[places + 1] - self.section_starts[places]
        if (len(rows) + int(sizes.sum())) * _DENSE_SHARE > self.rows:
            own = np.zeros(self.rows, dtype=np.uint16)
            own[rows] = counts
            total = self._spread(own)
            if len(places):
                by_section = np.zeros(len(self.place_lengths), dtype=np.uint16)
                by_section[places] = above
                total += by_section[self.sections]
            return slice(None), total.astype(np.float32)
        below = stretches(self.section_starts[places], sizes), np.repeat(above, sizes)
        return _summed(self.rows, [*self._beside(rows.astype(np.intp), counts), below])

    def in_sections(self, key: int) -> NDArray[np.float32]:
        """Return (m,): how often each section has the key in its chunks and above them."""
        rows, counts = self.own.rows_and_counts(key)
        places, above = self.place.rows_and_counts(key)
        found = np.bincount(self.sections[rows], weights=counts, minlength=len(self.place_lengths)).astype(np.float32)
        found[places] += above
        return found

    # -- inside ------------------------------------------------------------------------------------------------
    @cached_property
    def _together(self) -> list[NDArray[np.uint16]]:
        """For each distance of REACH, 1 if row r and row r + distance are of the same note, else 0."""
        return [(self.chunks[far:] - self.chunks[:-far] == far).astype(np.uint16) for far in REACH]

    def _spread(self, own: NDArray[Any]) -> NDArray[Any]:
        """Return (n,): for each row the weighted sum of its own number and its neighbors', in the same type."""
        total = own * own.dtype.type(OWN_WEIGHT)
        near = np.empty_like(own)
        for far, together in zip(REACH, self._together, strict=True):
            beside = near[far:]
            total[far:] += np.multiply(own[:-far], together, out=beside)
            total[:-far] += np.multiply(own[far:], together, out=beside)
        return total

    def _beside(self, rows: NDArray[np.intp], counts: NDArray[np.uint8]) -> Iterator[_Counted]:
        """Yield the counts that `_spread` would add up, for some rows: each of the results has a row once."""
        yield rows, OWN_WEIGHT * counts.astype(np.float32)
        for far, together in zip(REACH, self._together, strict=True):
            before = rows >= far
            before[before] = together[rows[before] - far] == 1
            yield rows[before] - far, counts[before]
            behind = rows < self.rows - far
            behind[behind] = together[rows[behind]] == 1
            yield rows[behind] + far, counts[behind]


def _summed(size: int, counted: Iterable[_Counted]) -> _Counted:
    """Return each number below `size` that occurs, once, with the sum of its counts."""
    parts = list(counted)
    total = np.zeros(size, dtype=np.float32)
    for numbers, counts in parts:
        total[numbers] += counts
    some: list[NDArray[np.intp]] = []
    times: list[NDArray[np.float32]] = []
    for numbers, _ in parts:
        sums = total[numbers]
        total[numbers] = 0  # taken
        some.append(numbers[sums > 0])
        times.append(sums[sums > 0])
    return np.concatenate(some), np.concatenate(times)


def merged(parts: Sequence[tuple[PostingSegment, NDArray[np.bool_]]]) -> PostingSegment:
    """Merge the living rows of all parts into one segment; the parts are in order of their ids."""
    chunks: list[NDArray[np.int64]] = []
    lengths: list[NDArray[np.uint32]] = []
    sections: list[NDArray[np.uint32]] = []
    places: list[NDArray[np.uint32]] = []
    own: list[tuple[Postings, NDArray[np.int64]]] = []
    place: list[tuple[Postings, NDArray[np.int64]]] = []
    rows_before = sections_before = 0
    for part, alive in parts:
        kept = np.zeros(len(part.place_lengths), dtype=np.bool_)
        kept[part.sections[alive]] = True
        row_numbers = _renumbered(alive, rows_before)
        section_numbers = _renumbered(kept, sections_before)
        chunks.append(part.chunks[alive])
        lengths.append(part.lengths[alive])
        sections.append(section_numbers[part.sections[alive]].astype(np.uint32))
        places.append(part.place_lengths[kept])
        own.append((part.own, row_numbers))
        place.append((part.place, section_numbers))
        rows_before += int(alive.sum())
        sections_before += int(kept.sum())
    return PostingSegment(
        np.concatenate(chunks),
        np.concatenate(lengths),
        np.concatenate(sections),
        np.concatenate(places),
        join(own),
        join(place),
    )


def _renumbered(kept: NDArray[np.bool_], first: int) -> NDArray[np.int64]:
    """Return for each row its number among the kept rows, starting at `first`; −1 for a dropped row."""
    return np.where(kept, np.cumsum(kept) - 1 + first, -1)
