"""The embedded engine: one SQLite file for rows, words and vectors, and a mapped sidecar to scan the vectors from.

A write changes every leg in one transaction. A read opens a snapshot, asks which generation is active and how far it
is (one row), and answers from that. What is remembered between calls (who passes a filter, how common a word is, the
vectors in memory) is bound to the token it was read at.
"""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_memory.errors import InvalidInput
from mcp_memory.index import generations, postings, writing
from mcp_memory.index.base import Change, Delete, Generation, Index, Upsert, Watermark
from mcp_memory.index.database import Database
from mcp_memory.index.filters import AdmissionCache, Admitted, condition
from mcp_memory.index.rows import decode_chunk, decode_note
from mcp_memory.index.schema import MAX_CHUNKS, ORDINAL_BITS, Tables, id_range
from mcp_memory.index.vectors import VectorStore, quantise
from mcp_memory.index.words import any_of, bindable, exactly
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, Passage, Problem, Scored, Shelf, TextHash

if TYPE_CHECKING:
    from mcp_memory.embedders.base import Vectors

POSTING_BUDGET = 20_000
"""Rows that one keyword leg may rank."""

_FILE = "index.db"
_IN_BATCH = 500


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The active generation inside one transaction."""

    connection: sqlite3.Connection
    generation: Generation
    tables: Tables
    token: int
    churn: int


class SqliteIndex(Index):
    """Everything lies in `folder`; it may be deleted at any time and is then built anew."""

    def __init__(self, folder: Path, *, posting_budget: int = POSTING_BUDGET) -> None:
        self._budget = posting_budget
        self._admission = AdmissionCache()
        self._frequencies = postings.FrequencyCache()
        self._database = Database(folder / _FILE, self._start_afresh)
        self._vectors = VectorStore(folder, self._database.report)
        with self._database.read() as connection:
            self._vectors.distrust(connection, [generation.number for generation in generations.known(connection)])

    @property
    def problems(self) -> list[Problem]:
        """What was found damaged since the start, oldest first."""
        return list(self._database.problems)

    # -- generations -------------------------------------------------------------------------------------------
    def generations(self) -> list[Generation]:
        with self._database.read() as connection:
            return generations.known(connection)

    def begin(self, fingerprint: str, embedding: str, dimension: int) -> Generation:
        with self._database.write() as connection:
            for generation in generations.known(connection):
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

    # -- writing -----------------------------------------------------------------------------------------------
    def apply(self, generation: int, changes: Sequence[Change]) -> int:
        with self._database.write() as connection:
            target = generations.require(connection, generation)
            model = generations.model_of(connection, generation)
            tables = Tables(generation)
            tally = writing.Tally()
            for change in changes:
                match change:
                    case Upsert():
                        tally += writing.remove(connection, tables, change.note.path)
                        tally += writing.insert(connection, target, model, change)
                    case Delete():
                        tally += writing.remove(connection, tables, change.path)
            writing.count(connection, generation, tally)
            return self._database.next_token(connection)

    def missing_vectors(self, generation: int, limit: int) -> list[tuple[TextHash, str]]:
        with self._database.read() as connection:
            generations.require(connection, generation)
            return writing.missing(connection, Tables(generation), limit)

    def put_vectors(self, generation: int, hashes: Sequence[TextHash], vectors: Vectors) -> int:
        with self._database.write() as connection:
            target = generations.require(connection, generation)
            if not target.dimension:
                raise InvalidInput(f"generation {generation} holds keywords only")
            quantised = quantise(vectors, target.dimension)
            if len(hashes) != len(quantised):
                raise InvalidInput(f"{len(hashes)} hashes do not fit {len(quantised)} vectors")
            tallies = writing.store(connection, generations.model_of(connection, generation), hashes, quantised)
            for number, tally in tallies.items():
                writing.count(connection, number, tally)
            return self._database.next_token(connection)

    # -- legs --------------------------------------------------------------------------------------------------
    def lexical(self, terms: Sequence[str], k: int, filters: Filters) -> list[Scored]:
        with self._snapshot() as now:
            if now is None:
                return []
            chosen = self._plan(now, now.tables.fts, terms)
            admitted = self._admitted(now, filters)
            return postings.search(now.connection, now.tables.fts, ("body", "context"), chosen, k=k, admitted=admitted)

    def section(self, terms: Sequence[str], k: int, filters: Filters) -> list[Scored]:
        with self._snapshot() as now:
            if now is None:
                return []
            chosen = self._plan(now, now.tables.section_fts, terms)
            admitted = self._admitted(now, filters)
            best = postings.search(now.connection, now.tables.section_fts, ("body",), chosen, k=k, admitted=admitted)
            found: list[Scored] = []
            for hit in best:
                rows = now.connection.execute(
                    f"SELECT id FROM {now.tables.chunks} WHERE id BETWEEN ? AND ? AND section = ? ORDER BY id",
                    [*id_range(hit.chunk_id >> ORDINAL_BITS), hit.chunk_id % MAX_CHUNKS],
                )
                found += [Scored(row[0], hit.score) for row in rows]
                if len(found) >= k:
                    break
            return found[: max(k, 0)]

    def dense(self, vector: Vectors, k: int, filters: Filters) -> list[Scored]:
        with self._snapshot() as now:
            if now is None or not now.generation.dimension:
                return []
            return self._vectors.search(now.connection, now.generation, vector, k, self._admitted(now, filters))

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        with self._snapshot() as now:
            counts = dict.fromkeys(terms, 0)
            for term in counts if now else ():
                phrase = exactly(term)
                if now and phrase:
                    match = f"body : {phrase}"
                    counts[term] = self._frequencies.get(now.connection, now.tables.fts, match, now.churn)
            return counts

    def plan_terms(self, terms: Sequence[str]) -> list[str]:
        """The terms of which `lexical` would search at least a part: the rarest that fit the posting budget."""
        with self._snapshot() as now:
            if now is None:
                return []
            kept = set(self._plan(now, now.tables.fts, terms).phrases)
            return [term for term in terms if kept.intersection(any_of(term))]

    # -- notes and passages ------------------------------------------------------------------------------------
    def get(self, chunk_ids: Iterable[int]) -> dict[int, Passage]:
        with self._snapshot() as now:
            if now is None:
                return {}
            rows = _chosen(now.connection, f"SELECT id, text, rest FROM {now.tables.chunks} WHERE id", chunk_ids)
            return {passage.chunk_id: passage for passage in _passages(now, rows)}

    def neighbours(self, chunk_ids: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        with self._snapshot() as now:
            if now is None:
                return {}
            # A note's ids are consecutive and notes lie far apart: what stands one further is its neighbour.
            around = {near for chunk in chunk_ids for near in (chunk - 1, chunk, chunk + 1)}
            rows = _chosen(now.connection, f"SELECT id FROM {now.tables.chunks} WHERE id", around)
            known = {row[0] for row in rows}
            return {
                chunk: (chunk - 1 if chunk - 1 in known else None, chunk + 1 if chunk + 1 in known else None)
                for chunk in chunk_ids
                if chunk in known
            }

    def passages(self, path: NotePath) -> list[Passage]:
        with self._snapshot() as now:
            if now is None:
                return []
            numbers = f"SELECT number FROM {now.tables.notes} WHERE path = ?"
            row = now.connection.execute(numbers, [bindable(path)]).fetchone()
            if row is None:
                return []
            rows = now.connection.execute(
                f"SELECT id, text, rest FROM {now.tables.chunks} WHERE id BETWEEN ? AND ? ORDER BY id", id_range(row[0])
            )
            return list(_passages(now, rows.fetchall()))

    def note(self, path: NotePath) -> NoteRecord | None:
        found = self._notes("path = ?", [bindable(path)])
        return found[0] if found else None

    def note_by_id(self, note_id: NoteId) -> list[NoteRecord]:
        return self._notes("id = ? ORDER BY path", [bindable(note_id)])

    def find_content(self, content_hash: str, kind: str, project: str | None) -> list[NoteRecord]:
        values = [
            bindable(content_hash),
            bindable(kind),
            Shelf.ACTIVE,
            project if project is None else bindable(project),
        ]
        return self._notes("content = ? AND kind = ? AND shelf = ? AND project IS ? ORDER BY path", values)

    def notes(self, filters: Filters, limit: int = 1000) -> list[NoteRecord]:
        with self._snapshot() as now:
            if now is None:
                return []
            clause, values = condition(now.tables, filters)
            order = "ORDER BY date IS NULL, date DESC, path LIMIT ?"
            return _records(now.connection, now.tables, f"{clause} {order}", [*values, max(limit, 0)])

    def scan(self, generation: int, after: NotePath | None = None, limit: int = 10_000) -> list[NoteRecord]:
        with self._database.read() as connection:
            generations.require(connection, generation)
            values = ["" if after is None else bindable(after), max(limit, 0)]
            return _records(connection, Tables(generation), "path > ? ORDER BY path LIMIT ?", values)

    def watermark(self) -> Watermark:
        with self._database.read() as connection:
            (token,) = connection.execute("SELECT token FROM state").fetchone()
            row = connection.execute("SELECT notes, chunks, pending FROM generations WHERE active").fetchone()
            return Watermark(token, *(row or (0, 0, 0)))

    def close(self) -> None:
        self._vectors.save()
        self._database.close()

    # -- inside ------------------------------------------------------------------------------------------------
    @contextmanager
    def _snapshot(self) -> Generator[_Snapshot | None]:
        """None while no generation is active."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT number, fingerprint, embedding, dimension, churn, token FROM generations, state WHERE active"
            ).fetchone()
            if row is None:
                yield None
                return
            number, fingerprint, embedding, dimension, churn, token = row
            generation = Generation(number, fingerprint, embedding, dimension, active=True)
            yield _Snapshot(connection, generation, Tables(number), token, churn)

    def _plan(self, now: _Snapshot, table: str, terms: Sequence[str]) -> postings.Plan:
        def count(match: str) -> int:
            return self._frequencies.get(now.connection, table, match, now.churn)

        costs = {
            phrase: postings.Cost(own=count(f"body : {phrase}"), total=count(phrase))
            for phrase in postings.phrases_of(terms)
        }
        return postings.plan(costs, self._budget)

    def _admitted(self, now: _Snapshot, filters: Filters) -> Admitted:
        return self._admission.get(now.connection, now.generation.number, now.token, filters)

    def _notes(self, clause: str, values: Sequence[Any]) -> list[NoteRecord]:
        with self._snapshot() as now:
            return [] if now is None else _records(now.connection, now.tables, clause, values)

    def _start_afresh(self) -> None:
        self._admission.clear()
        self._frequencies.clear()
        self._vectors.forget()


def _records(connection: sqlite3.Connection, tables: Tables, clause: str, values: Sequence[Any]) -> list[NoteRecord]:
    rows = connection.execute(f"SELECT record FROM {tables.notes} WHERE {clause}", values)
    return [decode_note(row[0]) for row in rows]


def _chosen(connection: sqlite3.Connection, select: str, ids: Iterable[int]) -> Iterator[Any]:
    """The rows with these ids; ids that SQLite could not even hold are nobody's."""
    wanted = [number for number in dict.fromkeys(ids) if 0 <= number < 1 << 63]
    for start in range(0, len(wanted), _IN_BATCH):
        part = wanted[start : start + _IN_BATCH]
        yield from connection.execute(f"{select} IN ({', '.join('?' for _ in part)})", part)


def _passages(now: _Snapshot, rows: Iterable[tuple[int, bytes, str]]) -> Iterator[Passage]:
    held = list(rows)
    numbers = {chunk >> ORDINAL_BITS for chunk, _, _ in held}
    select = f"SELECT number, record FROM {now.tables.notes} WHERE number"
    notes = {number: decode_note(record) for number, record in _chosen(now.connection, select, numbers)}
    for chunk, text, rest in held:
        yield Passage(chunk, chunk % MAX_CHUNKS, decode_chunk(text, rest), notes[chunk >> ORDINAL_BITS])
