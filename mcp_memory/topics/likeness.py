"""Measures which notes share a subject, by vectors of their text and of the subjects that agents named, and decides
whether they share something that a person would file them under. Pure.
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from mcp_memory.text.language.subjects import shared_subject
from mcp_memory.text.language.terms import content_words
from mcp_memory.topics.cluster import Matrix
from mcp_memory.topics.config import TopicsConfig

COMMON = 0.5
"""The part of their mean that is subtracted from a project's notes: the mean describes the project, not any of its
subjects."""
FEW = 3
"""The number of notes whose mean gets half of its weight."""
SUBJECT = 0.4
"""The weight of the subject, relative to 1 for the text of the note."""
SUBJECT_SIZE = 256
"""The dimensions of a subject's vector, in which each word has a random direction, nearly orthogonal to the others."""

AT_HOME = 0.5
"""The minimum share of a word's notes that the group contains for the word to represent it, unless the group fills a
topic."""


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


def have_in_common(
    subjects: Sequence[str], words: Sequence[frozenset[str]], everywhere: Mapping[str, int], config: TopicsConfig
) -> bool:
    """Return whether notes have a common subject or enough common words. `config.shared_words` of the notes must
    contain the word; a group of three needs two words. `words` are the words of each note's title and tags.
    `everywhere` counts, for each word, the notes that could join the group."""
    least = config.shared_words
    counts = Counter(word for each in words for word in each)

    def is_at_home(word: str) -> bool:
        return counts[word] >= min(AT_HOME * everywhere[word], least * config.max_leaves)

    if not least or any(map(is_at_home, content_words(shared_subject(subjects)))):
        return True
    shared = [word for word, count in counts.items() if count >= least * len(words) and is_at_home(word)]
    return bool(shared) and len(shared) + len(words) > 4


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
