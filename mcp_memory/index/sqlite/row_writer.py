"""Write a note's rows to all tables of a generation, and the vectors that arrive for them.

Every function runs inside the caller's transaction. Replacing a note takes time in proportion to that note, not to the
index.
"""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mcp_memory.errors import InvalidInput
from mcp_memory.index.base import Generation, IndexedChunk, Upsert
from mcp_memory.index.keywords import posting_codec
from mcp_memory.index.keywords.tokenizer import bindable
from mcp_memory.index.sqlite import link_table
from mcp_memory.index.sqlite.row_codec import decode_text, encode_chunk, encode_note, encode_text, microseconds
from mcp_memory.index.sqlite.schema import FIRST_PHRASE, GONE_KEPT, Tables, chunk_id, id_range
from mcp_memory.models import NotePath, NoteRecord, NoteState, TextHash, tag_names
from mcp_memory.text.markdown.note_links import NoteLink
from mcp_memory.text.text_hash import text_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class RowCounts:
    """The rows that a change adds to the counts of its generation."""

    notes: int = 0
    chunks: int = 0
    pending: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(self.notes + other.notes, self.chunks + other.chunks, self.pending + other.pending)


def count(connection: sqlite3.Connection, generation: int, tally: RowCounts) -> None:
    """Add the tally to the generation's counts."""
    connection.execute(
        "UPDATE generations SET notes = notes + ?, chunks = chunks + ?, pending = pending + ? WHERE number = ?",
        [tally.notes, tally.chunks, tally.pending, generation],
    )


def remove(connection: sqlite3.Connection, tables: Tables, path: NotePath) -> RowCounts:
    """Remove all rows of a note, if there are any."""
    row = connection.execute(f"SELECT number, size FROM {tables.notes} WHERE path = ?", [bindable(path)]).fetchone()
    if row is None:
        return RowCounts()
    number, size = row
    span = id_range(number)
    connection.execute(f"DELETE FROM {tables.chunks} WHERE id BETWEEN ? AND ?", span)
    connection.execute(f"DELETE FROM {tables.vectors} WHERE chunk BETWEEN ? AND ?", span)
    pending = connection.execute(f"DELETE FROM {tables.pending} WHERE chunk BETWEEN ? AND ?", span).rowcount
    connection.execute(f"DELETE FROM {tables.tags} WHERE number = ?", [number])
    connection.execute(f"DELETE FROM {tables.words} WHERE number = ?", [number])
    link_table.remove(connection, tables, number)
    connection.execute(f"DELETE FROM {tables.notes} WHERE number = ?", [number])
    removal = connection.execute(f"INSERT INTO {tables.gone} (number) VALUES (?)", [number]).lastrowid or 0
    connection.execute(f"DELETE FROM {tables.gone} WHERE seq <= ?", [removal - GONE_KEPT])
    return RowCounts(-1, -size, -pending)


class WrittenRows(NamedTuple):
    """A note as its rows will have it. A forgotten note has no chunks."""

    note: NoteRecord
    chunks: Sequence[IndexedChunk]
    words: bytes
    links: Sequence[NoteLink]

    @classmethod
    def from_upsert(cls, upsert: Upsert, remembered: posting_codec.CodecCache) -> WrittenRows:
        """Do the slow part, before the transaction begins."""
        chunks = () if upsert.note.state is NoteState.DELETED else upsert.chunks
        texts = [(indexed.chunk.section, indexed.chunk.text) for indexed in chunks]
        words = remembered.encode(upsert.note.path, texts, upsert.places) if texts else b""
        return cls(upsert.note, chunks, words, () if upsert.note.state is NoteState.DELETED else upsert.links)


def insert(connection: sqlite3.Connection, generation: Generation, model: int, written: WrittenRows) -> RowCounts:
    """Insert all rows of a note whose path is free."""
    tables, chunks = Tables(generation.number), written.chunks
    if len(chunks) > FIRST_PHRASE:
        raise InvalidInput(f"a note of more than {FIRST_PHRASE:,} chunks", hint="split the file")
    number = _insert_note(connection, tables, written.note, len(chunks))
    if chunks:
        connection.execute(f"INSERT INTO {tables.words} VALUES (?, ?)", [number, written.words])
    connection.executemany(
        f"INSERT INTO {tables.chunks} VALUES (?, ?, ?)",
        [(chunk_id(number, at), *encode_chunk(indexed.chunk)) for at, indexed in enumerate(chunks)],
    )
    link_table.insert(connection, tables, number, written.note, written.links)
    texts = [(chunk_id(number, at), indexed.text_hash, indexed.embedded_text) for at, indexed in enumerate(chunks)]
    phrases = written.note.when if chunks else ()
    texts += [(chunk_id(number, FIRST_PHRASE + at), text_hash(said), said) for at, said in enumerate(phrases)]
    pending = _insert_vectors(connection, tables, model, texts) if generation.dimension else 0
    return RowCounts(1, len(chunks), pending)


def missing(connection: sqlite3.Connection, tables: Tables, limit: int) -> list[tuple[TextHash, str]]:
    """Return distinct texts without a vector, the texts of the oldest chunks first."""
    rows = connection.execute(
        f"SELECT hash, text FROM {tables.pending} WHERE chunk IN"
        f" (SELECT min(chunk) FROM {tables.pending} GROUP BY hash ORDER BY min(chunk) LIMIT ?) ORDER BY chunk",
        [max(limit, 0)],
    )
    return [(TextHash(key), decode_text(text)) for key, text in rows]


def store(
    connection: sqlite3.Connection, model: int, hashes: Sequence[TextHash], vectors: NDArray[np.int8]
) -> dict[int, RowCounts]:
    """Cache the vectors and assign them to the waiting chunks, in every generation of this model."""
    connection.executemany(
        "INSERT INTO embeddings (model, hash, vector) VALUES (?, ?, ?) ON CONFLICT (model, hash) DO NOTHING",
        [(model, bindable(key), row.tobytes()) for key, row in zip(hashes, vectors, strict=True)],
    )
    numbers = connection.execute("SELECT number FROM generations WHERE model = ? AND dimension > 0", [model]).fetchall()
    return {number: _settle(connection, Tables(number), model, hashes) for (number,) in numbers}


def _insert_note(connection: sqlite3.Connection, tables: Tables, note: NoteRecord, size: int) -> int:
    values = {
        "path": bindable(note.path),
        "id": bindable(note.id),
        "state": note.state,
        "kind": bindable(note.kind),
        "project": None if note.project is None else bindable(note.project),
        "session": None if note.session is None else bindable(note.session),
        "date": microseconds(note.date),
        "expires": microseconds(note.counts_until),
        "content": bindable(note.content_hash),
        "size": size,
        "record": encode_note(note),
    }
    names, marks = ", ".join(values), ", ".join("?" for _ in values)
    cursor = connection.execute(f"INSERT INTO {tables.notes} ({names}) VALUES ({marks})", list(values.values()))
    assert cursor.lastrowid is not None
    tags = sorted(map(bindable, tag_names(note.all_tags)))
    connection.executemany(f"INSERT INTO {tables.tags} VALUES (?, ?)", [(tag, cursor.lastrowid) for tag in tags])
    return cursor.lastrowid


def _insert_vectors(
    connection: sqlite3.Connection, tables: Tables, model: int, texts: Sequence[tuple[int, str, str]]
) -> int:
    """Assign cached vectors and queue the other texts, each with its id and hash; return how many were queued."""
    ready: list[tuple[int, int]] = []
    waiting: list[tuple[int, str, bytes]] = []
    for row_id, key, text in texts:
        row = connection.execute(
            "SELECT id FROM embeddings WHERE model = ? AND hash = ?", [model, bindable(key)]
        ).fetchone()
        if row is None:
            waiting.append((row_id, bindable(key), encode_text(text)))
        else:
            ready.append((row_id, row[0]))
    connection.executemany(f"INSERT INTO {tables.vectors} (chunk, embedding) VALUES (?, ?)", ready)
    connection.executemany(f"INSERT INTO {tables.pending} VALUES (?, ?, ?)", waiting)
    return len(waiting)


def _settle(connection: sqlite3.Connection, tables: Tables, model: int, hashes: Sequence[TextHash]) -> RowCounts:
    settled = 0
    for key in dict.fromkeys(map(bindable, hashes)):
        settled += connection.execute(
            f"INSERT INTO {tables.vectors} (chunk, embedding) SELECT chunk, embeddings.id"
            f" FROM {tables.pending} AS waiting JOIN embeddings ON model = ? AND embeddings.hash = waiting.hash"
            " WHERE waiting.hash = ? ORDER BY chunk",
            [model, key],
        ).rowcount
        connection.execute(f"DELETE FROM {tables.pending} WHERE hash = ?", [key])
    return RowCounts(pending=-settled)
