"""Weights words by how rare they are in memory."""

import math
from collections.abc import Mapping

from mcp_memory.text.language.terms import fold

_LEAST_SHARE = 1e-4
"""The assumed share of a word that isn't in the index."""


class Idf:
    """Weights words by the share of all passages that contain them."""

    def __init__(self, common: Mapping[str, float]) -> None:
        self._folded: dict[str, float] = {}
        for word, share in common.items():
            key = fold(word)
            self._folded[key] = max(share, self._folded.get(key, 0.0))

    def bits(self, word: str) -> float:
        """Return the weight of a folded `word`; 0 for a word in every passage."""
        return -math.log2(min(1.0, max(self._folded.get(word, 0.0), _LEAST_SHARE)))
