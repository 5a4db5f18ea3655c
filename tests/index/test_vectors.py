"""The vector retriever's scan: what is gathered first, and what is compared where it lies."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from mcp_memory.index.sqlite.note_filter import AdmittedNotes
from mcp_memory.index.sqlite.schema import ORDINAL_BITS
from mcp_memory.index.vectors.store import nearest
from mcp_memory.index.vectors.vector_block import VectorBlock

RNG = np.random.default_rng(5)


MIDDLES = RNG.normal(size=(60, 384))


def some_vectors(count: int) -> np.ndarray:
    """Around some middles, as the passages of a subject are."""
    near = MIDDLES[RNG.integers(0, len(MIDDLES), count)] + RNG.normal(scale=0.7, size=(count, 384))
    return np.clip(near * 40, -127, 127).astype(np.int8)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_signs_find_the_nearest_however_vectors_are_divided_among_blocks(share: float) -> None:
    vectors, ids = some_vectors(3000), np.arange(3000, dtype=np.int64) << ORDINAL_BITS
    admitted = AdmittedNotes(RNG.random(3000) < share)
    whole = VectorBlock(ids, vectors)
    cuts = [0, 2000, 2000, 2700, 3000]
    divided = [VectorBlock(ids[a:b], vectors[a:b]) for a, b in pairwise(cuts)]
    missed = 0
    for query in some_vectors(20)[:, None, :]:
        (found,) = nearest([whole], query, 400, admitted)
        assert 400 <= len(found.ids) < 600
        assert admitted.mask(found.ids).all()
        parts = nearest(divided, query, 400, admitted)
        assert [chunk for part in parts for chunk in part.ids] == found.ids.tolist()
        best = np.argsort(-whole.cosines(query)[admitted.table])[:10]
        missed += len(set(ids[admitted.table][best].tolist()) - set(found.ids.tolist()))
    assert missed == 0
