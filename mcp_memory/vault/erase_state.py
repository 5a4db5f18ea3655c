"""Traces: what the state folder holds about a note besides the index, and how a person gets rid of it."""

from __future__ import annotations

from collections.abc import Collection

from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.append_journal import AppendJournal
from mcp_memory.vault.ledger import Ledger
from mcp_memory.vault.tombstones import Tombstones


class EraseState:
    """Of a whole note (`entry` is None), also after its file has gone, or of one entry of a log. Thread-safe."""

    def __init__(self, ledger: Ledger, undo: Tombstones, recovery: AppendJournal) -> None:
        self._ledger = ledger
        self._undo = undo
        self._recovery = recovery

    def describe(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> list[str]:
        """A line for each place; `ids` are those under which the whole note was known. Raises StorageFailed."""
        found: list[str] = []
        if entries := [each for each in self._recovery.entries_of(path) if entry in {None, each.entry}]:
            found.append(f"what the recovery journal has of it: {counted(len(entries), 'entry', 'entries')}")
        if [each for each in self._undo.entries(path) if entry in {None, each}]:
            found.append("its mark as forgotten")
        if kept := self._undo.of_note(ids):
            found.append(f"the bytes kept for a restore: {counted(len(kept), 'file')}")
        if lines := self._ledger.lines_about(ids):
            found.append(f"what the ledger says of it: {counted(lines, 'line')}")
        return found

    def erase(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> None:
        """The ledger comes last: it tells the ids of a note whose file has gone. Raises StorageFailed."""
        self._recovery.erase(path, entry)
        for each in self._undo.entries(path):
            if entry in {None, each}:
                self._undo.release_entry(path, each)
        self._undo.release(*self._undo.of_note(ids))
        self._ledger.erase(ids)
