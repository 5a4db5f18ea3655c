"""The embedded engine: one SQLite file for rows, words and vectors, and a mapped sidecar to scan the vectors from.

A write changes every leg in one transaction. A read opens a snapshot, asks which generation is active and how far it
is (one row), and answers from that. What is remembered between calls (who passes a filter, how common a word is, the
vectors in memory) is bound to the token it was read at.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mcp_memory.errors import IndexReplaced, InvalidInput
from mcp_memory.index.base import Change, Delete, Generation, Index, NoteKey, Part, ScoredRows, UnreadFiles, Watermark
from mcp_memory.index.keywords.bm25 import TermCorpus
from mcp_memory.index.keywords.inverted_index import InvertedIndex
from mcp_memory.index.keywords.posting_codec import CodecCache
from mcp_memory.index.keywords.postings import stretches
from mcp_memory.index.keywords.tokenizer import any_of, bindable, keys_nearby, lead_key
from mcp_memory.index.sqlite import generations, row_reader, row_writer
from mcp_memory.index.sqlite.cache_sync import FEW
from mcp_memory.index.sqlite.database import BUSY_S, Database
from mcp_memory.index.sqlite.note_filter import AdmissionCache, AdmittedNotes, condition
from mcp_memory.index.sqlite.schema import Tables
from mcp_memory.index.vectors.store import VectorStore, quantise
from mcp_memory.index.vectors.top_k import among_best, best
from mcp_memory.models import Filters, NotePath, NoteRecord, Passage, Problem, TextHash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcp_memory.models import Vectors

_FILE = "index.db"


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The active generation inside one transaction."""

    connection: sqlite3.Connection
    generation: Generation
    tables: Tables
    chunks: int
    token: int


class SqliteIndex(Index):
    """Everything lies in `folder`; it may be deleted at any time and is then built anew."""

    def __init__(self, folder: Path) -> None:
        self._admission = AdmissionCache()
        self._database = Database(folder / _FILE, self._start_afresh)
        self._vectors = VectorStore(folder, self._database.problems.append)
        self._words = InvertedIndex(folder, self._database.problems.append)
        self._counted = CodecCache()
        with suppress(IndexReplaced):  # then nothing is left to distrust
            self._distrust_files()

    @property
    def problems(self) -> list[Problem]:
        """What was found damaged since the start, oldest first."""
        return list(self._database.problems)

    # -- generations -------------------------------------------------------------------------------------------
    def generations(self) -> list[Generation]:
        with self._database.read() as connection:
            return generations.all_generations(connection)

    def begin(self, fingerprint: str, embedding: str, dimension: int) -> Generation:
        with self._database.write() as connection:
            for generation in generations.all_generations(connection):
                if generation.fingerprint == fingerprint:
                    return generation
            self._database.next_token(connection)
            return generations.create(connection, fingerprint, embedding, dimension)

    def activate(self, generation: int, expected: int | None) -> None:
        with self._database.write() as connection:
            generations.activate(connection, generation, expected)
            self._database.next_token(connection)

    def drop(self, generation: int) -> None:
        with self._database.write() as connection:
            generations.drop(connection, generation)
            self._database.next_token(connection)
        self._vectors.forget(generation)
        self._words.forget(generation)

    # -- writing -----------------------------------------------------------------------------------------------
    def apply(self, generation: int, changes: Sequence[Change]) -> int:
        ready = [
            change if isinstance(change, Delete) else row_writer.WrittenRows.from_upsert(change, self._counted)
            for change in changes
        ]
        with self._database.write() as connection:
            target = generations.require(connection, generation)
            model = generations.model_of(connection, generation)
            tables = Tables(generation)
            tally = row_writer.RowCounts()
            for change in ready:
                match change:
                    case row_writer.WrittenRows():
                        tally += row_writer.remove(connection, tables, change.note.path)
                        tally += row_writer.insert(connection, target, model, change)
                    case Delete():
                        tally += row_writer.remove(connection, tables, change.path)
            row_writer.count(connection, generation, tally)
            return self._database.next_token(connection)

    def missing_vectors(self, generation: int, limit: int) -> list[tuple[TextHash, str]]:
        with self._database.read() as connection:
            generations.require(connection, generation)
            return row_writer.missing(connection, Tables(generation), limit)

    def put_vectors(self, generation: int, hashes: Sequence[TextHash], vectors: Vectors) -> int:
        with self._database.write() as connection:
            target = generations.require(connection, generation)
            if not target.dimension:
                raise InvalidInput(f"generation {generation} holds keywords only")
            quantised = quantise(vectors, target.dimension)
            if len(hashes) != len(quantised):
                raise InvalidInput(f"{len(hashes)} hashes do not fit {len(quantised)} vectors")
            tallies = row_writer.store(connection, generations.model_of(connection, generation), hashes, quantised)
            for number, tally in tallies.items():
                row_writer.count(connection, number, tally)
            return self._database.next_token(connection)

    def purge(self) -> bool:
        with self._database.write() as connection:
            generations.forget_unused(connection)
            self._database.next_token(connection)
        self._database.vacuum()
        self._vectors.forget()
        self._words.forget()
        return self._database.cut_log(busy_s=BUSY_S)

    def cut_log(self) -> bool:
        return self._database.cut_log()

    # -- legs --------------------------------------------------------------------------------------------------
    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> ScoredRows:
        with self._corpus() as (now, corpus):
            return self._best(now, corpus, corpus.score_chunks(_keys(terms)), k, filters)

    def section(self, terms: Sequence[str], k: int, filters: Filters) -> ScoredRows:
        with self._corpus() as (now, corpus):
            if now is None:
                return ScoredRows()
            # A section is of one note, so its first chunk tells whether it is admitted; the k best have k chunks.
            starts, scores = corpus.section_starts, corpus.score_sections(_keys(terms))
            admitted = self._admitted(now, filters)
            few = among_best(k, corpus.section_chunks, scores, admitted, above=0)
            sizes = starts[few + 1] - starts[few]
            return best(k, corpus.chunks[stretches(starts[few], sizes)], np.repeat(scores[few], sizes))

    def dense(self, vector: Vectors, k: int, filters: Filters) -> ScoredRows:
        with self._snapshot() as now:
            if now is None or not now.generation.dimension:
                return ScoredRows()
            return self._vectors.search(now.connection, now.generation, vector, k, self._admitted(now, filters))

    def rank_by_shared_terms(self, terms: Sequence[str], k: int, filters: Filters) -> ScoredRows:
        with self._corpus() as (now, corpus):
            return self._best(now, corpus, corpus.shared(_keys(terms)), k, filters)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        with self._corpus() as (_, corpus):
            return {term: corpus.frequency(any_of(term)) for term in terms}

    def correct_spelling(self, term: str) -> str | None:
        spellings, keys = keys_nearby(term)
        if not spellings:
            return None
        with self._corpus() as (_, corpus):
            best = corpus.commonest(keys)
            return None if best is None else spellings[best]

    def known_speakers(self, names: Sequence[str]) -> list[str]:
        with self._corpus() as (_, corpus):
            keys = [lead_key(name) for name in names]
            known = corpus.contains(np.array(keys, dtype=np.uint64))  # one look for all of them: hardly any is
            likely = zip(names, keys, known, strict=True)
            return [name for name, key, here in likely if here and corpus.frequency([key])]

    def section_numbers(self, chunk_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        with self._corpus() as (_, corpus):
            return corpus.sections(chunk_ids)

    # -- notes and passages ------------------------------------------------------------------------------------
    def get(self, chunk_ids: Iterable[int]) -> dict[int, Passage]:
        with self._snapshot() as now:
            if now is None:
                return {}
            found = row_reader.passages(now.connection, now.tables, chunk_ids)
            return {passage.chunk_id: passage for passage in found}

    def passages(self, path: NotePath) -> list[Passage]:
        with self._snapshot() as now:
            if now is None:
                return []
            number = row_reader.number_of(now.connection, now.tables, path)
            return [] if number is None else list(row_reader.passages_of(now.connection, now.tables, number))

    def find_notes(self, key: NoteKey, value: str) -> list[NoteRecord]:
        column = "content" if key == "content_hash" else key
        with self._snapshot() as now:
            if now is None:
                return []
            return row_reader.records(now.connection, now.tables, f"{column} = ? ORDER BY path", [bindable(value)])

    def mean_vectors(self, paths: Sequence[NotePath]) -> NDArray[np.float32]:
        with self._snapshot() as now:
            if now is None or not now.generation.dimension:
                return np.zeros((len(paths), 0), dtype=np.float32)
            return row_reader.meanings(now.connection, now.tables, paths, now.generation.dimension)

    def notes(self, filters: Filters, limit: int = 1000) -> list[NoteRecord]:
        with self._snapshot() as now:
            if now is None:
                return []
            clause, values = condition(now.tables, filters)
            order = "ORDER BY date IS NULL, date DESC, path LIMIT ?"
            return row_reader.records(now.connection, now.tables, f"{clause} {order}", [*values, max(limit, 0)])

    def scan(self, generation: int, after: NotePath | None = None, limit: int = 10_000) -> list[NoteRecord]:
        with self._database.read() as connection:
            generations.require(connection, generation)
            values = ["" if after is None else bindable(after), max(limit, 0)]
            return row_reader.records(connection, Tables(generation), "path > ? ORDER BY path LIMIT ?", values)

    def watermark(self) -> Watermark:
        with self._database.read() as connection:
            (token,) = connection.execute("SELECT token FROM state").fetchone()
            row = connection.execute("SELECT notes, chunks, pending FROM generations WHERE active").fetchone()
            return Watermark(token, *(row or (0, 0, 0)))

    def unread(self) -> UnreadFiles:
        with self._snapshot() as now:
            if now is None or now.chunks <= FEW:
                return UnreadFiles()
            followers = [self._words, *([self._vectors] if now.generation.dimension else [])]
            return UnreadFiles(now.chunks, *(each.unread(now.connection, now.generation) for each in followers))

    def read(self, part: Part) -> None:
        """As a search does, for nothing: also what it works out once of all that it has read, and who is admitted."""
        if part == "words":
            self.lexical(["any"], 1, Filters())
            self.section(["any"], 1, Filters())
        elif active := next((each for each in self.generations() if each.active), None):
            self.dense(np.zeros(active.dimension, dtype=np.float32), 1, Filters())

    def close(self) -> None:
        self._vectors.close()
        self._words.close()
        self._database.close()

    # -- inside ------------------------------------------------------------------------------------------------
    @contextmanager
    def _snapshot(self) -> Generator[_Snapshot | None]:
        """None while no generation is active."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT number, fingerprint, embedding, dimension, chunks, token FROM generations, state WHERE active"
            ).fetchone()
            if row is None:
                yield None
                return
            number, fingerprint, embedding, dimension, chunks, token = row
            generation = Generation(number, fingerprint, embedding, dimension, active=True)
            yield _Snapshot(connection, generation, Tables(number), chunks, token)

    @contextmanager
    def _corpus(self) -> Generator[tuple[_Snapshot | None, TermCorpus]]:
        """A snapshot and the words in it; no words while no generation is active."""
        while True:
            with self._snapshot() as now:
                if now is None:
                    yield None, TermCorpus()
                    return
                corpus = self._words.corpus(now.connection, now.generation.number, now.token)
                if corpus is not None:
                    yield now, corpus
                    return

    def _best(
        self, now: _Snapshot | None, corpus: TermCorpus, scores: NDArray[np.float32], k: int, filters: Filters
    ) -> ScoredRows:
        return best(k, corpus.chunks, scores, self._admitted(now, filters), above=0) if now else ScoredRows()

    def _admitted(self, now: _Snapshot, filters: Filters) -> AdmittedNotes:
        return self._admission.get(now.connection, now.generation.number, now.token, filters)

    def _distrust_files(self) -> None:
        with self._database.read() as connection:
            numbers = [generation.number for generation in generations.all_generations(connection)]
            self._vectors.distrust(connection, numbers)
            self._words.distrust(connection, numbers)

    def _start_afresh(self) -> None:
        self._admission.clear()
        self._vectors.forget()
        self._words.forget()


def _keys(terms: Iterable[str]) -> list[int]:
    return list(dict.fromkeys(key for term in terms for key in any_of(term)))
