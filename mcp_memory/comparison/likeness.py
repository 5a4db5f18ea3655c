"""Measures how alike lines of logs are: by meaning, without what all have in common, by rare words and by values."""

from collections import Counter
from collections.abc import Callable, Collection
from math import log

import numpy as np
from numpy.typing import NDArray

from mcp_memory.comparison.comparison import Closeness, Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.values import FRAME, LANGUAGES, measured_in
from mcp_memory.text.language.terms import content_words, fold, telling_words, words

Vector = NDArray[np.float32]

OF_WORDS, OF_VALUES = 0.6, 0.2
"""The weight of the rare words that the shorter line shares, and of a common number, time or identifier."""
LEAST, FEW, MORE = 0.55, 20, 0.03
"""The likeness of lines with one subject among a few lines; it grows with the logarithm of their number, because the
nearest of many lines is nearer. Chosen on ten weeks of logs and on 300 unrelated lines."""

NEAR, OTHER = 0.35, 0.2
"""The likeness from which two wishes are compared by the words that only one of them has, and the closeness of those
words from which they say the same. Chosen on 84 wishes in four languages, with 53 pairs of paraphrases."""


class Likeness:
    """`vector` embeds a text, or returns None without a model; then words decide."""

    def __init__(self, texts: Collection[str], vector: Callable[[str], Vector | None]) -> None:
        self._vector = vector
        self._lines = max(len(texts), FEW)
        self._count = Counter(word for text in texts for word in content_words(text))
        vectors = [one for text in texts if (one := vector(text)) is not None]
        self._common = np.sum(vectors, axis=0) / (len(vectors) + FEW) if vectors else np.float32(0)
        self.least = Closeness(words=0.8, cosine=LEAST + MORE * log(self._lines / FEW))

    def compare(self, older: str, newer: str) -> Comparison:
        return Comparison(NoteText(older), NoteText(newer), self, self.least)

    def __call__(self, one: str, other: str) -> float:
        """Return how alike the lines are; for two wishes, without the words that all wishes have."""
        first, second = FRAME.sub("", one), FRAME.sub("", other)
        are_wishes = first != one and second != other
        if not are_wishes:
            first, second = one, other
        said, others = content_words(first), content_words(second)
        fewer = min(self._rarity(said), self._rarity(others))
        shared = self._rarity(said & others) / fewer if fewer else 0.0
        alike = (
            self._cosine(first, second) + OF_WORDS * shared + OF_VALUES * bool(measured_in(one) & measured_in(other))
        )
        mine, yours = _only_in(first, second), _only_in(second, first)
        if not (are_wishes and mine and yours) or alike < NEAR:
            return alike
        names_two = first[0].isupper() and first.split()[0] not in second
        if names_two or LANGUAGES.search(f"{mine} {yours}"):
            return 0.0
        return alike + self._cosine(mine, yours) - OTHER

    def _rarity(self, words: Collection[str]) -> float:
        return sum(log((self._lines + 1) / max(1, self._count[word])) for word in words)

    def _cosine(self, one: str, other: str) -> float:
        first, second = self._vector(one), self._vector(other)
        if first is None or second is None:
            return 0.0
        first, second = first - self._common, second - self._common
        return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second) + 1e-9))


def _only_in(one: str, other: str) -> str:
    """Return the words that tell a line from the other."""
    own = telling_words(one) - telling_words(other)
    return " ".join(word for word in words(one) if fold(word) in own)
