"""Groups notes that share a subject: measures it by vectors of their text and of the subjects that agents named, and
joins them by average linkage, with a limit on the size of a group.

The clustering is written by hand because scipy's version would add 37 MB to a daemon that promises 250; a test
compares the two. The nearest neighbor chain (Murtagh 1983) finds the same groups as the textbook algorithm, in
quadratic time and memory. More than `BLOCK` vectors are therefore first divided by two-means into blocks, and each
block is grouped separately.
"""

import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from mcp_memory.text.language.terms import content_words

Rows = NDArray[np.int64]
Matrix = NDArray[np.float32]

BLOCK = 2048
"""The most vectors that are compared pairwise: 17 MB of cosines."""

_ROUNDS = 5
_LEAST_SHARE = 1 / 8
"""The minimum share of the smaller half of a division. Smaller pieces don't make a topic and don't shrink the rest
enough."""


def clusters(vectors: Matrix, rows: Sequence[int], *, least_cosine: float, most: int) -> list[list[int]]:
    """Group `rows` of `vectors` (n, dimension), of length 1 or less; single rows are groups too.

    Two groups are joined while the mean cosine between their vectors is at least `least_cosine` and both together have
    at most `most` rows."""
    groups: list[list[int]] = []
    for block in _divided(vectors, np.array(rows, dtype=np.int64), BLOCK):
        here = vectors[block]
        groups += [block[sorted(group)].tolist() for group in linked(here, least_cosine, most)]
    return groups


def total(vectors: Matrix, rows: Sequence[int] | Rows) -> Matrix:
    """Return the sum of the rows, (dimension,), without copying them all."""
    found = np.zeros(vectors.shape[1], dtype=np.float32)
    for at in range(0, len(rows), BLOCK):
        found += vectors[rows[at : at + BLOCK]].sum(axis=0)
    return found


def unit(vector: Matrix) -> Matrix:
    """Return the vector at length 1; 0 stays 0."""
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def linked(vectors: Matrix, least_cosine: float, most: int) -> Iterator[list[int]]:
    """Yield groups of at most `most` vectors. Groups that are too large together are treated as infinitely distant, so
    joining two groups never brings them closer to a third; the chain needs no more than that."""
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


def _divided(vectors: Matrix, rows: Rows, most: int) -> Iterator[Rows]:
    """Yield parts of at most `most` rows, with near rows together."""
    waiting = [rows]
    while waiting:
        some = waiting.pop()
        if len(some) <= most:
            yield some
        else:
            waiting += halves(vectors, some)


def halves(vectors: Matrix, rows: Rows) -> tuple[Rows, Rows]:
    """Split rows by two-means, starting from the row farthest from the mean, and the row farthest from that row."""
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
    """Return the products of the rows with a vector, without copying them all."""
    return np.concatenate([vectors[rows[at : at + BLOCK]] @ direction for at in range(0, len(rows), BLOCK)])


COMMON = 0.5
"""The part of their mean that is subtracted from a project's notes: the mean describes the project, not any of its
subjects."""
FEW = 3
"""The number of notes whose mean gets half of its weight."""
SUBJECT = 0.4
"""The weight of the subject, relative to 1 for the text of the note."""
SUBJECT_SIZE = 256
"""The dimensions of a subject's vector, in which each word has a random direction, nearly orthogonal to the others."""

OF_WORDS, IN_TITLE = 5.7, 2.5
"""The weight of the words of a note without a subject, relative to 1 for its vector, and of a word in its title."""


def topic_vectors(vectors: Matrix, projects: Sequence[str], subjects: Sequence[str]) -> Matrix:
    """Return vectors (n, dimension + SUBJECT_SIZE), of length 1 with a subject and shorter without. `vectors` (n,
    dimension) have length 1, or 0, which stays 0."""
    apart = np.zeros((len(vectors), vectors.shape[1] + SUBJECT_SIZE), dtype=np.float32)
    of_project: dict[str, list[int]] = defaultdict(list)
    for row in np.flatnonzero(vectors.any(axis=1)).tolist():
        of_project[projects[row]].append(row)
    for rows in of_project.values():
        mean = vectors[rows].mean(axis=0) * (len(rows) / (len(rows) + FEW))
        own = vectors[rows] - COMMON * mean
        apart[rows, : vectors.shape[1]] = own / np.linalg.norm(own, axis=1, keepdims=True)
        named = _directions([subjects[row] for row in rows])
        has_one = named.any(axis=1, keepdims=True)
        named -= has_one * COMMON * named.mean(axis=0) * (len(rows) / (len(rows) + FEW))
        apart[rows, vectors.shape[1] :] = sqrt(SUBJECT) * named
    return apart / np.float32(sqrt(1 + SUBJECT))


def with_words(vectors: Matrix, titles: Sequence[frozenset[str]], texts: Sequence[frozenset[str]]) -> Matrix:
    """Append to each vector a vector of its note's words, in which rare words and words of the title weigh most."""
    counts = Counter(word for title, text in zip(titles, texts, strict=True) for word in title | text)
    columns = {word: at for at, word in enumerate(sorted(counts))}
    found = np.zeros((len(vectors), len(columns)), dtype=np.float32)
    for at, title in enumerate(titles):
        for word in title | texts[at]:
            found[at, columns[word]] = IN_TITLE ** (word in title) * math.log((len(titles) + 1) / counts[word])
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    return np.hstack([vectors, sqrt(OF_WORDS) * found])


def common_words(words: Sequence[frozenset[str]], least: float) -> set[str]:
    """Return the words that at least this share of the notes have."""
    counts = Counter(word for each in words for word in each)
    return {word for word, count in counts.items() if count >= least * len(words)}


def _directions(subjects: Sequence[str]) -> Matrix:
    """Return a vector of length 1 for each subject; 0 for an empty subject."""
    known: dict[str, NDArray[np.float64]] = {}
    found = np.zeros((len(subjects), SUBJECT_SIZE), dtype=np.float32)
    for at, subject in enumerate(subjects):
        for word in sorted(content_words(subject)):
            if word not in known:
                known[word] = np.random.default_rng(zlib.crc32(word.encode())).standard_normal(SUBJECT_SIZE)
            found[at] += known[word]
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
