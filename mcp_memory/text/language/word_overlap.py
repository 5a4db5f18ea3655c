"""Measures how many words two texts share. Pure."""

from collections import Counter
from collections.abc import Sequence, Set

REPEATED = 0.8
"""The coverage from which a text repeats a sentence. The rest is how the sentence joins its neighbors."""


def jaccard(one: Set[object], other: Set[object]) -> float:
    """Return the share of all words of two texts that both have, 0 to 1; 0 for two texts without words."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def coverage(words: Set[object], text: Set[object]) -> float:
    """Return the share of the words that a text has, 0 to 1; 0 without words."""
    return len(words & text) / len(words) if words else 0.0


def containment(one: Set[object], other: Set[object]) -> float:
    """Return the share of the shorter text's words that the longer text has, 0 to 1."""
    return max(coverage(one, other), coverage(other, one))


def are_two(one: Set[object], other: Set[object]) -> bool:
    """Return whether each side has an item that the other side lacks."""
    return bool(one - other and other - one)


def runs(words: Sequence[object], length: int) -> Set[object]:
    """Return the runs of neighboring words, to compare texts with the order of their words. Equal runs are numbered, so
    that each of them counts."""
    counts = Counter(zip(*(words[start:] for start in range(length)), strict=False))
    return {(run, number) for run, count in counts.items() for number in range(count)}
