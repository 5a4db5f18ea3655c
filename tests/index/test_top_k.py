"""The best rows: however many there are and whoever is admitted, those that sorting all of them would give."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from mcp_memory.index.sqlite.note_filter import AdmittedNotes
from mcp_memory.index.sqlite.schema import ORDINAL_BITS
from mcp_memory.index.vectors.store import best

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("rows", [0, 1, 300, 40_007])
@pytest.mark.parametrize("k", [0, 1, 200, 1000, 100_000])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.02, 0.9, 1.0])
@pytest.mark.parametrize("shape", ["spread", "few values", "mostly zero", "one block is best"])
def test_they_are_those_of_sorting_all(rows: int, k: int, share: float, shape: str) -> None:
    ids = RNG.permutation(rows).astype(np.int64) << ORDINAL_BITS
    scores = RNG.random(rows, dtype=np.float32)
    match shape:
        case "few values":
            scores = np.round(scores * 4)
        case "mostly zero":
            scores[RNG.random(rows) < 0.999] = 0
        case "one block is best":
            scores[: rows // 20] += 1
        case _:
            pass
    admitted = AdmittedNotes(RNG.random(rows) < share)
    for above in (-inf, 0.0):
        found = best(k, ids, scores, admitted, above=above)
        keep = admitted.mask(ids) & (scores > above)
        expected = sorted(zip((-scores[keep]).tolist(), ids[keep].tolist(), strict=True))[:k]
        assert found.ids.tolist() == [chunk for _, chunk in expected]
        assert found.scores.tolist() == [-score for score, _ in expected]
