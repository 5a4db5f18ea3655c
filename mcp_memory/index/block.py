"""A block: some chunks and their vectors, side by side, to be compared with a question's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import simsimd

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS_AT_ONCE = 1 << 16
"""Vectors per call of the SIMD kernel, which may hold the interpreter's lock: about 1 ms with 384 dimensions."""


@dataclass(frozen=True)
class Block:
    """Chunk ids (n,), and int8 vectors (n, dimension). Immutable."""

    ids: NDArray[np.int64]
    vectors: NDArray[np.int8]

    @cached_property
    def lengths(self) -> NDArray[np.float32]:
        """(n,): of each vector. Known once, a comparison is half the work: only the products are left."""
        squares = self._in_parts(lambda part: simsimd.dot(part, part))
        return np.sqrt(squares, dtype=np.float32)

    def cosines(self, query: NDArray[np.int8]) -> NDArray[np.float32]:
        """(n,): with `query` (1, dimension); 0 where one of the two has no length."""
        products = self._in_parts(lambda part: simsimd.cdist(query, part, "dot", out_dtype="float32"))
        whole = self.lengths * np.linalg.norm(query.astype(np.float32))
        return np.divide(products, whole, out=np.zeros_like(products), where=whole > 0)

    def chosen(self, keep: NDArray[np.bool_]) -> Block:
        """Those rows alone, copied."""
        return Block(self.ids[keep], np.ascontiguousarray(self.vectors[keep]))

    def _in_parts(self, work: Callable[[NDArray[np.int8]], object]) -> NDArray[np.float32]:
        found = [
            np.asarray(work(self.vectors[at : at + _ROWS_AT_ONCE]), dtype=np.float32).reshape(-1)
            for at in range(0, len(self.vectors), _ROWS_AT_ONCE)
        ]
        return np.concatenate(found) if len(found) > 1 else (found[0] if found else np.empty(0, dtype=np.float32))


def joined(blocks: list[Block]) -> Block:
    """As one, in this order; there is at least one."""
    if len(blocks) == 1:
        return blocks[0]
    return Block(np.concatenate([each.ids for each in blocks]), np.concatenate([each.vectors for each in blocks]))
