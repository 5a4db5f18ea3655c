"""An index of made-up words and vectors, so that a million chunks are there within minutes.

Words follow Zipf's law (a rank's frequency is proportional to 1 / rank), ten chunks of 40 words a note, vectors are
random. Stop words, which an engine drops before it asks, would be the 30 most frequent.
"""

from __future__ import annotations

import hashlib

import numpy as np

from mcp_memory.index.base import IndexedChunk, Upsert
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.models import Chunk, Etag, NoteId, NotePath, NoteRecord, NoteState, TextHash

CHUNKS_A_NOTE = 10
WORDS_A_CHUNK = 40
VOCABULARY = 50_000
BATCH = 200
RNG = np.random.default_rng(7)
CUMULATED = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
CUMULATED /= CUMULATED[-1]


def words(ranks: np.ndarray) -> list[str]:
    return [f"w{rank:x}" for rank in ranks.tolist()]


def upsert(number: int) -> Upsert:
    ranks = np.searchsorted(CUMULATED, RNG.random((CHUNKS_A_NOTE, WORDS_A_CHUNK)))
    texts = [" ".join(words(row)) for row in ranks]
    chunks, start = [], 0
    for at, text in enumerate(texts):
        chunk = Chunk(text, start, start + len(text), at + 1, at + 1, section=at // 5)
        text_hash = TextHash(hashlib.sha256(text.encode()).hexdigest())
        chunks.append(IndexedChunk(chunk, text, text_hash))
        start += len(text) + 1
    tags = ("rare",) if number % 100 == 0 else ()
    path = NotePath(f"notes/{number % 50}/{number}.md")
    note = NoteRecord(
        path, NoteId(path), Etag("0" * 64), "1-2-3-4", f"Note {number}", "note", NoteState.ACTIVE, tags=tags
    )
    return Upsert(note, chunks, {0: f"Note {number}", 1: f"Note {number} more"})


def unit(count: int, dimension: int) -> np.ndarray:
    rows = RNG.standard_normal((count, dimension), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def build(index: SqliteIndex, chunks: int, dimension: int, embedding: str) -> None:
    generation = index.begin("bench", embedding, dimension).number
    notes = chunks // CHUNKS_A_NOTE
    for first in range(0, notes, BATCH):
        batch = [upsert(number) for number in range(first, min(first + BATCH, notes))]
        index.apply(generation, batch)
        hashes = [indexed.text_hash for change in batch for indexed in change.chunks]
        index.put_vectors(generation, hashes, unit(len(hashes), dimension))
    index.activate(generation, None)
