"""Postings: in which rows a key occurs, and how often. Immutable arrays, sorted by key and then by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 255
"""A word counts at most so often in one row: beyond that BM25 tells no difference."""


@dataclass(frozen=True, slots=True)
class Postings:
    """`rows[starts[t]:starts[t + 1]]` are the rows of `keys[t]`, ascending; `counts` beside them."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]
    counts: NDArray[np.uint8]

    def of(self, key: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """Rows and counts of one key; empty where it does not occur."""
        at = int(np.searchsorted(self.keys, np.uint64(key)))
        if at == len(self.keys) or self.keys[at] != key:
            return self.rows[:0], self.counts[:0]
        span = slice(int(self.starts[at]), int(self.starts[at + 1]))
        return self.rows[span], self.counts[span]

    def known(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """(n,): whether each of the keys occurs at all."""
        at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        return self.keys[at] == keys if len(self.keys) else np.zeros(len(keys), dtype=np.bool_)

    def of_any(self, keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """The rows of all these keys, one after the other: a row comes once for each key that it has."""
        at = np.searchsorted(self.keys, keys)
        known = at < len(self.keys)
        known[known] = self.keys[at[known]] == keys[known]
        starts = self.starts[at[known]]
        sizes = self.starts[at[known] + 1] - starts
        return self.rows[stretches(starts, sizes)]


def stretches(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each start so many numbers from there on, one stretch behind the other."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))


def collect(keys: NDArray[np.uint64], rows: NDArray[np.uint32], counts: NDArray[np.uint8]) -> Postings:
    """One posting an element; those of one key must come with their rows ascending."""
    # Where whole sorted stretches are joined, a stable sort is a merge: linear in the number of postings.
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else order
    starts = np.append(first, len(ordered)).astype(np.int64)
    return Postings(ordered[first], starts, rows[order], counts[order])


def join(parts: Sequence[tuple[Postings, NDArray[np.int64]]]) -> Postings:
    """All parts as one. Beside each part: the new number of each of its rows, −1 for a row that is left out."""
    keys: list[NDArray[np.uint64]] = []
    rows: list[NDArray[np.uint32]] = []
    counts: list[NDArray[np.uint8]] = []
    for part, renumbered in parts:
        moved = renumbered[part.rows]
        kept = moved >= 0
        keys.append(np.repeat(part.keys, np.diff(part.starts))[kept])
        rows.append(moved[kept].astype(np.uint32))
        counts.append(part.counts[kept])
    return collect(np.concatenate(keys), np.concatenate(rows), np.concatenate(counts))
