"""A small embedder that a test can look into: words hashed into 64 places, the same text always the same vector.

The model `heavy` claims to fill memory. `OPENING` says how often a toy was opened, and can be made to fail or wait.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mcp_memory.embedders.base import Embedder, EmbedderConfig, Progress
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.text.language.terms import words

DIMENSION = 64


@dataclass
class Opening:
    count: int = 0
    broken: bool = False
    open: threading.Event = field(default_factory=threading.Event)
    """Set while a toy can be opened without waiting."""
    toy: ToyEmbedder = field(init=False)
    """The last one that was opened."""


OPENING = Opening()
OPENING.open.set()


class ToyEmbedder:
    """`texts`: every document that it was asked to embed. While `down` is true it fails as an endpoint would."""

    def __init__(self, model: str = "") -> None:
        self.fingerprint = f"toy {model}"
        self.dimension = DIMENSION
        self.texts: list[str] = []
        self.down = False
        self.resident = model == "heavy"
        self.texts_at_once = 8

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        if self.down:
            raise EmbedderUnavailable("the toy is down")
        self.texts += texts
        return np.stack([_vector(text) for text in texts])

    def embed_query(self, text: str) -> np.ndarray:
        if self.down:
            raise EmbedderUnavailable("the toy is down")
        return _vector(text)

    def close(self) -> None:
        self.down = True


def open_toy(config: EmbedderConfig, cache: Path, progress: Progress) -> ToyEmbedder:
    OPENING.open.wait(20)
    if OPENING.broken:
        raise EmbedderUnavailable("the toy box is locked")
    OPENING.count += 1
    OPENING.toy = ToyEmbedder(config.model)
    return OPENING.toy


def _vector(text: str) -> np.ndarray:
    vector = np.full(DIMENSION, 1e-3, np.float32)
    for word in words(text):
        vector[zlib.crc32(word.encode("utf-8", "surrogatepass")) % DIMENSION] += 1
    return vector / np.linalg.norm(vector)


@dataclass(frozen=True)
class FixedModel:
    """What a searcher asks for its model where no lifecycle runs."""

    at_hand: Embedder | None = None
    reason: str = "the embedding model is still loading"
