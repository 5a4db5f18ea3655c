"""The best rows of a leg."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.index.base import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray


def best(k: int, ids: NDArray[np.int64], scores: NDArray[np.float32]) -> Rows:
    """The k rows with the highest scores, ties by id, however the rows are laid out."""
    if len(ids) > k > 0:
        # All that tie with the k-th stay in.
        threshold = np.partition(scores, len(ids) - k)[len(ids) - k]
        kept = np.flatnonzero(scores >= threshold)
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))[: max(k, 0)]
    return Rows(ids[order], scores[order])
