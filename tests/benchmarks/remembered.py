"""The real model with a memory, to build an index of many chunks quickly: no benchmark embeds with it.

The first `MOST_REAL` texts get their own vectors, once; a file keeps them for later runs. Each further text gets one
of those vectors with a little noise, so that the vectors of 100,000 chunks lie as real ones do.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from mcp_memory.embedders.base import Embedder, EmbedderConfig, Progress
from mcp_memory.embedders.open_embedder import open_embedder

MOST_REAL = 10_000
NOISE = 0.02
"""Standard deviation in each of 384 places: a cosine of about .93 to the vector it was made from."""


class Remembered:
    """Thread-safe as far as the engine needs it: one caller at a time embeds documents."""

    def __init__(self, real: Embedder, file: Path) -> None:
        self._real = real
        self._file = file
        self._known: dict[bytes, np.ndarray] = {}
        self._new = 0
        if file.exists():
            with np.load(file) as kept:
                self._known = dict(zip(map(bytes, kept["hashes"]), kept["vectors"], strict=True))

    @property
    def fingerprint(self) -> str:
        return self._real.fingerprint

    @property
    def dimension(self) -> int:
        return self._real.dimension

    @property
    def resident(self) -> bool:
        return False

    @property
    def texts_at_once(self) -> int:
        return 1024  # remembered vectors take no time

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        hashes = [hashlib.sha256(text.encode()).digest() for text in texts]
        missing = [at for at, each in enumerate(hashes) if each not in self._known]
        missing = missing[: max(0, MOST_REAL - len(self._known))]
        if missing:
            vectors = self._real.embed_documents([texts[at] for at in missing])
            self._known |= {hashes[at]: vector for at, vector in zip(missing, vectors, strict=True)}
            self._new += len(missing)
        return np.stack([self._vector(each) for each in hashes])

    def embed_query(self, text: str) -> np.ndarray:
        return self._real.embed_query(text)

    def close(self) -> None:
        if self._new:
            draft = self._file.with_suffix(".draft.npz")
            hashes = np.array([list(each) for each in self._known], dtype=np.uint8)
            np.savez(draft, hashes=hashes, vectors=np.stack(list(self._known.values())))
            draft.replace(self._file)
            self._new = 0
        self._real.close()

    def _vector(self, text_hash: bytes) -> np.ndarray:
        if (own := self._known.get(text_hash)) is not None:
            return own
        rng = np.random.default_rng(int.from_bytes(text_hash[:8], "little"))
        other = self._real_ones[rng.integers(len(self._real_ones))]
        vector = other + rng.normal(0, NOISE, self.dimension).astype(np.float32)
        return vector / np.linalg.norm(vector)

    @cached_property
    def _real_ones(self) -> np.ndarray:
        return np.stack(list(self._known.values()))


def open_remembered(config: EmbedderConfig, cache: Path, progress: Progress) -> Remembered:
    """The provider `remembered`; the vectors' file is named by the environment, since no setting is ours to use."""
    return Remembered(open_embedder(EmbedderConfig(), cache, progress), Path(os.environ["BENCHMARK_VECTORS"]))
