"""What is new in a transcript since its bookmark, also where the file was cut short, replaced or rotated meanwhile."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import partial

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.readers.lines import LineBatch, read_stretch
from mcp_memory.capture.readers.openclaw_rows import length_of, read_rows, sessions_of
from mcp_memory.capture.readers.registry import is_silent
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.errors import StorageFailed

MARKED_BYTES = 1024
"""Of the file's beginning, and before the bookmark. Lines bear times and ids: no two files have these in common."""


@dataclass(frozen=True, slots=True)
class NewLines:
    """`mark` is of the bytes before where the stretch ends. `restarted`: the file is not the one that was read, and the
    stretch begins at its beginning."""

    stretch: LineBatch
    mark: str
    restarted: bool


@dataclass(frozen=True, slots=True)
class Unread:
    """How much of a transcript is new: up to `size`, in bytes or events."""

    size: int
    new_bytes: int


def read_new(places: TranscriptPaths, place: TranscriptPath, bookmark: Checkpoint) -> NewLines:
    """The next stretch. Raises NotFound, Refused, StorageFailed."""
    with places.opened(place) as descriptor:
        if place.is_database:
            return _of_rows(place, bookmark)
        try:
            restarted = bookmark.offset > 0 and _mark(descriptor, bookmark.offset) != bookmark.mark
            offset, within = (0, False) if restarted else (bookmark.offset, bookmark.within)
            stretch = read_stretch(descriptor, offset, within=within, is_silent=partial(is_silent, place.client))
            return NewLines(stretch, _mark(descriptor, stretch.next_offset), restarted)
        except OSError as error:
            raise StorageFailed(f"{place.file} cannot be read: {error.strerror}") from error


def waiting(places: TranscriptPaths, place: TranscriptPath, bookmark: Checkpoint) -> Unread:
    """Without reading it. Raises as `news`."""
    with places.opened(place) as descriptor:
        if not place.is_database:
            size = os.fstat(descriptor).st_size
            return Unread(size, size - bookmark.offset if size >= bookmark.offset else size)
    try:
        size, length = length_of(place.file, place.session)
    except OSError as error:
        raise StorageFailed(f"{place.file}: {error}") from error
    return Unread(size, length * max(0, size - bookmark.offset) // max(1, size) if size >= bookmark.offset else length)


def sessions(places: TranscriptPaths, place: TranscriptPath) -> list[TranscriptPath]:
    """The transcripts in a database; a file is one. Raises as `news`."""
    if not place.is_database or place.session:
        return [place]
    with places.opened(place):
        try:
            names = sessions_of(place.file)
        except OSError as error:
            raise StorageFailed(f"{place.file}: {error}") from error
    return [TranscriptPath(place.client, place.root, place.inner, name) for name in names]


def _of_rows(place: TranscriptPath, bookmark: Checkpoint) -> NewLines:
    """Each event has a number; the last one that was read must still be what it was."""
    try:
        restarted = bookmark.offset > 0 and _mark_of_row(place, bookmark.offset) != bookmark.mark
        stretch = read_rows(place.file, place.session, 0 if restarted else bookmark.offset)
        return NewLines(stretch, _mark_of_row(place, stretch.next_offset), restarted)
    except OSError as error:
        raise StorageFailed(f"{place.file}: {error}") from error


def _mark_of_row(place: TranscriptPath, number: int) -> str:
    last = read_rows(place.file, place.session, number - 1).lines if number else ()
    return hashlib.sha256(last[0].data if last and last[0].offset == number - 1 else b"").hexdigest()[:32]


def _mark(descriptor: int, offset: int) -> str:
    """Raises OSError. A file that ends before `offset` has none that any other has."""
    first = os.pread(descriptor, min(MARKED_BYTES, offset), 0)
    last = os.pread(descriptor, min(MARKED_BYTES, offset), max(0, offset - MARKED_BYTES))
    return hashlib.sha256(b"%d\0%b\0%b" % (offset, first, last)).hexdigest()[:32]
