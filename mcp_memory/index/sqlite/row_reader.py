"""Read rows of a generation as records and passages. Every function runs inside the caller's snapshot."""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.keywords.tokenizer import bindable
from mcp_memory.index.sqlite.note_filter import condition
from mcp_memory.index.sqlite.row_codec import decode_chunk, decode_note
from mcp_memory.index.sqlite.schema import FIRST_PHRASE, MAX_CHUNKS, ORDER, ORDINAL_BITS, Tables
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, Passage
from mcp_memory.runtime.health import give_way

_IN_BATCH = 500

_IDS_OF_NOTE = f"BETWEEN number << {ORDINAL_BITS} AND (number << {ORDINAL_BITS}) + {FIRST_PHRASE - 1}"


def records(connection: sqlite3.Connection, tables: Tables, clause: str, values: Sequence[Any]) -> list[NoteRecord]:
    """Return notes by an SQL condition, with its order and limit."""
    found: list[NoteRecord] = []
    for row in connection.execute(f"SELECT record FROM {tables.notes} WHERE {clause}", values):
        give_way()
        found.append(decode_note(row[0]))
    return found


def records_admitted(connection: sqlite3.Connection, tables: Tables, filters: Filters, limit: int) -> list[NoteRecord]:
    """Return the notes that match, as `Index.notes` does."""
    clause, values = condition(tables, filters)
    return records(connection, tables, f"{clause} ORDER BY {ORDER} LIMIT ?", [*values, max(limit, 0)])


def short_records(
    connection: sqlite3.Connection, tables: Tables, filters: Filters, most_bytes: int, limit: int
) -> list[NoteRecord]:
    """Return notes, as `Index.short_notes` does. Texts are compressed where that makes them shorter."""
    clause, values = condition(tables, filters)
    length = f"SELECT length(text) FROM {tables.chunks} chunk WHERE chunk.id {_IDS_OF_NOTE}"
    short = f"{clause} AND size = 1 AND ({length}) <= ? ORDER BY {ORDER} LIMIT ?"
    return records(connection, tables, short, [*values, most_bytes, max(limit, 0)])


def ids_ending(connection: sqlite3.Connection, tables: Tables, ending: str) -> list[NoteId]:
    """Return ids with this ending, as `Index.find_ids` does. Reads every row: for ids that a person or agent passes."""
    notes = connection.execute(f"SELECT id FROM {tables.notes} WHERE id LIKE ?", [f"%{ending}"])
    entries = connection.execute(
        f"SELECT path || '#' || json_extract(rest, '$[6]') FROM {tables.chunks} chunk"
        f" JOIN {tables.notes} ON number = chunk.id >> {ORDINAL_BITS} WHERE rest LIKE ?",
        [f'%{ending}","__:__"]'],
    )
    with_forgotten = records(connection, tables, "record LIKE ?", [f'%{ending}"%'])
    forgotten = [f"{note.path}#{entry}" for note in with_forgotten for entry in note.meta.get("forgotten", ())]
    found = [row[0] for row in (*notes, *entries)]
    found += [entry for entry in forgotten if entry.lower().endswith(ending.lower())]
    return sorted({NoteId(note_id) for note_id in found})


def projects(connection: sqlite3.Connection, tables: Tables) -> list[str]:
    rows = connection.execute(f"SELECT DISTINCT project FROM {tables.notes} WHERE project IS NOT NULL ORDER BY project")
    return [project for (project,) in rows]


def passages_by_id(connection: sqlite3.Connection, tables: Tables, chunk_ids: Iterable[int]) -> Iterator[Passage]:
    """Return passages in no particular order; unknown ids are absent."""
    rows = _chosen(connection, f"SELECT id, text, rest FROM {tables.chunks} WHERE id", chunk_ids)
    return _with_notes(connection, tables, rows)


def passages_of_note(connection: sqlite3.Connection, tables: Tables, path: NotePath) -> Iterator[Passage]:
    """Return the passages of a note in order; none for an unknown note."""
    give_way()
    rows = connection.execute(
        f"SELECT chunk.id, text, rest FROM {tables.notes} JOIN {tables.chunks} chunk ON chunk.id {_IDS_OF_NOTE}"
        " WHERE path = ? ORDER BY chunk.id",
        [bindable(path)],
    )
    return _with_notes(connection, tables, rows)


def mean_vectors(
    connection: sqlite3.Connection, tables: Tables, paths: Sequence[NotePath], dimension: int
) -> NDArray[np.float32]:
    """Return mean vectors, as `Index.mean_vectors` does."""
    named = [bindable(path) for path in paths]
    wanted = list(dict.fromkeys(named))
    places = {path: at for at, path in enumerate(wanted)}
    sums = np.zeros((len(wanted), dimension), dtype=np.float32)
    for start in range(0, len(wanted), _IN_BATCH):
        part = wanted[start : start + _IN_BATCH]
        rows = connection.execute(
            f"""SELECT path, vector FROM {tables.notes}
                JOIN {tables.vectors} slot ON slot.chunk {_IDS_OF_NOTE}
                JOIN embeddings ON embeddings.id = slot.embedding
                WHERE path IN ({", ".join("?" for _ in part)})""",
            part,
        )
        for path, vector in rows:
            row = np.frombuffer(vector, dtype=np.int8).astype(np.float32)
            sums[places[path]] += row / max(float(np.linalg.norm(row)), 1e-9)
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return sums[[places[path] for path in named]]


def _with_notes(
    connection: sqlite3.Connection, tables: Tables, rows: Iterable[tuple[int, bytes, str]]
) -> Iterator[Passage]:
    held = list(rows)
    numbers = {chunk >> ORDINAL_BITS for chunk, _, _ in held}
    select = f"SELECT number, record FROM {tables.notes} WHERE number"
    notes = {number: decode_note(record) for number, record in _chosen(connection, select, numbers)}
    for chunk, text, rest in held:
        yield Passage(chunk, chunk % MAX_CHUNKS, decode_chunk(text, rest), notes[chunk >> ORDINAL_BITS])


def _chosen(connection: sqlite3.Connection, select: str, ids: Iterable[int]) -> Iterator[Any]:
    """Return the rows with these ids, each of which fits into SQLite's integers."""
    wanted = [number for number in dict.fromkeys(ids) if 0 <= number < 1 << 63]
    for start in range(0, len(wanted), _IN_BATCH):
        part = wanted[start : start + _IN_BATCH]
        yield from connection.execute(f"{select} IN ({', '.join('?' for _ in part)})", part)
