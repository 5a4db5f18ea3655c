"""Speed and size of the embedded index on a synthetic corpus.

    python tests/benchmarks/bench_index.py [--chunks 10000 100000] [--dimension 384]

Words follow Zipf's law (a rank's frequency is proportional to 1 / rank), ten chunks of 40 words a note, vectors are
random. "common" queries hold two of the 30 to 150 most frequent words, two middling and two rare ones; stop words,
which an engine drops before it asks, would be the first 30.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mcp_memory.index.base import IndexedChunk, Upsert
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.models import Chunk, Etag, Filters, NoteId, NotePath, NoteRecord, NoteState, TextHash

CHUNKS_A_NOTE = 10
WORDS_A_CHUNK = 40
VOCABULARY = 50_000
RNG = np.random.default_rng(7)
ALL = Filters()
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


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


class Table:
    def __init__(self, title: str) -> None:
        print(f"\n{title}\n{'':34}{'p50':>10}{'p99':>10}{'max':>10}")

    def row(self, name: str, milliseconds: list[float]) -> None:
        ordered = sorted(milliseconds)
        p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
        print(f"{name:34}{statistics.median(ordered):10.2f}{p99:10.2f}{ordered[-1]:10.2f}  ms", flush=True)


def build(index: SqliteIndex, chunks: int, dimension: int, embedding: str = "random") -> int:
    generation = index.begin("bench", embedding, dimension)
    notes = chunks // CHUNKS_A_NOTE
    making, applying, storing = 0.0, 0.0, 0.0
    for first in range(0, notes, 200):
        batch: list[Upsert] = []
        making += timed(
            lambda first=first, batch=batch: batch.extend(map(upsert, range(first, min(first + 200, notes))))
        )
        applying += timed(lambda batch=batch: index.apply(generation.number, batch))
        hashes = [indexed.text_hash for change in batch for indexed in change.chunks]
        vectors = unit(len(hashes), dimension)
        storing += timed(lambda hashes=hashes, vectors=vectors: index.put_vectors(generation.number, hashes, vectors))
    index.activate(generation.number, None)
    print(
        f"build: {chunks / applying * 1e3:,.0f} chunks/s rows and words, {chunks / storing * 1e3:,.0f} chunks/s vectors"
    )
    return generation.number


def measure(chunks: int, dimension: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = resident_mb()
        index = SqliteIndex(folder)
        table = Table(f"== {chunks:,} chunks, {dimension} dimensions ==")
        generation = build(index, chunks, dimension)
        table.row("first vector query after build", [timed(lambda: index.dense(unit(1, dimension)[0], 1, Filters()))])
        index.close()
        table.row("open", [timed(lambda: SqliteIndex(folder).close()) for _ in range(5)])
        index = SqliteIndex(folder)
        table.row("first vector query after open", [timed(lambda: index.dense(unit(1, dimension)[0], 200, Filters()))])

        def query(*ranges: tuple[int, int]) -> list[str]:
            return words(np.concatenate([RNG.integers(low, high, 2) for low, high in ranges]))

        common = [query((30, 150), (150, 2000), (2000, 20000)) for _ in range(200)]
        rare = [query((2000, 20000), (2000, 20000)) for _ in range(200)]
        alone = [query((30, 60))[:1] for _ in range(50)]
        vectors = unit(200, dimension)
        rare_tag = Filters(tags=frozenset({"rare"}))
        table.row("keywords, common: first time", [timed(lambda q=q: index.lexical(q, 200, Filters())) for q in common])
        table.row("keywords, common", [timed(lambda q=q: index.lexical(q, 200, Filters())) for q in common])
        table.row("keywords, rare", [timed(lambda q=q: index.lexical(q, 200, Filters())) for q in rare])
        table.row("keywords, one common word", [timed(lambda q=q: index.lexical(q, 200, Filters())) for q in alone])
        table.row("keywords, common, 1 % filter", [timed(lambda q=q: index.lexical(q, 200, rare_tag)) for q in common])
        table.row(
            "keywords, one common, 1 % filter", [timed(lambda q=q: index.lexical(q, 200, rare_tag)) for q in alone]
        )
        table.row(
            "sections, common", [timed(lambda q=q: index.lexical(q, 200, Filters(), by="section")) for q in common]
        )
        table.row("vectors", [timed(lambda v=v: index.dense(v, 200, Filters())) for v in vectors])
        table.row("vectors, 1 % filter", [timed(lambda v=v: index.dense(v, 200, rare_tag)) for v in vectors])
        both = zip(common, vectors, strict=True)
        run = [
            timed(lambda q=q, v=v: (index.lexical(q, 200, Filters()), index.dense(v, 200, Filters()))) for q, v in both
        ]
        table.row("keywords, common + vectors", run)
        best = [row.chunk_id for row in index.dense(vectors[0], 20, Filters())]
        table.row("20 passages", [timed(lambda: index.get(best)) for _ in range(50)])

        changed, indexed, next_query = [], [], []
        for number in range(300):
            change = upsert(number)
            hashes = [chunk.text_hash for chunk in change.chunks]
            fresh = unit(len(hashes), dimension)
            changed.append(timed(lambda change=change: index.apply(generation, [change])))
            indexed.append(timed(lambda h=hashes, f=fresh: index.put_vectors(generation, h, f)))
            next_query.append(timed(lambda: (index.lexical(rare[0], 200, ALL), index.dense(vectors[0], 200, ALL))))
        table.row("one changed note: rows and words", changed)
        table.row("one changed note: vectors", indexed)
        table.row("rare + vectors after a change", next_query)
        size = {path.name: path.stat().st_size / 1e6 for path in sorted(folder.iterdir())}
        print(f"resident: {before:.0f} MB before, {resident_mb():.0f} MB now; files in MB:", end=" ")
        print(", ".join(f"{name} {mb:.0f}" for name, mb in size.items()), flush=True)
        index.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--dimension", type=int, default=384)
    arguments = parser.parse_args()
    for chunks in arguments.chunks:
        measure(chunks, arguments.dimension)


if __name__ == "__main__":
    main()
