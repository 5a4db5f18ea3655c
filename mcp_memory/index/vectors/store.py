"""Scan int8 vectors, which are kept in memory.

Before each scan the store reads the newer slots from the database, so a vector is found as soon as its transaction is
committed. The first scan reads them all, 100,000 in 0.4 s. Vectors of replaced notes stay where they are and are
masked, because no filter admits their number. When they are the larger part, they are dropped.

Measured with 100,000 × 384: recall@50 against exact float32 is .985 on random vectors, .987 on clustered vectors. A
scan of 1,000,000 takes 20 ms on two cores.
"""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import simsimd
from numpy.typing import NDArray

from mcp_memory.errors import InvalidInput
from mcp_memory.index.base import Generation, ScoredRows
from mcp_memory.index.sqlite.cache_sync import FEW, CacheSync, last_number
from mcp_memory.index.sqlite.damage import DamagedRow
from mcp_memory.index.sqlite.note_filter import AdmittedNotes
from mcp_memory.index.sqlite.schema import FIRST_PHRASE, MAX_CHUNKS, Tables

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

CHECKED_ROWS = 4096
"""The number of new vectors after which the store looks for vectors of replaced notes."""

_READ_ROWS = 10_000

_ROWS_AT_ONCE = 1 << 16
"""The vectors per call of the SIMD kernel, which may keep the interpreter's lock: about 1 ms with 384 dimensions."""


def best(
    k: int,
    ids: NDArray[np.int64],
    scores: NDArray[np.float32],
    admitted: AdmittedNotes | None = None,
    *,
    above: float = -inf,
) -> ScoredRows:
    """Return the k admitted rows with the highest scores, all higher than `above`; ties by id, however the rows are
    laid out."""
    rows = among_best(k, ids, scores, admitted, above=above)
    ids, scores = ids[rows], scores[rows]
    order = np.lexsort((ids, -scores))[: max(k, 0)]
    return ScoredRows(ids[order], scores[order])


def among_best(
    k: int,
    ids: NDArray[np.int64],
    scores: NDArray[np.float32],
    admitted: AdmittedNotes | None = None,
    *,
    above: float,
) -> NDArray[np.intp]:
    """Return the places of the rows of `best`, ascending, and of all that tie with the last of them."""
    keep = scores > above
    if admitted:
        keep &= admitted.mask(ids)
    rows = np.flatnonzero(keep)
    if len(rows) > k > 0:
        found = scores[rows]
        rows = rows[found >= np.partition(found, len(rows) - k)[len(rows) - k]]
    return rows


def quantise(vectors: Vectors, dimension: int) -> NDArray[np.int8]:
    """Scale each row so that its largest component is ±127; the cosine changes only by rounding.

    Raises InvalidInput for another shape than (n, dimension) and for components that are not finite."""
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise InvalidInput(f"vectors of shape {vectors.shape} do not fit {dimension} dimensions")
    if not np.isfinite(vectors).all():
        raise InvalidInput("a vector has a component that is not finite", hint="check the embedding model")
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scale = np.divide(127.0, largest, out=np.zeros_like(largest), where=largest > 0)
    return np.rint(vectors * scale).astype(np.int8)


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


class VectorStore(CacheSync["Slots"]):
    """The vectors of every generation that has been searched."""

    def search(
        self, connection: sqlite3.Connection, generation: Generation, query: Vectors, k: int, admitted: AdmittedNotes,
        *, phrases: bool = False,
    ) -> ScoredRows:  # fmt: skip
        """Return the k best chunks by cosine, or else `phrases`, ties by id. `connection` is in the snapshot in which
        `admitted` was made."""
        wanted = quantise(np.asarray(query, dtype=np.float32).reshape(1, -1), generation.dimension)
        blocks = self.refresh(connection, generation)
        if phrases:
            blocks = [block.chosen(block.phrases) for block in blocks]
        ids = chained([block.ids for block in blocks])
        cosines = [block.cosines(wanted) for block in blocks]
        for block, scores in zip(blocks, cosines, strict=True) if not phrases else ():
            scores[block.phrases] = -np.inf
        return best(k, ids, chained(cosines), admitted)

    def refresh(self, connection: sqlite3.Connection, generation: Generation) -> list[VectorBlock]:
        """Catch up with the database; return at least one block."""
        with self._lock:
            slots = self._held_for(connection, generation)
            slots.catch_up(connection, lambda done: self._tell(generation.number, done))
            return slots.blocks()

    def _load(self, _: sqlite3.Connection, generation: Generation, /) -> Slots:
        return Slots(generation)


class Slots:
    """The vectors of a generation."""

    def __init__(self, generation: Generation) -> None:
        self._tables = Tables(generation.number)
        self._dimension = generation.dimension
        self._slot = 0
        self._blocks: list[VectorBlock] = []
        self._unchecked_rows = 0

    def blocks(self) -> list[VectorBlock]:
        empty = VectorBlock(np.empty(0, dtype=np.int64), np.empty((0, self._dimension), dtype=np.int8))
        return list(self._blocks) or [empty]

    def is_near(self, connection: sqlite3.Connection) -> bool:
        """Return whether at most `FEW` vectors are newer, and whether the data that each scan needs of the others has
        been computed."""
        newer = f"SELECT 1 FROM {self._tables.vectors} WHERE slot > ? LIMIT {FEW + 1}"
        (count,) = connection.execute(f"SELECT count(*) FROM ({newer})", [self._slot]).fetchone()
        return count <= FEW and all(block.is_known or len(block.ids) <= FEW for block in self.blocks())

    def catch_up(self, connection: sqlite3.Connection, tell: Callable[[float], None]) -> None:
        """Read the newer vectors. Raises the errors of `tell`, after which fewer vectors have been read."""
        last = max(1, last_number(connection, self._tables.vectors))
        rows = connection.execute(
            f"SELECT slot, chunk, vector FROM {self._tables.vectors} JOIN embeddings ON embeddings.id = embedding"
            " WHERE slot > ? ORDER BY slot",
            [self._slot],
        )
        while batch := rows.fetchmany(_READ_ROWS):
            self._add(batch)
            tell(self._slot / last)
        if self._unchecked_rows >= CHECKED_ROWS:
            self._unchecked_rows = 0
            chunks = connection.execute(f"SELECT chunk FROM {self._tables.vectors} WHERE slot <= ?", [self._slot])
            alive = np.fromiter((row[0] for row in chunks), dtype=np.int64)
            block = joined(self._blocks)
            if len(block.ids) >= 2 * len(alive) + CHECKED_ROWS:  # more than half are of replaced notes
                self._blocks = [block.chosen(np.isin(block.ids, alive))]

    def _add(self, batch: list[tuple[int, int, bytes]]) -> None:
        try:
            ids = np.array([chunk for _, chunk, _ in batch], dtype=np.int64)
            data = b"".join(vector for _, _, vector in batch)
        except (TypeError, ValueError, OverflowError) as error:
            raise DamagedRow("a vector's row cannot be read") from error
        if any(len(vector) != self._dimension for _, _, vector in batch):
            raise DamagedRow("a vector has another length than its generation's")
        vectors = np.frombuffer(data, dtype=np.int8).reshape(len(batch), self._dimension)
        self._slot = batch[-1][0]
        self._blocks.append(VectorBlock(ids, vectors))
        self._unchecked_rows += len(batch)
        # Blocks double in size, so that after a thousand appends of one note there are a dozen blocks to scan.
        while len(self._blocks) > 1 and len(self._blocks[-2].ids) <= 2 * len(self._blocks[-1].ids):
            self._blocks[-2:] = [joined(self._blocks[-2:])]
