"""Compares notes without a subject, and the topics that they may join, by their vectors and words. Pure."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import chain, count
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mcp_memory.topics.cluster import BLOCK, Matrix, linked, mean
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.owned_notes import PlanNote

OF_WORDS, IN_TITLE = 2.0, 2.0
"""The weights of words and of parts of words, relative to 1 for the vector, and of a word in the title."""
PART = 4
"""The letters of a part of a word, which compounds and other forms of the word have, too."""

SAME_SUBJECT = 0.22
"""The minimum mean cosine between the notes of a new topic. Lower values file more notes, and more topics are wrong:
8 of 10 are right."""
JOIN, LEAD = 0.14, 0.5
"""The minimum mean cosine of a note with the notes of a topic to join, and the minimum part of it that it hasn't in
common with the next topic."""

UNTITLED = 0.75
"""The factor for a note whose title adds no word to its text, so that it counts like an untitled note."""

MOST_BARE = 300
"""The most notes that are compared in a round, the newest."""


class BareNotes(NamedTuple):
    """Notes without a subject, and hosts: groups of notes that they may join."""

    rows: Sequence[int]
    cosines: Matrix
    """Between the notes."""
    fits: Matrix
    """The cosines of the notes with the hosts."""

    @classmethod
    def of(
        cls, notes: Sequence[PlanNote], vectors: Matrix, rows: Sequence[int], hosts: Sequence[Sequence[int]]
    ) -> Self:
        """Compare the newest of these rows of `notes` and `vectors` with each other and with the hosts' rows."""
        newest = rows[-MOST_BARE:]
        if not newest:
            return cls(newest, vectors[:0], vectors[:0])
        groups = [*([row] for row in newest), *hosts]
        middles = np.stack([mean(vectors, some) for some in groups])
        cosines = middles[: len(newest)] @ middles.T
        compared = [notes[row] for row in chain.from_iterable(groups)]
        cosines += word_cosines(compared, list(map(len, groups)), len(newest))
        untitled = [at for at, row in enumerate(newest) if notes[row].words <= notes[row].said]
        cosines[untitled] *= UNTITLED
        cosines[:, untitled] *= UNTITLED
        return cls(newest, cosines[:, : len(newest)], cosines[:, len(newest) :])

    def joins(self, room: Sequence[int]) -> dict[int, list[int]]:
        """Map hosts to the notes that are clearly nearer to them than to any other host, while there is room."""
        if not self.fits.size:
            return {}
        ranked = np.sort(np.pad(self.fits, ((0, 0), (1, 0))))
        clear = [at for at, fits in enumerate(ranked) if fits[-1] - fits[-2] >= LEAD * fits[-1]]
        found = best_hosts(self.fits, clear, np.eye(len(room), dtype=np.float32), room, JOIN)
        return {host: np.take(self.rows, some).tolist() for host, some in found.items()}

    def groups(self, taken: Collection[int], config: TopicsConfig) -> list[list[int]]:
        """Return the notes of new topics, without those that are taken."""
        rest = [at for at, row in enumerate(self.rows) if row not in taken]
        rows = np.take(self.rows, rest)
        groups = map(sorted, linked(self.cosines[np.ix_(rest, rest)], SAME_SUBJECT, config.max_leaves))
        return [rows[group].tolist() for group in sorted(groups) if len(group) >= config.min_leaves]


def best_hosts(
    vectors: Matrix, rows: Sequence[int], hosts: Matrix, room: Sequence[int], least: float
) -> dict[int, list[int]]:
    """Map hosts to the rows that fit: each row goes to the host with the highest product, best rows first, while there
    is room."""
    best, fits = list[int](), list[float]()
    step = max(1, BLOCK * BLOCK // len(hosts))
    for at in range(0, len(rows), step):
        products = vectors[rows[at : at + step]] @ hosts.T
        best += products.argmax(axis=1).tolist()
        fits += products.max(axis=1).tolist()
    joined = defaultdict[int, list[int]](list)
    for at in sorted(range(len(rows)), key=fits.__getitem__, reverse=True):
        host = best[at]
        if fits[at] >= least and len(joined[host]) < room[host]:
            joined[host].append(rows[at])
    return {host: sorted(some) for host, some in joined.items()}


def word_cosines(notes: Sequence[PlanNote], sizes: Sequence[int], wanted: int) -> Matrix:
    """Return weighted cosines between the first notes, as many as `wanted`, and all groups of notes with these sizes.
    These are products of the means of vectors of words and of parts of words. Rare words and words of titles weigh
    most."""
    vocabulary = sorted(set[str]().union(*(note.words | note.said for note in notes)))
    numbers = defaultdict[str, int](count().__next__)
    terms_of = {word: list(map(numbers.__getitem__, _terms(word))) for word in vocabulary}
    found: list[NDArray[np.int32]] = []
    for note in notes:
        title, text = (set[int]().union(*map(terms_of.__getitem__, words)) for words in (note.words, note.said))
        found += np.fromiter(title, np.int32), np.fromiter(text - title, np.int32)
    terms = np.concatenate(found)
    rows = np.repeat(np.arange(len(found), dtype=np.int32), list(map(len, found)))
    counts = np.bincount(terms)
    weights = np.log((len(notes) + 1) / counts).astype(np.float32)[terms]
    weights[rows % 2 == 0] *= IN_TITLE
    rows //= 2
    kinds = rows * 2 + np.array([" " in term for term in numbers])[terms]
    weights /= np.sqrt(np.bincount(kinds, weights**2))[kinds]
    known = np.bincount(terms[rows < wanted], minlength=len(counts)) * (counts > 1) > 0
    kept = known[terms]
    groups = np.repeat(np.arange(len(sizes)), sizes)[rows[kept]]
    means = np.zeros((len(sizes), np.count_nonzero(known)), dtype=np.float32)
    np.add.at(means, (groups, np.cumsum(known)[terms[kept]] - 1), weights[kept] / np.array(sizes)[groups])
    return np.float32(OF_WORDS) * (means[:wanted] @ means.T)


def _terms(word: str) -> list[str]:
    marked = f"<{word}>"
    return [f"{word} ", *(marked[at : at + PART] for at in range(len(word) + 3 - PART))]
