"""Changing a note that is there: frontmatter keys and no other byte."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress

from mcp_memory.errors import McpMemoryError, PreconditionFailed, StorageFailed
from mcp_memory.models import Etag, NotePath
from mcp_memory.storage.base import StorageBackend
from mcp_memory.text.markdown import frontmatter
from mcp_memory.vault import marks
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.reader import Reader
from mcp_memory.vault.tombstones import Tombstones
from mcp_memory.vault.write_result import ATTEMPTS


class FrontmatterPatcher:
    """Keeps what a restore needs before it changes a note. Thread-safe."""

    def __init__(self, backend: StorageBackend, reader: Reader, undo: Tombstones) -> None:
        self._backend = backend
        self._reader = reader
        self._undo = undo

    def patch(
        self,
        path: NotePath,
        changes: Callable[[NoteFile], marks.Changes],
        *,
        forgets: bool = False,
        restores: bool = False,
    ) -> NoteFile:
        """Tried again when another writer was faster; `changes` is asked anew each time. What it `forgets` can be put
        back by `unpatch`; what it `restores` is hidden no longer.

        Raises NotFound, Refused for a file that holds no text, PreconditionFailed, StorageFailed.
        """
        for _ in range(ATTEMPTS):
            blob = self._backend.read(path, limit_bytes=self._reader.max_note_bytes)
            file = self._reader.note(path, blob.data, blob.etag, blob.stat)
            before = marks.patchable(path, blob.data)
            after = marks.without_empty_head(frontmatter.patch(before, changes(file)))
            data = after.encode("utf-8", "surrogateescape")
            etag = Etag(hashlib.sha256(data).hexdigest())
            if restores:
                self._undo.show(blob.etag, etag)
            if after == before:
                return self._reader.note(path, blob.data, blob.etag, blob.stat)
            if forgets:
                self._undo.keep(etag, blob.etag, blob.data)
            try:
                written = self._backend.write(path, data, blob.etag)
            except McpMemoryError as error:
                if forgets:
                    with suppress(StorageFailed):  # the first refusal is the one to be told
                        self._undo.release(etag)
                if restores:
                    self._undo.hide(blob.etag, etag)
                if isinstance(error, PreconditionFailed):
                    continue
                raise
            return self._reader.note(path, data, written.etag, written.stat)
        raise PreconditionFailed(f"{path} changes faster than it can be patched", hint="try again")

    def restore_entry(self, path: NotePath, entry: str) -> NoteFile:
        """Show a log's forgotten entry again. Raises as `patch`."""
        kept = self._undo.stone_of(path, entry) if entry in self._undo.entries(path) else None
        if kept:
            self._undo.release_entry(path, entry)  # first: the log's own list counts until it is written
        try:
            return self.patch(path, lambda now: {"forgotten": marks.without(now, entry)})
        except McpMemoryError:
            if kept:
                with suppress(StorageFailed):  # the first refusal is the one to be told
                    self._undo.keep_entry(kept)
            raise

    def unpatch(self, file: NoteFile) -> NoteFile | None:
        """The bytes from before the last patch put back; None where they are unknown or somebody changed the note."""
        path = file.record.path
        before = self._undo.find(file.record.etag)
        if before is None:
            return None
        self._undo.show(file.record.etag)
        try:
            written = self._backend.write(path, before, file.record.etag)
        except McpMemoryError as error:
            self._undo.hide(file.record.etag)
            if isinstance(error, PreconditionFailed):
                return None
            raise
        return self._reader.note(path, before, written.etag, written.stat)

    def can_patch(self, path: NotePath, changes: marks.Changes) -> None:
        """Raises what `patch` would raise, and writes nothing."""
        blob = self._backend.read(path, limit_bytes=self._reader.max_note_bytes)
        frontmatter.patch(marks.patchable(path, blob.data), changes)
