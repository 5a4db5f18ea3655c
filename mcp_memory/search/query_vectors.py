"""The vectors of questions, remembered for the latest ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.embedders.base import Embedder
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.conversation.speaker_prefix import without
from mcp_memory.text.language.terms import telling

if TYPE_CHECKING:
    from mcp_memory.models import Vectors


class QueryVectors:
    """The vectors of the latest questions, by model and text; thread-safe."""

    def __init__(self, kept: int = 256) -> None:
        self._latest: LruCache[tuple[str, bytes], Vectors] = LruCache(kept)

    def embed(self, embedder: Embedder, text: str, names: Sequence[str]) -> Vectors:
        """The question's vector, shape (dimension,), or, where it has `names` of those who say something, the middle
        between it and that of the question without them: a name tells whose words are wanted, and pulls the vector
        towards all that mention it. +1 point on logs of dialogues, +3 where several entries are needed.
        Raises EmbedderUnavailable."""
        whole = self.get(embedder, text)
        rest = without(text, names) if names else ""
        if not telling(rest):
            return whole
        middle = whole + self.get(embedder, rest)
        return middle / max(float(np.linalg.norm(middle)), 1e-9)

    def get(self, embedder: Embedder, text: str) -> Vectors:
        """Shape (dimension,). Raises EmbedderUnavailable."""
        known = self.cached(embedder, text)
        return self._latest.store(_key(embedder, text), embedder.embed_query(text)) if known is None else known

    def cached(self, embedder: Embedder, text: str) -> Vectors | None:
        """The vector if it is remembered."""
        return self._latest.get(_key(embedder, text))


def _key(embedder: Embedder, text: str) -> tuple[str, bytes]:
    return embedder.fingerprint, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
