"""Keeps the words of each generation in memory, as segments ready to rank.

Before a search the store reads from the database which notes came and went, so a note is found as soon as its
transaction is committed. New notes become small segments. A segment is merged into the segment before it once it is no
longer much smaller, so that there are only a handful of segments.

A copy in a file makes the next start faster. The database is authoritative: a file that another database wrote, or that
is ahead of ours, is deleted at the start. A power cut can lose the database's latest commits but not the file's, and
then their numbers are used again.
"""

# ruff: noqa: S608 - table names are made of a generation's number alone, see schema.Tables

from __future__ import annotations

import sqlite3
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.base import Generation
from mcp_memory.index.keywords import posting_codec
from mcp_memory.index.keywords.bm25 import TermCorpus, TermPart
from mcp_memory.index.keywords.postings import Postings
from mcp_memory.index.keywords.segment import PostingSegment, merged
from mcp_memory.index.sqlite.cache_sync import FEW, CacheSync, last_number
from mcp_memory.index.sqlite.schema import ORDINAL_BITS, Tables
from mcp_memory.models import Problem

_MERGE_FACTOR = 8
"""The least size of a segment, as a multiple of the next segment's."""

READ_NOTES = 2000

SAVE_ROWS = 4096
"""The rows missing from the file at which it is rewritten, if they are also a quarter of its own."""

_DAMAGED = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)

_READING = 0.6
"""The share of the time that is spent on reading notes; in the rest they become one segment."""


class InvertedIndex(CacheSync["_Words"]):
    """The words of every generation that has been searched. A returned corpus never changes."""

    def __init__(self, folder: Path, report: Callable[[Problem], None]) -> None:
        super().__init__()
        self._folder = folder
        self._report = report
        self._saving = threading.Lock()
        """Taken before `_lock`, so that no search waits for the disk."""

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
            corpus = words.corpus
        self._save(words, always=False)
        return corpus

    def forget(self, generation: int | None = None) -> None:
        with self._saving:  # or the file would come back
            super().forget(generation)
            for file in self._files() if generation is None else [self._file(generation)]:
                file.unlink(missing_ok=True)

    def close(self) -> None:
        """Write what the files lack. A reading under way ends with IndexUnavailable."""
        super().close()
        with self._lock:
            known = list(self._held.values())
        for words in known:
            self._save(words, always=True)

    def delete_untrusted(self, connection: sqlite3.Connection, generations: Iterable[int]) -> None:
        """At the start, delete each file that this database did not write or that is ahead of it."""
        trusted = {self._file(number) for number in generations if self._is_behind(connection, number)}
        for file in self._files():
            if file not in trusted:
                file.unlink(missing_ok=True)

    def _load(self, connection: sqlite3.Connection, generation: Generation, /) -> _Words:
        return _Words(self._file(generation.number), _uid(connection), generation.number)

    def _is_behind(self, connection: sqlite3.Connection, generation: int) -> bool:
        at, tables = _mark(self._file(generation), _uid(connection), generation), Tables(generation)
        if at is None:
            return False
        return at[0] <= last_number(connection, tables.notes) and at[1] <= last_number(connection, tables.gone)

    def _file(self, generation: int) -> Path:
        return self._folder / f"words-{generation}.npz"

    def _files(self) -> Iterable[Path]:
        """Return the files of all generations, including those left by an interrupted write."""
        return self._folder.glob("words-*.npz*")

    def _save(self, words: _Words, *, always: bool) -> None:
        if not always and not words.have_grown:
            return
        if not self._saving.acquire(blocking=always):  # another thread is saving
            return
        try:
            if self._held.get(words.generation) is words:
                words.save(self._lock, always=always)
        except OSError as error:
            self._report(Problem(words.path.name, f"cannot be written: {error.strerror}"))
        finally:
            self._saving.release()


class _Words:
    """The words of a generation, up to the note `number` and the removal `gone`."""

    def __init__(self, path: Path, uid: str, generation: int) -> None:
        self.path = path
        self.token = -1
        self.corpus = TermCorpus()
        self.generation = generation
        self._uid = uid
        self._tables = Tables(generation)
        self._number = self._gone = 0
        self._saved_rows = 0
        self._saved_at: tuple[int, int] = (0, 0)
        self._writable = True
        if mark := _mark(path, uid, generation):
            self._load(mark)

    @property
    def have_grown(self) -> bool:
        """Return whether enough rows are new to save them."""
        return self.corpus.rows - self._saved_rows > max(SAVE_ROWS, self._saved_rows // 4)

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

    def save(self, lock: threading.Lock, *, always: bool) -> None:
        """Save the file. Called by one thread at a time; `lock` guards the data of searches. After an OSError no call
        tries again."""
        with lock:
            corpus, at, due = self.corpus, (self._number, self._gone), always or self.have_grown
        if not due or not corpus.rows or not self._writable or at == self._saved_at:
            return
        part = _alive(corpus.parts)
        with lock:
            if self.corpus is corpus:
                self.corpus = TermCorpus([part])
        mark = np.array([self.generation, *at], dtype=np.int64)
        fresh = self.path.with_name(f"{self.path.name}.new")
        self._writable = False
        fresh.unlink(missing_ok=True)
        with fresh.open("xb") as file:
            fresh.chmod(0o600)
            np.savez(file, allow_pickle=False, uid=np.array(self._uid), mark=mark, **_arrays(part.segment))
        fresh.replace(self.path)
        self._writable, self._saved_rows, self._saved_at = True, part.segment.rows, at

    def _load(self, mark: tuple[int, int]) -> None:
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                segment = _segment(dict(arrays))
        except _DAMAGED:
            return
        self.corpus = TermCorpus([_whole(segment)])
        self._number, self._gone = self._saved_at = mark
        self._saved_rows = segment.rows


def _uid(connection: sqlite3.Connection) -> str:
    (uid,) = connection.execute("SELECT uid FROM state").fetchone()
    return uid


def _mark(path: Path, uid: str, generation: int) -> tuple[int, int] | None:
    """Return the last note and removal that the file covers; None if it is not ours. Nothing else is read."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            number, note, gone = (int(value) for value in arrays["mark"])
            return (note, gone) if (str(arrays["uid"]), number) == (uid, generation) else None
    except _DAMAGED:
        return None


_ROWS = ("chunks", "lengths", "sections", "place_lengths")
_POSTINGS = ("keys", "starts", "rows", "counts")


def _arrays(segment: PostingSegment) -> dict[str, NDArray[Any]]:
    parts = {"own": segment.own, "place": segment.place}
    postings = {f"{of}_{name}": getattr(part, name) for of, part in parts.items() for name in _POSTINGS}
    return {name: getattr(segment, name) for name in _ROWS} | postings


def _segment(arrays: dict[str, NDArray[Any]]) -> PostingSegment:
    own, place = (Postings(*(arrays[f"{of}_{name}"] for name in _POSTINGS)) for of in ("own", "place"))
    chunks, lengths, sections, place_lengths = (arrays[name] for name in _ROWS)
    return PostingSegment(chunks, lengths, sections, place_lengths, own, place)


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
