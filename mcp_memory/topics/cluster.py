"""Groups notes with near vectors by average linkage, with a limit on the size of a group.

The clustering is written by hand because scipy's version would add 37 MB to a daemon that promises 250; a test
compares the two. The nearest neighbor chain (Murtagh 1983) finds the same groups as the textbook algorithm, in
quadratic time and memory. Each `BLOCK` of vectors is therefore grouped separately.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

BLOCK = 2048
"""The most vectors that are compared pairwise: 17 MB of cosines."""


def clusters(vectors: Matrix, rows: Sequence[int], *, least_cosine: float, most: int) -> list[list[int]]:
    """Group `rows` of `vectors` (n, dimension), of length 1 or less; single rows are groups too.

    Two groups are joined while the mean cosine between their vectors is at least `least_cosine` and both together have
    at most `most` rows."""
    groups: list[list[int]] = []
    for start in range(0, len(rows), BLOCK):
        block = np.array(rows[start : start + BLOCK], dtype=np.int64)
        here = vectors[block]
        groups += [block[sorted(group)].tolist() for group in linked(here @ here.T, least_cosine, most)]
    return groups


def mean(vectors: Matrix, rows: Sequence[int]) -> Matrix:
    """Return the mean of the rows, (dimension,), without copying them all."""
    found = np.zeros(vectors.shape[1], dtype=np.float32)
    for at in range(0, len(rows), BLOCK):
        found += vectors[rows[at : at + BLOCK]].sum(axis=0)
    found /= len(rows)
    return found


def unit(vector: Matrix) -> Matrix:
    """Return the vector at length 1; 0 stays 0."""
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def linked(cosines: Matrix, least_cosine: float, most: int) -> Iterator[list[int]]:
    """Yield groups of at most `most` vectors with these cosines, which are overwritten. Groups that are too large
    together are treated as infinitely distant, so joining two groups never brings them closer to a third; the chain
    needs no more than that."""
    np.fill_diagonal(cosines, -np.inf)
    sizes = np.ones(len(cosines), dtype=np.int64)
    if most < 2:
        cosines[:] = -np.inf
    groups = {at: [at] for at in range(len(cosines))}
    chain: list[int] = []
    for start in range(len(cosines)):
        while start in groups:
            if not chain:
                chain.append(start)
            last = chain[-1]
            near = int(np.argmax(cosines[last]))
            if cosines[last, near] < least_cosine:
                # Cosines grow along a chain, so this is the chain's only group, and merging others brings nothing
                # closer to it.
                yield groups.pop(chain.pop())
                cosines[:, last] = -np.inf
            elif len(chain) > 1 and cosines[last, chain[-2]] >= cosines[last, near]:
                # Prefer the previous group in the chain among equals; otherwise two groups equally near to a third
                # never merge.
                one, other = sorted((chain.pop(), chain.pop()))
                _merge(cosines, one, other, len(groups[one]), len(groups[other]))
                groups[one] += groups.pop(other)
                sizes[one] = len(groups[one])
                full = sizes + sizes[one] > most
                cosines[one, full] = cosines[full, one] = -np.inf
            else:
                chain.append(near)


def _merge(cosines: Matrix, one: int, other: int, weight: int, other_weight: int) -> None:
    """Merge group `other` into group `one`."""
    share = weight / (weight + other_weight)
    together = cosines[one] * share + cosines[other] * (1 - share)
    # Rounding must not bring the merged group closer to a third than its parts were: the chain relies on it.
    np.minimum(together, np.maximum(cosines[one], cosines[other]), out=together)
    together[one] = together[other] = -np.inf
    cosines[one] = cosines[:, one] = together
    cosines[other] = cosines[:, other] = -np.inf


COMMON = 0.5
"""The part of their mean that is subtracted from a project's notes: the mean describes the project, not any of its
subjects."""
FEW = 3
"""The number of notes whose mean gets half of its weight."""


def topic_vectors(vectors: Matrix, projects: Sequence[str]) -> Matrix:
    """Return the vectors without part of their projects' means. `vectors` have length 1, or 0, which stays 0."""
    apart = np.zeros_like(vectors)
    of_project: dict[str, list[int]] = defaultdict(list)
    for row in np.flatnonzero(vectors.any(axis=1)).tolist():
        of_project[projects[row]].append(row)
    for rows in of_project.values():
        mean = vectors[rows].mean(axis=0) * (len(rows) / (len(rows) + FEW))
        own = vectors[rows] - COMMON * mean
        apart[rows] = own / np.linalg.norm(own, axis=1, keepdims=True)
    return apart
