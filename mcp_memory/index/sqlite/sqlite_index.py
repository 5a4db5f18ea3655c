"""Implement the index with one SQLite file for rows, words and vectors, and caches beside it.

A write is one transaction, a read one snapshot. A cache entry belongs to the token at which it was read."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.errors import InvalidInput
from mcp_memory.index.base import (
    Change,
    Delete,
    Generation,
    LexicalRanking,
    NearPhrase,
    NoteKey,
    Part,
    ScoredRows,
    UnreadFiles,
    Watermark,
)
from mcp_memory.index.keywords.bm25 import TermCorpus
from mcp_memory.index.keywords.inverted_index import InvertedIndex
from mcp_memory.index.keywords.posting_codec import CodecCache
from mcp_memory.index.keywords.postings import stretches
from mcp_memory.index.keywords.tokenizer import any_of, bindable, keys_nearby, lead_key
from mcp_memory.index.sqlite import generations, row_reader, row_writer
from mcp_memory.index.sqlite.cache_sync import FEW
from mcp_memory.index.sqlite.database import BUSY_S, Database
from mcp_memory.index.sqlite.link_table import LinkTable
from mcp_memory.index.sqlite.note_filter import AdmissionCache, AdmittedNotes
from mcp_memory.index.sqlite.schema import FIRST_PHRASE, MAX_CHUNKS, ORDINAL_BITS, Tables, chunk_id
from mcp_memory.index.sqlite.snapshot import Snapshot, open_snapshot
from mcp_memory.index.vectors.store import VectorStore, among_best, best, quantise
from mcp_memory.models import WRITTEN, Filters, NoteId, NotePath, NoteRecord, Passage, Problem, TextHash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcp_memory.models import Vectors


class SqliteIndex(LinkTable):
    """The index in `folder`, which may be deleted at any time and is then rebuilt."""

    def __init__(self, folder: Path) -> None:
        self._admission = AdmissionCache()
        self.database = Database(folder / "index.db", self._drop_caches)
        self._vectors = VectorStore()
        self._words = InvertedIndex()
        self._counted = CodecCache()

    @property
    def problems(self) -> list[Problem]:
        return list(self.database.problems)

    # -- generations -------------------------------------------------------------------------------------------
    def generations(self) -> list[Generation]:
        with self.database.read() as connection:
            return generations.all_generations(connection)

    def begin(self, fingerprint: str, embedding: str, dimension: int) -> Generation:
        with self.database.write() as connection:
            for generation in generations.all_generations(connection):
                if generation.fingerprint == fingerprint:
                    return generation
            self.database.next_token(connection)
            return generations.create(connection, fingerprint, embedding, dimension)

    def activate(self, generation: int, expected: int | None) -> None:
        with self.database.write() as connection:
            generations.activate(connection, generation, expected)
            self.database.next_token(connection)

    def drop(self, generation: int) -> None:
        with self.database.write() as connection:
            generations.drop(connection, generation)
            self.database.next_token(connection)
        self._vectors.forget(generation)
        self._words.forget(generation)

    # -- writing -----------------------------------------------------------------------------------------------
    def apply(self, generation: int, changes: Sequence[Change]) -> int:
        ready = [
            change if isinstance(change, Delete) else row_writer.WrittenRows.from_upsert(change, self._counted)
            for change in changes
        ]
        with self.database.write() as connection:
            target = generations.require(connection, generation)
            model = generations.model_of(connection, generation)
            tally = row_writer.RowCounts()
            for change in ready:
                path = change.path if isinstance(change, Delete) else change.note.path
                tally += row_writer.remove(connection, Tables(generation), path)
                if not isinstance(change, Delete):
                    tally += row_writer.insert(connection, target, model, change)
            row_writer.count(connection, generation, tally)
            return self.database.next_token(connection)

    def missing_vectors(self, generation: int, limit: int) -> list[tuple[TextHash, str]]:
        with self.database.read() as connection:
            generations.require(connection, generation)
            return row_writer.missing(connection, Tables(generation), limit)

    def put_vectors(self, generation: int, hashes: Sequence[TextHash], vectors: Vectors) -> int:
        with self.database.write() as connection:
            target = generations.require(connection, generation)
            if not target.dimension:
                raise InvalidInput(f"generation {generation} holds keywords only")
            quantised = quantise(vectors, target.dimension)
            if len(hashes) != len(quantised):
                raise InvalidInput(f"{len(hashes)} hashes do not fit {len(quantised)} vectors")
            tallies = row_writer.store(connection, generations.model_of(connection, generation), hashes, quantised)
            for number, tally in tallies.items():
                row_writer.count(connection, number, tally)
            return self.database.next_token(connection)

    def purge(self) -> bool:
        with self.database.write() as connection:
            generations.forget_unused(connection)
            self.database.next_token(connection)
        self.database.vacuum()
        self._drop_caches()
        return self.database.cut_log(busy_s=BUSY_S)

    def check(self) -> None:
        self.database.check()

    def cut_log(self) -> bool:
        return self.database.cut_log()

    # -- retrievers --------------------------------------------------------------------------------------------------
    def lexical(self, terms: Sequence[str], k: int, filters: Filters, *, by: LexicalRanking = "chunk") -> ScoredRows:
        keys = list(dict.fromkeys(key for term in terms for key in any_of(term)))
        with self._corpus() as (now, words):
            if now is None:
                return ScoredRows()
            corpus = words.counting(self._admitted(now, Filters(WRITTEN)).mask, now.token)
            admitted = self._admitted(now, filters)
            if by != "section":
                scores = corpus.score_chunks(keys) if by == "chunk" else corpus.count_shared(keys)
                return best(k, corpus.chunks, scores, admitted, above=0)
            # All chunks of a section are of one note, so the first chunk decides whether the section is admitted.
            starts, scores = corpus.section_starts, corpus.score_sections(keys)
            few = among_best(k, corpus.section_chunks, scores, admitted, above=0)
            sizes = starts[few + 1] - starts[few]
            return best(k, corpus.chunks[stretches(starts[few], sizes)], np.repeat(scores[few], sizes))

    def dense(self, vector: Vectors, k: int, filters: Filters) -> ScoredRows:
        with open_snapshot(self.database) as now:
            if now is None or not now.generation.dimension:
                return ScoredRows()
            return self._vectors.search(now.connection, now.generation, vector, k, self._admitted(now, filters))

    def near_phrases(self, vector: Vectors, k: int, filters: Filters) -> list[NearPhrase]:
        with open_snapshot(self.database) as now:
            if now is None or not now.generation.dimension:
                return []
            admitted = self._admitted(now, filters)
            rows = self._vectors.search(now.connection, now.generation, vector, k, admitted, phrases=True)
            firsts = [chunk_id(row.chunk_id >> ORDINAL_BITS, 0) for row in rows]
            notes = {one.chunk_id: one.note for one in row_reader.passages_by_id(now.connection, now.tables, firsts)}
            return [
                NearPhrase(notes[first].when[row.chunk_id % MAX_CHUNKS - FIRST_PHRASE], first, row.score)
                for row, first in zip(rows, firsts, strict=True)
            ]

    def frequencies(self, terms: Sequence[str], filters: Filters | None = None) -> dict[str, int]:
        with self._corpus() as (now, corpus):
            admitted = self._admitted(now, filters).mask if now and filters else None
            return {term: corpus.frequency(any_of(term), admitted) for term in terms}

    def count_chunks(self, filters: Filters) -> int:
        with self._corpus() as (now, corpus):
            return corpus.count(self._admitted(now, filters).mask) if now else 0

    def correct_spelling(self, term: str) -> str | None:
        spellings, keys = keys_nearby(term)
        if not spellings:
            return None
        with self._corpus() as (_, corpus):
            best = corpus.commonest(keys)
            return None if best is None else spellings[best]

    def known_speakers(self, names: Sequence[str]) -> list[str]:
        with self._corpus() as (_, corpus):
            keys = np.array([lead_key(name) for name in names], dtype=np.uint64)
            likely = zip(names, corpus.contains(keys), strict=True)  # rules out nearly all of them at once
            return [name for name, is_known in likely if is_known and corpus.frequency([lead_key(name)])]

    def section_numbers(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        with self._corpus() as (_, corpus):
            return corpus.sections(chunk_ids)

    # -- notes and passages ------------------------------------------------------------------------------------
    def get(self, chunk_ids: Iterable[int]) -> dict[int, Passage]:
        with open_snapshot(self.database) as now:
            found = row_reader.passages_by_id(now.connection, now.tables, chunk_ids) if now else ()
            return {passage.chunk_id: passage for passage in found}

    def passages(self, path: NotePath) -> list[Passage]:
        with open_snapshot(self.database) as now:
            return list(row_reader.passages_of_note(now.connection, now.tables, path)) if now else []

    def find_notes(self, key: NoteKey, value: str) -> list[NoteRecord]:
        clause = f"{'content' if key == 'content_hash' else key} = ? ORDER BY path"
        with open_snapshot(self.database) as now:
            return row_reader.records(now.connection, now.tables, clause, [bindable(value)]) if now else []

    def find_ids(self, ending: str) -> list[NoteId]:
        with open_snapshot(self.database) as now:
            return row_reader.ids_ending(now.connection, now.tables, ending) if now else []

    def projects(self) -> list[str]:
        with open_snapshot(self.database) as now:
            return row_reader.projects(now.connection, now.tables) if now else []

    def mean_vectors(self, paths: Sequence[NotePath]) -> NDArray[np.float32]:
        with open_snapshot(self.database) as now:
            if now is None or not now.generation.dimension:
                return np.zeros((len(paths), 0), dtype=np.float32)
            return row_reader.mean_vectors(now.connection, now.tables, paths, now.generation.dimension)

    def notes(self, filters: Filters, limit: int = 1000) -> list[NoteRecord]:
        with open_snapshot(self.database) as now:
            return row_reader.records_admitted(now.connection, now.tables, filters, limit) if now else []

    def short_notes(self, filters: Filters, most_bytes: int, limit: int = 1000) -> list[NoteRecord]:
        with open_snapshot(self.database) as now:
            return row_reader.short_records(now.connection, now.tables, filters, most_bytes, limit) if now else []

    def scan(self, generation: int, after: NotePath | None = None, limit: int = 10_000) -> list[NoteRecord]:
        with self.database.read() as connection:
            generations.require(connection, generation)
            values = ["" if after is None else bindable(after), max(limit, 0)]
            return row_reader.records(connection, Tables(generation), "path > ? ORDER BY path LIMIT ?", values)

    def watermark(self) -> Watermark:
        with self.database.read() as connection:
            (token,) = connection.execute("SELECT token FROM state").fetchone()
            row = connection.execute("SELECT notes, chunks, pending FROM generations WHERE active").fetchone()
            return Watermark(token, *(row or (0, 0, 0)))

    def unread(self) -> UnreadFiles:
        with open_snapshot(self.database) as now:
            if now is None or now.chunks <= FEW:
                return UnreadFiles()
            caches = (self._words, self._vectors) if now.generation.dimension else (self._words,)
            return UnreadFiles(now.chunks, *(cache.unread(now.connection, now.generation) for cache in caches))

    def read(self, part: Part) -> None:
        if part == "words":
            # so that the data that a search derives from the words is computed, too
            self.lexical(["any"], 1, Filters())
            self.lexical(["any"], 1, Filters(), by="section")
        elif active := next((generation for generation in self.generations() if generation.active), None):
            self.dense(np.zeros(active.dimension, dtype=np.float32), 1, Filters())

    def close(self) -> None:
        self._vectors.close()
        self._words.close()
        self.database.close()

    # -- inside ------------------------------------------------------------------------------------------------
    @contextmanager
    def _corpus(self) -> Generator[tuple[Snapshot | None, TermCorpus]]:
        """Open a snapshot and the words in it; without an active generation, None and no words."""
        while True:
            with open_snapshot(self.database) as now:
                if now is None:
                    yield None, TermCorpus()
                    return
                if (corpus := self._words.corpus(now.connection, now.generation, now.token)) is not None:
                    yield now, corpus
                    return

    def _admitted(self, now: Snapshot, filters: Filters) -> AdmittedNotes:
        return self._admission.get(now.connection, now.generation.number, now.token, filters)

    def _drop_caches(self) -> None:
        self._admission.clear()
        self._vectors.forget()
        self._words.forget()
