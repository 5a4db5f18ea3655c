"""Store which rows contain a key, and how often, in immutable arrays sorted by key and then by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

MOST = 255
"""The most often that a word counts in one row; beyond that BM25 shows no difference."""

_AT_ONCE = 1 << 18
"""The postings copied in one call, during which no other thread can run: about 2 ms."""


@dataclass(frozen=True)
class Postings:
    """Postings sorted by key: `rows[starts[t]:starts[t + 1]]` are the rows of `keys[t]`, ascending, with their
    `counts`."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]
    counts: NDArray[np.uint8]

    def rows_and_counts(self, key: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """Return rows and counts of one key; empty if it does not occur."""
        at = int(np.searchsorted(self.keys, np.uint64(key)))
        if at == len(self.keys) or self.keys[at] != key:
            return self.rows[:0], self.counts[:0]
        span = slice(int(self.starts[at]), int(self.starts[at + 1]))
        return self.rows[span], self.counts[span]

    def contains(self, keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return (n,): whether each of the keys occurs at all."""
        at = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        return self.keys[at] == keys if len(self.keys) else np.zeros(len(keys), dtype=np.bool_)

    def rows_of_any(self, keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Return the rows of all these keys, concatenated: a row comes once for each key that it has."""
        at = np.searchsorted(self.keys, keys)
        known = at < len(self.keys)
        known[known] = self.keys[at[known]] == keys[known]
        starts = self.starts[at[known]]
        sizes = self.starts[at[known] + 1] - starts
        return self.rows[stretches(starts, sizes)]


def stretches(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranges from each start, of the given sizes, concatenated."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))


def collect(keys: NDArray[np.uint64], rows: NDArray[np.uint32], counts: NDArray[np.uint8]) -> Postings:
    """Collect one posting for each element; the rows of one key must be ascending."""
    # A stable argsort. Sorting numbers is several times as fast as sorting their places, so each place is put into the
    # lower bits of its key. If two keys differ only in those bits, this falls back to `argsort`.
    places = np.uint64((1 << len(keys).bit_length()) - 1)
    packed = (keys & ~places) | np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    order = (packed & places).astype(np.intp)
    ordered = keys[order]
    if (ordered[1:] < ordered[:-1]).any():
        order = np.argsort(keys, kind="stable")
    return Postings(*_spans(keys[order], np.arange(len(keys)), len(keys)), rows[order], counts[order])


def join(parts: Sequence[tuple[Postings, NDArray[np.int64]]]) -> Postings:
    """Join all parts. With each part comes the new number of each of its rows, −1 for a dropped row."""
    keys: list[NDArray[np.uint64]] = []
    sizes: list[NDArray[np.int64]] = []
    most = sum(len(part.rows) for part, _ in parts)
    rows, counts, end = np.empty(most, dtype=np.uint32), np.empty(most, dtype=np.uint8), 0
    for part, renumbered in parts:
        moved, held, counted = renumbered[part.rows], np.diff(part.starts), part.counts
        if (renumbered < 0).any():
            kept = moved >= 0
            held = np.diff(np.concatenate([[0], np.cumsum(kept)])[part.starts])
            moved, counted = moved[kept], counted[kept]
        keys.append(part.keys[held > 0])
        sizes.append(held[held > 0])
        rows[end : end + len(moved)], counts[end : end + len(moved)] = moved, counted
        end += len(moved)
    return _merged(np.concatenate(keys), np.concatenate(sizes), rows[:end], counts[:end])


def _merged(
    keys: NDArray[np.uint64], sizes: NDArray[np.int64], rows: NDArray[np.uint32], counts: NDArray[np.uint8]
) -> Postings:
    """Merge stretches of `sizes` postings, each of one key; stretches of the same key come in the order of their rows.
    Sorting and copying whole stretches takes a fifth of the time of single postings."""
    order = np.argsort(keys, kind="stable")
    starts = (np.cumsum(sizes) - sizes)[order]
    keys, sizes = keys[order], sizes[order]
    ends = np.cumsum(sizes)
    merged = Postings(*_spans(keys, ends - sizes, len(rows)), np.empty_like(rows), np.empty_like(counts))
    cuts = np.unique(np.searchsorted(ends, np.arange(0, len(rows), _AT_ONCE))).tolist()
    for some, until in pairwise([*cuts, len(keys)]):
        found = stretches(starts[some:until], sizes[some:until])
        to = slice(int(ends[until - 1]) - len(found), int(ends[until - 1]))
        merged.rows[to], merged.counts[to] = rows[found], counts[found]
    return merged


def _spans(
    ordered: NDArray[np.uint64], starts: NDArray[np.int64], end: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return each key once, and where its postings start, then where all end. `starts`: the start of each of
    `ordered`."""
    if not len(ordered):
        return ordered, np.zeros(1, dtype=np.int64)
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[first], np.append(starts[first], end)
