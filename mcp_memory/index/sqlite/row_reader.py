"""Reads rows of a generation as records and passages. Every function runs inside the caller's snapshot."""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mcp_memory.index.keywords.tokenizer import bindable
from mcp_memory.index.sqlite.row_codec import decode_chunk, decode_note
from mcp_memory.index.sqlite.schema import MAX_CHUNKS, ORDINAL_BITS, Tables, id_range
from mcp_memory.models import NotePath, NoteRecord, Passage

if TYPE_CHECKING:
    from numpy.typing import NDArray

_IN_BATCH = 500

_COLUMNS = "id, text, rest"


def number_of(connection: sqlite3.Connection, tables: Tables, path: NotePath) -> int | None:
    """The note's row, if there is one."""
    row = connection.execute(f"SELECT number FROM {tables.notes} WHERE path = ?", [bindable(path)]).fetchone()
    return row[0] if row else None


def records(connection: sqlite3.Connection, tables: Tables, clause: str, values: Sequence[Any]) -> list[NoteRecord]:
    """Notes by a condition of SQL, with its order and limit."""
    rows = connection.execute(f"SELECT record FROM {tables.notes} WHERE {clause}", values)
    return [decode_note(row[0]) for row in rows]


def passages(connection: sqlite3.Connection, tables: Tables, chunk_ids: Iterable[int]) -> Iterator[Passage]:
    """In no particular order; unknown ids are absent."""
    rows = _chosen(connection, f"SELECT {_COLUMNS} FROM {tables.chunks} WHERE id", chunk_ids)
    return _with_notes(connection, tables, rows)


def passages_of(connection: sqlite3.Connection, tables: Tables, number: int) -> Iterator[Passage]:
    """All of a note, in order."""
    select = f"SELECT {_COLUMNS} FROM {tables.chunks} WHERE id BETWEEN ? AND ? ORDER BY id"
    return _with_notes(connection, tables, connection.execute(select, id_range(number)))


def meanings(
    connection: sqlite3.Connection, tables: Tables, paths: Sequence[NotePath], dimension: int
) -> NDArray[np.float32]:
    """As `Index.mean_vectors`."""
    asked = [bindable(path) for path in paths]
    wanted = list(dict.fromkeys(asked))
    places = {path: at for at, path in enumerate(wanted)}
    sums = np.zeros((len(wanted), dimension), dtype=np.float32)
    for start in range(0, len(wanted), _IN_BATCH):
        part = wanted[start : start + _IN_BATCH]
        rows = connection.execute(
            f"""SELECT path, vector FROM {tables.notes} note
                JOIN {tables.vectors} slot ON slot.chunk BETWEEN note.number << {ORDINAL_BITS}
                    AND ((note.number + 1) << {ORDINAL_BITS}) - 1
                JOIN embeddings ON embeddings.id = slot.embedding
                WHERE path IN ({", ".join("?" for _ in part)})""",
            part,
        )
        for path, vector in rows:
            row = np.frombuffer(vector, dtype=np.int8).astype(np.float32)
            sums[places[path]] += row / max(float(np.linalg.norm(row)), 1e-9)
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return sums[[places[path] for path in asked]]


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
    """The rows with these ids; ids that SQLite could not even hold are nobody's."""
    wanted = [number for number in dict.fromkeys(ids) if 0 <= number < 1 << 63]
    for start in range(0, len(wanted), _IN_BATCH):
        part = wanted[start : start + _IN_BATCH]
        yield from connection.execute(f"{select} IN ({', '.join('?' for _ in part)})", part)
