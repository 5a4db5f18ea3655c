"""Retiring: notes and log entries forgotten, and brought back to the very byte."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, StorageFailed
from mcp_memory.models import NotePath, NoteState
from mcp_memory.vault import marks
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.patching import FrontmatterPatcher
from mcp_memory.vault.tombstones import Tombstones


class Retirement:
    """Whether a note may be retired is the caller's to ask. Thread-safe."""

    def __init__(self, patcher: FrontmatterPatcher, undo: Tombstones, now: Callable[[], datetime]) -> None:
        self._patcher = patcher
        self._undo = undo
        self._now = now

    def forget(self, file: NoteFile, entry: str | None, reason: str | None, by: marks.Caller) -> NoteFile:
        """Raises NotFound, InvalidInput for a whole log, StorageFailed."""
        path = file.record.path
        if not file.record.is_log:
            if file.record.state is NoteState.DELETED and not self._undo.hides(file.record.etag):
                return file
            return self._patcher.patch(path, lambda _: marks.deleted(self._now(), reason, by), forgets=True)
        named = _named(path, entry)
        if not marks.holds_entry(file, named):
            raise NotFound(f"no entry {named} in {path}")
        is_known = named in self._undo.entries(path)
        if not is_known:
            self._undo.keep_entry(marks.Tombstone(path, named, self._now(), by.client, by.session, reason))
        try:
            return self._patcher.patch(path, lambda now: {"forgotten": marks.united(now, named)})
        except McpMemoryError:
            with suppress(StorageFailed):  # the first refusal is the one to be told
                if not is_known:
                    self._undo.release_entry(path, named)
            raise

    def restore(self, file: NoteFile, entry: str | None) -> NoteFile:
        """Raises NotFound, InvalidInput for a whole log, StorageFailed."""
        path = file.record.path
        if file.record.is_log:
            return self._patcher.restore_entry(path, _named(path, entry))
        if file.record.state is NoteState.DELETED:
            # Where somebody wrote to it meanwhile, the marks are taken out of what they wrote.
            shown = self._patcher.unpatch(file) or self._patcher.patch(path, lambda _: marks.NOT_DELETED, restores=True)
            with suppress(StorageFailed):  # they hide nothing any more
                self._undo.release(file.record.etag, shown.record.etag)
            return shown
        return file


def _named(path: NotePath, entry: str | None) -> str:
    if entry is None:
        raise InvalidInput(f"{path} is a whole daily log", hint="pass the id of one entry: path#hash")
    return entry
