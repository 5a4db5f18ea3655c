"""Picks the best rows by score."""

from math import inf

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.base import ScoredRows
from mcp_memory.index.sqlite.note_filter import AdmittedNotes

MANY = 8192
"""The number of rows from which they are sampled first."""

_STRIDE = 16
_MARGIN = 2
"""The sample sets the bar so that this many times the wanted rows should be above it."""


def best(
    k: int,
    ids: NDArray[np.int64],
    scores: NDArray[np.float32],
    admitted: AdmittedNotes | None = None,
    *,
    above: float = -inf,
) -> ScoredRows:
    """Return the k admitted rows with the highest scores, all higher than `above`; ties by id, however the rows are
    laid out."""
    rows = among_best(k, ids, scores, admitted, above=above)
    ids, scores = ids[rows], scores[rows]
    order = np.lexsort((ids, -scores))[: max(k, 0)]
    return ScoredRows(ids[order], scores[order])


def among_best(
    k: int,
    ids: NDArray[np.int64],
    scores: NDArray[np.float32],
    admitted: AdmittedNotes | None = None,
    *,
    above: float = -inf,
) -> NDArray[np.intp]:
    """Return the places of the rows of `best`, ascending, and of all that tie with the last of them."""
    rows = _likely(k, scores, above) if len(ids) >= MANY else None
    if rows is not None and admitted:
        rows = rows[admitted.mask(ids[rows])]
    if rows is None or len(rows) < k:
        keep = scores > above
        if admitted:
            keep &= admitted.mask(ids)
        rows = np.flatnonzero(keep)
    if len(rows) > k > 0:
        found = scores[rows]
        rows = rows[found >= np.partition(found, len(rows) - k)[len(rows) - k]]
    return rows


def _likely(k: int, scores: NDArray[np.float32], above: float) -> NDArray[np.intp] | None:
    """Return every row above a bar that somewhat more than k rows should reach; None if there is no such bar. Finding
    the k-th of 100,000 takes a millisecond, and so does checking for each whether it is admitted."""
    sample = scores[::_STRIDE]
    at = len(sample) - _MARGIN * k // _STRIDE - 1
    if at < 0:
        return None
    bar = np.partition(sample, at)[at]
    return np.flatnonzero(scores >= bar) if bar > above else None
