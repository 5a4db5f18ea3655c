"""Rarity: how much a word tells, given how common it is in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping

from mcp_memory.text.language.terms import fold

_LEAST_SHARE = 1e-4
"""So rare is a word of which nothing is known."""


class Idf:
    """Weights of words, by the share of all passages that have them."""

    def __init__(self, common: Mapping[str, float]) -> None:
        self._folded: dict[str, float] = {}
        for word, share in common.items():
            key = fold(word)
            self._folded[key] = max(share, self._folded.get(key, 0.0))

    def bits(self, word: str) -> float:
        """In bits, 0 for what every passage has. `word` is folded."""
        return -math.log2(min(1.0, max(self._folded.get(word, 0.0), _LEAST_SHARE)))
