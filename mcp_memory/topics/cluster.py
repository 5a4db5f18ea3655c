"""Groups vectors by average linkage of their cosines, no group larger than a limit.

Written by hand because scipy's would add 37 MB to a daemon that promises 250; a test compares the two. The nearest
neighbor chain (Murtagh 1983) finds the same groups as the textbook algorithm, in quadratic time and memory; so more
than `BLOCK` vectors are first divided by two-means into blocks, and each is grouped by itself.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Matrix = NDArray[np.float32]

BLOCK = 2048
"""Vectors that are all compared with one another: 17 MB of cosines."""

_ROUNDS = 5
_LEAST_SHARE = 1 / 8
"""The smaller half of a division has at least this share: crumbs neither make a topic nor get the division ahead."""


def clusters(vectors: Matrix, rows: Sequence[int], *, least_cosine: float, most: int) -> list[list[int]]:
    """Groups `rows` of `vectors` (n, dimension), of length 1 or less; single rows are groups too.

    Two groups are joined while the mean cosine between their vectors is at least `least_cosine` and both together have
    at most `most` rows. Rows that found all groups near them full split the nearest one.
    """
    groups: list[list[int]] = []
    for block in _divided(vectors, np.array(rows, dtype=np.int64), BLOCK):
        here = vectors[block]
        joined = [np.array(sorted(group), dtype=np.int64) for group in linked(here, least_cosine, most)]
        groups += [block[group].tolist() for group in _without_crumbs(here, joined, least_cosine, most)]
    return groups


def total(vectors: Matrix, rows: Sequence[int] | Rows) -> Matrix:
    """The sum of the rows, (dimension,), without a copy of them all."""
    found = np.zeros(vectors.shape[1], dtype=np.float32)
    for at in range(0, len(rows), BLOCK):
        found += vectors[rows[at : at + BLOCK]].sum(axis=0)
    return found


def unit(vector: Matrix) -> Matrix:
    """At length 1; 0 stays 0."""
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def linked(vectors: Matrix, least_cosine: float, most: int) -> Iterator[list[int]]:
    """Groups that are too large together count as infinitely far apart: joining two never brings them closer to a
    third, which is all that the chain needs."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    sizes = np.ones(len(vectors), dtype=np.int64)
    if most < 2:
        cosines[:] = -np.inf
    groups = {at: [at] for at in range(len(vectors))}
    chain: list[int] = []
    for start in range(len(vectors)):
        while start in groups:
            if not chain:
                chain.append(start)
            last = chain[-1]
            near = int(np.argmax(cosines[last]))
            if cosines[last, near] < least_cosine:
                # Along a chain cosines grow, so it is the chain's only one; and merges of others bring nothing nearer.
                yield groups.pop(chain.pop())
                cosines[:, last] = -np.inf
            elif len(chain) > 1 and cosines[last, chain[-2]] >= cosines[last, near]:
                # Of equals the one before it in the chain, else two that are as near to a third would never merge.
                one, other = sorted((chain.pop(), chain.pop()))
                _merge(cosines, one, other, len(groups[one]), len(groups[other]))
                groups[one] += groups.pop(other)
                sizes[one] = len(groups[one])
                full = sizes + sizes[one] > most
                cosines[one, full] = cosines[full, one] = -np.inf
            else:
                chain.append(near)


def _merge(cosines: Matrix, one: int, other: int, weight: int, other_weight: int) -> None:
    """`one` becomes both, `other` nothing."""
    share = weight / (weight + other_weight)
    together = cosines[one] * share + cosines[other] * (1 - share)
    # Rounding must not make the two together nearer to a third than each was: the chain relies on it.
    np.minimum(together, np.maximum(cosines[one], cosines[other]), out=together)
    together[one] = together[other] = -np.inf
    cosines[one] = cosines[:, one] = together
    cosines[other] = cosines[:, other] = -np.inf


def _without_crumbs(vectors: Matrix, groups: Sequence[Rows], least_cosine: float, most: int) -> list[Rows]:
    """Merges groups that are small only because the one that they fit is full."""
    whole = [group for group in groups if len(group) > most * _LEAST_SHARE]
    crumbs = [group for group in groups if len(group) <= most * _LEAST_SHARE]
    if not whole:
        return crumbs
    middles = _middles(vectors, whole)
    kept: list[Rows] = []
    for crumb in crumbs:
        fits = middles @ _middles(vectors, [crumb])[0]
        best = int(np.argmax(fits))
        if fits[best] >= least_cosine:
            whole += _divided(vectors, np.sort(np.concatenate([whole.pop(best), crumb])), most)
            middles = _middles(vectors, whole)
        else:
            kept.append(crumb)
    return whole + kept


def _middles(vectors: Matrix, groups: Sequence[Rows]) -> Matrix:
    """The mean of each group's vectors: the product of two is the mean cosine between them."""
    return np.stack([vectors[group].mean(axis=0) for group in groups])


def _divided(vectors: Matrix, rows: Rows, most: int) -> Iterator[Rows]:
    """Parts of at most `most` rows, near ones together."""
    waiting = [rows]
    while waiting:
        some = waiting.pop()
        if len(some) <= most:
            yield some
        else:
            waiting += halves(vectors, some)


def halves(vectors: Matrix, rows: Rows) -> tuple[Rows, Rows]:
    """Two-means, starting at the row farthest from the middle and the row farthest from that one."""
    one = vectors[rows[int(np.argmin(_along(vectors, rows, unit(total(vectors, rows)))))]]
    other = vectors[rows[int(np.argmin(_along(vectors, rows, one)))]]
    belongs = np.zeros(len(rows), dtype=bool)
    for _ in range(_ROUNDS):
        leaning = _along(vectors, rows, one - other)
        belongs = leaning > 0
        least = math.ceil(len(rows) * _LEAST_SHARE)
        if not least <= np.count_nonzero(belongs) <= len(rows) - least:
            belongs[:] = False
            belongs[np.argsort(-leaning, kind="stable")[: len(rows) // 2]] = True
        one, other = unit(total(vectors, rows[belongs])), unit(total(vectors, rows[~belongs]))
    return rows[belongs], rows[~belongs]


def _along(vectors: Matrix, rows: Rows, direction: Matrix) -> Matrix:
    """The products of the rows with a vector, without a copy of them all."""
    return np.concatenate([vectors[rows[at : at + BLOCK]] @ direction for at in range(0, len(rows), BLOCK)])
