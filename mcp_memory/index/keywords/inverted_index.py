"""Keeps the words of each generation in memory, as segments ready to rank.

Before a search the store reads from the database which notes came and went, so a note is found as soon as its
transaction is committed. New notes become small segments. A segment is merged into the segment before it once it is no
longer much smaller, so that there are only a handful of segments.

Nothing is kept in a file: a start reads 10,000 passages from the database in a fifth of a second.
"""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.base import Generation
from mcp_memory.index.keywords import posting_codec
from mcp_memory.index.keywords.bm25 import TermCorpus, TermPart
from mcp_memory.index.keywords.segment import PostingSegment, merged
from mcp_memory.index.sqlite.cache_sync import FEW, CacheSync, last_number
from mcp_memory.index.sqlite.schema import ORDINAL_BITS, Tables

_MERGE_FACTOR = 8
"""The least size of a segment, as a multiple of the next segment's."""

READ_NOTES = 2000

_READING = 0.6
"""The share of the time that is spent on reading notes; in the rest they become one segment."""


class InvertedIndex(CacheSync["_Words"]):
    """The words of every generation that has been searched. A returned corpus never changes."""

    def corpus(self, connection: sqlite3.Connection, generation: Generation, token: int) -> TermCorpus | None:
        """Return the words at this token, in whose snapshot `connection` is. None if another reader has already seen a
        later token: ask again in a newer snapshot."""
        with self._lock:
            words = self._held_for(connection, generation)
            if token < words.token:
                return None
            if token > words.token:
                words.catch_up(connection, lambda done: self._tell(generation.number, done))
                words.token = token
            return words.corpus

    def _load(self, _: sqlite3.Connection, generation: Generation, /) -> _Words:
        return _Words(generation.number)


class _Words:
    """The words of a generation, up to the note `number` and the removal `gone`."""

    def __init__(self, generation: int) -> None:
        self.token = -1
        self.corpus = TermCorpus()
        self._tables = Tables(generation)
        self._number = self._gone = 0

    def is_near(self, connection: sqlite3.Connection) -> bool:
        """Return whether at most `FEW` passages are newer. If there are many notes, only the first are counted."""
        newer = f"SELECT size FROM {self._tables.notes} WHERE number > ? LIMIT {FEW}"
        (passages,) = connection.execute(f"SELECT coalesce(sum(size), 0) FROM ({newer})", [self._number]).fetchone()
        return passages <= FEW

    def catch_up(self, connection: sqlite3.Connection, tell: Callable[[float], None]) -> None:
        """Read the newer notes and removals. Raises the errors of `tell`, after which nothing has changed."""
        parts, number, gone = list(self.corpus.parts), self._number, self._gone
        (oldest,) = connection.execute(f"SELECT min(seq) FROM {self._tables.gone}").fetchone()
        if oldest is not None and oldest > gone + 1:
            parts, number = [], 0  # removals that we have not seen are no longer on record
        removed = connection.execute(
            f"SELECT number FROM {self._tables.gone} WHERE seq > ? AND number BETWEEN 0 AND ?",
            [gone, number],
        ).fetchall()
        if removed:
            known = np.array([note for (note,) in removed], dtype=np.int64)
            parts = [_without(part, known) for part in parts]
        (gone,) = connection.execute(f"SELECT coalesce(max(seq), ?) FROM {self._tables.gone}", [gone]).fetchone()
        added = connection.execute(
            f"SELECT number, words FROM {self._tables.words} WHERE number > ? ORDER BY number", [number]
        )
        fresh, last = list[TermPart](), max(1, last_number(connection, self._tables.notes))
        while batch := added.fetchmany(READ_NOTES):
            number = batch[-1][0]
            fresh.append(_whole(posting_codec.segment(batch)))
            tell(_READING * number / last)
        if fresh:  # merged batch by batch, a million chunks would be sorted again and again
            parts = _settled([*parts, _alive(fresh)])
        self.corpus, self._number, self._gone = TermCorpus(parts), number, gone


def _whole(segment: PostingSegment) -> TermPart:
    return TermPart(segment, np.ones(segment.rows, dtype=np.bool_))


def _without(part: TermPart, numbers: NDArray[np.int64]) -> TermPart:
    """Return the part, with the chunks of these notes marked dead."""
    dead = np.isin(part.segment.chunks >> ORDINAL_BITS, numbers)
    return TermPart(part.segment, part.alive & ~dead) if dead.any() else part


def _settled(parts: list[TermPart]) -> list[TermPart]:
    """Merge parts until each is `_MERGE_FACTOR` times as large as the next, and drop dead rows."""
    while len(parts) > 1 and parts[-2].segment.rows < _MERGE_FACTOR * parts[-1].segment.rows:
        parts = [*parts[:-2], _alive(parts[-2:])]
    return [part if 2 * int(part.alive.sum()) >= part.segment.rows else _alive([part]) for part in parts]


def _alive(parts: Sequence[TermPart]) -> TermPart:
    """Join all parts, without dead rows; a single part without dead rows is not copied."""
    if len(parts) == 1 and parts[0].alive.all():
        return parts[0]
    return _whole(merged([(part.segment, part.alive) for part in parts]))
