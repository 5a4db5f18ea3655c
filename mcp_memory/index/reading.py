"""Reading: rows of a generation back as records and passages. Every function runs inside the caller's snapshot."""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mcp_memory.index.rows import decode_chunk, decode_note
from mcp_memory.index.schema import MAX_CHUNKS, ORDINAL_BITS, Tables, id_range
from mcp_memory.index.words import bindable
from mcp_memory.models import NotePath, NoteRecord, Passage

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
