"""A segment: the words of some notes, laid out for ranking. Immutable; a generation has a few of them.

Terms. ROW: a chunk, in order of its id, so that a note's chunks stand together. PLACE: the words that stand above a
section (title, tags, headings); each chunk of the section is searched as if they stood in it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.index.postings import Postings, join

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Some = slice | NDArray[np.intp]
    """Rows: all of them, or these."""

OWN_WEIGHT = 2
"""A chunk's own words count twice, those of its neighbours and its place once."""

REACH = (1, 2)
"""How far away on each side a neighbour's words still count."""

_DENSE_SHARE = 50
"""A word in more than one row of so many is added up over all rows at once; gathering costs that much more a row."""


@dataclass(frozen=True)
class Segment:
    """`chunks` (n,): ids, ascending. `lengths` (n,): words of each. `sections` (n,): which of the m sections each
    stands in, ascending. `place_lengths` (m,): words above each. `own`, `place`: postings of rows and of sections."""

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
    def around_lengths(self) -> NDArray[np.float32]:
        """(n,): each chunk's length, counted like the words of `around`."""
        return self._spread(self.lengths.astype(np.float32)) + self.place_lengths[self.sections]

    @cached_property
    def section_lengths(self) -> NDArray[np.float32]:
        """(m,): words of a section's chunks, and above it."""
        own = np.bincount(self.sections, weights=self.lengths, minlength=len(self.place_lengths))
        return (own + self.place_lengths).astype(np.float32)

    def around(self, key: int) -> tuple[Some, NDArray[np.float32]]:
        """How often a chunk has the key in itself, beside it and above it: for all rows, or for those that do."""
        rows, counts = self.own.of(key)
        places, above = self.place.of(key)
        in_place = int((self._section_starts[places + 1] - self._section_starts[places]).sum())
        if (len(rows) + in_place) * _DENSE_SHARE > self.rows:
            dense = np.zeros(self.rows, dtype=np.float32)
            dense[rows] = counts
            dense = self._spread(dense)
            if in_place:
                by_section = np.zeros(len(self.place_lengths), dtype=np.float32)
                by_section[places] = above
                dense += by_section[self.sections]
            return slice(None), dense
        return self._gathered(rows.astype(np.intp), counts, places, above)

    def in_sections(self, key: int) -> NDArray[np.float32]:
        """(m,): how often each section has the key in its chunks and above them."""
        rows, counts = self.own.of(key)
        places, above = self.place.of(key)
        found = np.bincount(self.sections[rows], weights=counts, minlength=len(self.place_lengths)).astype(np.float32)
        found[places] += above
        return found

    # -- inside ------------------------------------------------------------------------------------------------
    @cached_property
    def _section_starts(self) -> NDArray[np.int64]:
        """(m + 1,): section s has the rows from `[s]` to before `[s + 1]`."""
        return np.searchsorted(self.sections, np.arange(len(self.place_lengths) + 1))

    @cached_property
    def _together(self) -> list[NDArray[np.bool_]]:
        """For each distance of REACH, whether row r and row r + distance are of one note."""
        return [self.chunks[far:] - self.chunks[:-far] == far for far in REACH]

    def _spread(self, own: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n,): each row's own number, and those of its neighbours."""
        total = OWN_WEIGHT * own
        for far, together in zip(REACH, self._together, strict=True):
            total[far:] += own[:-far] * together
            total[:-far] += own[far:] * together
        return total

    def _gathered(
        self,
        rows: NDArray[np.intp],
        counts: NDArray[np.uint8],
        places: NDArray[np.uint32],
        above: NDArray[np.uint8],
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        found, times = [rows], [OWN_WEIGHT * counts.astype(np.float32)]
        for far, together in zip(REACH, self._together, strict=True):
            inside = rows >= far
            inside[inside] = together[rows[inside] - far]
            found.append(rows[inside] - far)
            times.append(counts[inside].astype(np.float32))
            inside = rows < self.rows - far
            inside[inside] = together[rows[inside]]
            found.append(rows[inside] + far)
            times.append(counts[inside].astype(np.float32))
        for place, count in zip(places.tolist(), above.tolist(), strict=True):
            span = np.arange(int(self._section_starts[place]), int(self._section_starts[place + 1]))
            found.append(span)
            times.append(np.full(len(span), count, dtype=np.float32))
        some, at = np.unique(np.concatenate(found), return_inverse=True)
        return some, np.bincount(at, weights=np.concatenate(times)).astype(np.float32)


def merged(parts: Sequence[tuple[Segment, NDArray[np.bool_]]]) -> Segment:
    """All rows of the parts that are alive, as one; the parts in order of their ids."""
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
    return Segment(
        np.concatenate(chunks),
        np.concatenate(lengths),
        np.concatenate(sections),
        np.concatenate(places),
        join(own),
        join(place),
    )


def _renumbered(kept: NDArray[np.bool_], first: int) -> NDArray[np.int64]:
    """For each row its number among those that are kept, from `first` on; −1 for one that is not."""
    return np.where(kept, np.cumsum(kept) - 1 + first, -1)
