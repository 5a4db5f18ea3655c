"""Measures how alike lines of logs are: by meaning, without what all have in common, by rare words and by values."""

from collections import Counter
from collections.abc import Callable, Collection
from math import log

import numpy as np
from numpy.typing import NDArray

from mcp_memory.comparison.comparison import Closeness
from mcp_memory.comparison.sentence import parse_statement
from mcp_memory.comparison.values import MEASURED
from mcp_memory.text.language.terms import content_words

Vector = NDArray[np.float32]

OF_WORDS, OF_VALUES = 0.6, 0.2
"""The weight of the rare words that the shorter line shares, and of a common number, time or identifier."""
LEAST, FEW, MORE = 0.55, 20, 0.03
"""The likeness of lines with one subject among a few lines; it grows with the logarithm of their number, because the
nearest of many lines is nearer. Chosen on ten weeks of logs and on 300 unrelated lines."""


class Likeness:
    """`vector` embeds a text, or returns None without a model; then words decide."""

    def __init__(self, texts: Collection[str], vector: Callable[[str], Vector | None]) -> None:
        self._vector = vector
        self._lines = max(len(texts), FEW)
        self._count = Counter(word for text in texts for word in content_words(text))
        vectors = [one for text in texts if (one := vector(text)) is not None]
        self._common = np.sum(vectors, axis=0) / (len(vectors) + FEW) if vectors else np.float32(0)
        self.least = Closeness(words=0.8, cosine=LEAST + MORE * log(self._lines / FEW))

    def __call__(self, one: str, other: str) -> float:
        words, others = content_words(one), content_words(other)
        fewer = min(self._rarity(words), self._rarity(others))
        shared = self._rarity(words & others) / fewer if fewer else 0.0
        return self._cosine(one, other) + OF_WORDS * shared + OF_VALUES * bool(_values(one) & _values(other))

    def _rarity(self, words: Collection[str]) -> float:
        return sum(log((self._lines + 1) / max(1, self._count[word])) for word in words)

    def _cosine(self, one: str, other: str) -> float:
        first, second = self._vector(one), self._vector(other)
        if first is None or second is None:
            return 0.0
        first, second = first - self._common, second - self._common
        return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second) + 1e-9))


def _values(text: str) -> set[str]:
    types = MEASURED | {"date", "month", "identifier"}
    return {token.key for part in parse_statement(text, "") for token in part.tokens if token.type in types}
