"""Postings joined, many at once."""

from __future__ import annotations

import numpy as np

from mcp_memory.index.keywords.postings import Postings, collect, join


def test_more_postings_than_are_copied_at_once() -> None:
    size = 1 << 21
    often = Postings(*(np.array(each, dtype=kind) for each, kind in (([3], "u8"), ([0, size], "i8"))),
                     np.arange(size, dtype=np.uint32), np.ones(size, dtype=np.uint8))  # fmt: skip
    keys, rows, counts = np.array([1, 3, 5], np.uint64), np.array([0, 1, 1], np.uint32), np.array([7, 9, 11], np.uint8)
    rare = collect(keys, rows, counts)
    rows = np.arange(size)
    found = join([(often, rows), (rare, rows[:2] + size)])
    assert [found.rows_and_counts(key)[0].tolist() for key in (1, 5)] == [[size], [size + 1]]
    assert np.array_equal(found.rows_and_counts(3)[0], [*rows, size + 1]) and found.rows_and_counts(3)[1][-1] == 9
