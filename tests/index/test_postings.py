"""Postings against the plain way of making them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.index.keywords.postings import Postings, collect, join

Posting = tuple[int, int, int]
"""Key, row, count."""

ALIKE = st.integers(0, 7).map(lambda low: (0xFEED << 48) | low)
"""Keys that differ in their lowest bits alone."""

KEYS = st.one_of(ALIKE, st.integers(0, 2**64 - 1))
ROWS = 12
postings = st.lists(st.dictionaries(KEYS, st.integers(1, 255), max_size=6), max_size=ROWS).map(
    lambda rows: [(key, row, count) for row, counts in enumerate(rows) for key, count in counts.items()]
)


def made(of: Sequence[Posting]) -> Postings:
    keys, rows, counts = (np.array([each[at] for each in of], dtype=kind) for at, kind in enumerate("QIB"))
    return collect(keys, rows, counts)


def listed(of: Postings) -> list[Posting]:
    keys = np.repeat(of.keys, np.diff(of.starts)).tolist()
    return list(zip(keys, of.rows.tolist(), of.counts.tolist(), strict=True))


@given(parts=st.lists(st.tuples(postings, st.lists(st.booleans(), min_size=ROWS, max_size=ROWS)), min_size=1))
def test_parts_are_joined_without_what_is_left_out(parts: list[tuple[list[Posting], list[bool]]]) -> None:
    before, given_to_join, left = 0, [], []
    for of, kept in parts:
        numbers = np.where(kept, np.cumsum(kept) - 1 + before, -1)
        given_to_join.append((made(of), numbers))
        left += [(key, int(numbers[row]), count) for key, row, count in of if kept[row]]
        before += sum(kept)
    found = join(given_to_join)
    assert listed(found) == sorted(left)
    assert found.keys.tolist() == sorted({key for key, _, _ in left})


def test_more_postings_than_are_copied_at_once() -> None:
    size = 1 << 21
    often = Postings(*(np.array(each, dtype=kind) for each, kind in (([3], "u8"), ([0, size], "i8"))),
                     np.arange(size, dtype=np.uint32), np.ones(size, dtype=np.uint8))  # fmt: skip
    rare = made([(1, 0, 7), (3, 1, 9), (5, 1, 11)])
    rows = np.arange(size)
    found = join([(often, rows), (rare, rows[:2] + size)])
    assert [found.rows_and_counts(key)[0].tolist() for key in (1, 5)] == [[size], [size + 1]]
    assert np.array_equal(found.rows_and_counts(3)[0], [*rows, size + 1]) and found.rows_and_counts(3)[1][-1] == 9
