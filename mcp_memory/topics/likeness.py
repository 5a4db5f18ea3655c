"""Tells which notes are about one thing: vectors of what they say and of the subjects that agents named, and whether
they share something that a person would file them under. Pure."""

import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from mcp_memory.text.language.subjects import shared_subject
from mcp_memory.text.language.terms import content_words
from mcp_memory.topics.config import TopicsConfig

Matrix = NDArray[np.float32]

COMMON = 0.5
"""The part of their mean that the notes of a project are freed of: it says what the project is about, not which of its
subjects they are about."""
FEW = 3
"""The mean of so few notes counts half."""
SUBJECT = 0.4
"""The weight of the subject beside 1 for what the note says."""
SUBJECT_SIZE = 256
"""The dimensions of a subject: its words have random directions in them, nearly at right angles."""

AT_HOME = 0.5
"""The share of all notes with a word that are among those which it stands for, unless they fill a topic."""


def topic_vectors(vectors: Matrix, projects: Sequence[str], subjects: Sequence[str]) -> Matrix:
    """(n, dimension + SUBJECT_SIZE), of length 1 where there is a subject and shorter without one. `vectors` (n,
    dimension) have length 1, or 0, and stay 0."""
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
    """Whether notes share a subject, or `config.shared_words` of them a word; three notes two words. `words`: those of
    each note's title and tags; `everywhere`: how many notes that could be with them have each."""
    least = config.shared_words
    counts = Counter(word for each in words for word in each)

    def is_at_home(word: str) -> bool:
        return counts[word] >= min(AT_HOME * everywhere[word], least * config.max_leaves)

    if not least or any(map(is_at_home, content_words(shared_subject(subjects)))):
        return True
    shared = [word for word, count in counts.items() if count >= least * len(words) and is_at_home(word)]
    return bool(shared) and len(shared) + len(words) > 4


def _directions(subjects: Sequence[str]) -> Matrix:
    """Of each subject at length 1; 0 for none."""
    known: dict[str, NDArray[np.float64]] = {}
    found = np.zeros((len(subjects), SUBJECT_SIZE), dtype=np.float32)
    for at, subject in enumerate(subjects):
        for word in sorted(content_words(subject)):
            if word not in known:
                known[word] = np.random.default_rng(zlib.crc32(word.encode())).standard_normal(SUBJECT_SIZE)
            found[at] += known[word]
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
