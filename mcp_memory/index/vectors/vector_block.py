"""Keep some chunks and their vectors side by side and compare them with a question's vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import simsimd
from numpy.typing import NDArray

from mcp_memory.index.sqlite.schema import FIRST_PHRASE, MAX_CHUNKS

_ROWS_AT_ONCE = 1 << 16
"""The vectors per call of the SIMD kernel, which may keep the interpreter's lock: about 1 ms with 384 dimensions."""


@dataclass(frozen=True)
class VectorBlock:
    """Chunk ids (n,), and int8 vectors (n, dimension). Immutable."""

    ids: NDArray[np.int64]
    vectors: NDArray[np.int8]

    @cached_property
    def phrases(self) -> NDArray[np.intp]:
        """The rows that are phrases under `when`, ascending."""
        return np.flatnonzero((self.ids & (MAX_CHUNKS - 1)) >= FIRST_PHRASE)

    @property
    def is_known(self) -> bool:
        """Return whether the lengths are in memory; for a million vectors they take a tenth of a second."""
        return "lengths" in vars(self)

    @cached_property
    def lengths(self) -> NDArray[np.float32]:
        """(n,): the length of each vector. Computed once, the lengths halve the work of a comparison."""
        squares = _flat(simsimd.dot(part, part) for part in self._parts())
        return np.sqrt(squares, dtype=np.float32)

    def cosines(self, query: NDArray[np.int8]) -> NDArray[np.float32]:
        """Return (n,): the cosine of each vector with `query` (1, dimension); 0 if one of the two has no length."""
        products = _flat(simsimd.cdist(query, part, "dot", out_dtype="float32") for part in self._parts())
        whole = self.lengths * np.linalg.norm(query.astype(np.float32))
        return np.divide(products, whole, out=np.zeros_like(products), where=whole > 0)

    def chosen(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> VectorBlock:
        """Return a copy of those rows, with their lengths."""
        chosen = VectorBlock(self.ids[keep], np.ascontiguousarray(self.vectors[keep]))
        vars(chosen)["lengths"] = self.lengths[keep]
        return chosen

    def _parts(self) -> Iterator[NDArray[np.int8]]:
        for at in range(0, len(self.vectors), _ROWS_AT_ONCE):
            yield self.vectors[at : at + _ROWS_AT_ONCE]


def joined(blocks: list[VectorBlock]) -> VectorBlock:
    """Join at least one block, with the lengths if any are known; a single block is not copied."""
    if len(blocks) == 1:
        return blocks[0]
    ids = np.concatenate([block.ids for block in blocks])
    whole = VectorBlock(ids, np.concatenate([block.vectors for block in blocks]))
    if any(block.is_known for block in blocks):
        vars(whole)["lengths"] = np.concatenate([block.lengths for block in blocks])
    return whole


def chained(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join at least one array; a single array is not copied."""
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0]


def _flat(parts: Iterable[object]) -> NDArray[np.float32]:
    found = [np.asarray(part, dtype=np.float32).reshape(-1) for part in parts]
    return chained(found or [np.empty(0, dtype=np.float32)])
