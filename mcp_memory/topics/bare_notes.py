"""Compares notes without a subject, and the topics that they may join, by their vectors and words. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple, Self

import numpy as np

from mcp_memory.topics.cluster import BLOCK, Matrix, clusters, total
from mcp_memory.topics.config import TopicsConfig

Words = tuple[frozenset[str], frozenset[str]]
"""The words of a note's title, and of its text."""

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
"""The factor for a note whose title adds no word to its text, as that of a note without one."""

MOST_BARE = 300
"""The most notes that are compared in a round, the newest."""


class BareNotes(NamedTuple):
    """Notes without a subject, and hosts: groups of notes that they may join."""

    rows: Sequence[int]
    near: Matrix
    hosts: Matrix

    @classmethod
    def of(cls, words: Sequence[Words], vectors: Matrix, rows: Sequence[int], hosts: Sequence[Sequence[int]]) -> Self:
        """Compare the newest of these rows of `words` and `vectors` with each other and with the hosts' rows."""
        newest = rows[-MOST_BARE:]
        groups = [*([row] for row in newest), *hosts]
        if not newest:
            return cls(newest, vectors[:0], vectors[:0])
        middles = np.stack([total(vectors, some) / np.float32(len(some)) for some in groups])
        near = with_words(middles, [[words[row] for row in some] for some in groups], len(newest))
        for at, row in enumerate(newest):
            near[at] *= UNTITLED if words[row][0] <= words[row][1] else 1
        return cls(newest, near[: len(newest)], near[len(newest) :])

    def joins(self, room: Sequence[int]) -> dict[int, list[int]]:
        """Map hosts to the notes that are clearly nearer to them than to any other host, while there is room."""
        if not len(self.hosts):
            return {}
        ranked = np.sort(np.pad(self.near @ self.hosts.T, ((0, 0), (1, 0))))
        clear = [at for at, fits in enumerate(ranked) if fits[-1] - fits[-2] >= LEAD * fits[-1]]
        found = best_hosts(self.near, clear, self.hosts, room, JOIN)
        return {host: [self.rows[at] for at in some] for host, some in found.items()}

    def groups(self, taken: Collection[int], config: TopicsConfig) -> list[list[int]]:
        """Return the notes of new topics, without those that are taken."""
        rest = [at for at, row in enumerate(self.rows) if row not in taken]
        groups = clusters(self.near, rest, least_cosine=SAME_SUBJECT, most=config.max_leaves)
        return [[self.rows[at] for at in group] for group in sorted(groups) if len(group) >= config.min_leaves]


def best_hosts(
    vectors: Matrix, rows: Sequence[int], hosts: Matrix, room: Sequence[int], least: float
) -> dict[int, list[int]]:
    """Map hosts to the rows that fit: each row goes to the host with the highest product, best rows first, while there
    is room."""
    best = np.zeros(len(rows), dtype=np.int64)
    fits = np.zeros(len(rows), dtype=np.float32)
    step = max(1, BLOCK * BLOCK // len(hosts))
    for at in range(0, len(rows), step):
        products = vectors[rows[at : at + step]] @ hosts.T
        best[at : at + step] = products.argmax(axis=1)
        fits[at : at + step] = products.max(axis=1)
    joined: dict[int, list[int]] = defaultdict(list)
    order: list[int] = np.argsort(-fits, kind="stable").tolist()
    for at in order:
        host = int(best[at])
        if fits[at] >= least and len(joined[host]) < room[host]:
            joined[host].append(rows[at])
    return {host: sorted(some) for host, some in joined.items()}


def with_words(vectors: Matrix, groups: Sequence[Sequence[Words]], wanted: int) -> Matrix:
    """Append to the mean vector of each group the means of its notes' vectors of words and of parts of words, in which
    rare words and words of titles weigh most. Only words of the first groups, as many as `wanted`, are compared."""
    parts = [[(_parts(title), _parts(text)) for title, text in notes] for notes in groups]
    scale = math.sqrt(OF_WORDS)
    return np.hstack([vectors, scale * _mean_words(groups, wanted), scale * _mean_words(parts, wanted)])


def _mean_words(groups: Sequence[Sequence[Words]], wanted: int) -> Matrix:
    counts = Counter(word for notes in groups for title, text in notes for word in title | text)
    known = {word for notes in groups[:wanted] for title, text in notes for word in title | text if counts[word] > 1}
    columns = {word: at for at, word in enumerate(sorted(known))}
    whole = sum(map(len, groups)) + 1
    found = np.zeros((len(groups), len(columns)), dtype=np.float32)
    for at, notes in enumerate(groups):
        for title, text in notes:
            weights = {word: IN_TITLE ** (word in title) * math.log(whole / counts[word]) for word in title | text}
            length = max(math.hypot(*weights.values()), 1e-9) * len(notes)
            for word in known & weights.keys():
                found[at, columns[word]] += weights[word] / length
    return found


def _parts(words: frozenset[str]) -> frozenset[str]:
    whole = [f"<{word}>" for word in words]
    return frozenset(word[at : at + PART] for word in whole for at in range(len(word) - PART + 1))
