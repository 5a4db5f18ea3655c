"""Read the new lines of a transcript since its checkpoint, also after the file was truncated, replaced or rotated."""

import hashlib
import os
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.readers.lines import LineBatch, read_lines
from mcp_memory.capture.readers.openclaw import list_session_ids, measure_session, read_rows
from mcp_memory.capture.readers.registry import can_skip_line
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.runtime.private_files import naming_the_cause

MARKED_BYTES = 1024
"""The bytes hashed at the file's start and before the checkpoint. Lines have times and ids, so no two files share
these."""


@dataclass(frozen=True)
class NewLines:
    """`fingerprint` covers the bytes before the end of the batch. `restarted`: the file was replaced, and the batch
    begins at its start."""

    batch: LineBatch
    fingerprint: str
    restarted: bool


class Unread(NamedTuple):
    """`size` of the transcript in bytes or events, and the bytes that are new."""

    size: int
    new_bytes: int


def read_new(paths: TranscriptPaths, path: TranscriptPath, checkpoint: Checkpoint) -> NewLines:
    """Read the next batch. Raises NotFound, Refused, StorageFailed."""
    with paths.open_transcript(path) as descriptor:
        if path.is_database:
            return _read_events(path, checkpoint)
        with naming_the_cause(str(path.file)):
            restarted = checkpoint.offset > 0 and _mark(descriptor, checkpoint.offset) != checkpoint.fingerprint
            offset, within = (0, False) if restarted else (checkpoint.offset, checkpoint.in_long_line)
            batch = read_lines(descriptor, offset, within=within, can_skip=partial(can_skip_line, path.client))
            return NewLines(batch, _mark(descriptor, batch.next_offset), restarted)


def measure_unread(paths: TranscriptPaths, path: TranscriptPath, checkpoint: Checkpoint) -> Unread:
    """Measure without reading. Raises as `read_new`."""
    with paths.open_transcript(path) as descriptor:
        if not path.is_database:
            size = os.fstat(descriptor).st_size
            return Unread(size, size - checkpoint.offset if size >= checkpoint.offset else size)
    with naming_the_cause(str(path.file)):
        size, length = measure_session(path.file, path.session)
    is_grown = size >= checkpoint.offset
    return Unread(size, length * (size - checkpoint.offset) // max(1, size) if is_grown else length)


def checkpoint_before_end(paths: TranscriptPaths, path: TranscriptPath, unread_bytes: int) -> Checkpoint:
    """Return a checkpoint with about `unread_bytes` behind it. Raises as `read_new`."""
    start = Checkpoint(path.client, path.name)
    found = measure_unread(paths, path, start)
    if found.new_bytes <= unread_bytes:
        return start
    offset = found.size - found.size * unread_bytes // found.new_bytes
    with paths.open_transcript(path) as descriptor, naming_the_cause(str(path.file)):
        if path.is_database:
            return replace(start, offset=offset, fingerprint=_mark_of_event(path, offset))
        # The line break before the offset may end a line.
        return replace(start, offset=offset - 1, in_long_line=True, fingerprint=_mark(descriptor, offset - 1))


def list_sessions(paths: TranscriptPaths, path: TranscriptPath) -> list[TranscriptPath]:
    """List the transcripts in a database; a file is one transcript. Raises as `read_new`."""
    if not path.is_database or path.session:
        return [path]
    with paths.open_transcript(path), naming_the_cause(str(path.file)):
        names = list_session_ids(path.file)
    return [TranscriptPath(path.client, path.root, path.inner, name) for name in names]


def _read_events(path: TranscriptPath, checkpoint: Checkpoint) -> NewLines:
    """Read the next events of a database. Each event has a number; the last one read must be unchanged."""
    with naming_the_cause(str(path.file)):
        restarted = checkpoint.offset > 0 and _mark_of_event(path, checkpoint.offset) != checkpoint.fingerprint
        batch = read_rows(path.file, path.session, 0 if restarted else checkpoint.offset)
        return NewLines(batch, _mark_of_event(path, batch.next_offset), restarted)


def _mark_of_event(path: TranscriptPath, number: int) -> str:
    last = read_rows(path.file, path.session, number - 1).lines if number else ()
    return hashlib.sha256(last[0].data if last and last[0].offset == number - 1 else b"").hexdigest()[:32]


def _mark(descriptor: int, offset: int) -> str:
    """Hash the bytes before `offset`. The hash of a file that is shorter matches no other hash. Raises OSError."""
    first = os.pread(descriptor, min(MARKED_BYTES, offset), 0)
    last = os.pread(descriptor, min(MARKED_BYTES, offset), max(0, offset - MARKED_BYTES))
    return hashlib.sha256(b"%d\0%b\0%b" % (offset, first, last)).hexdigest()[:32]
