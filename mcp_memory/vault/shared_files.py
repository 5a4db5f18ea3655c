"""Shared files: watched for entries of ours that somebody's save took away, and given them back when a person says so.

Nothing comes back by itself: what is gone may have been removed on purpose.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from mcp_memory.errors import NotFound, PathRefused, Refused
from mcp_memory.models import NotePath
from mcp_memory.vault.append_journal import AppendJournal, AppendOutcome, JournaledAppend
from mcp_memory.vault.daily_log import DailyLog
from mcp_memory.vault.lost_entries import LostEntry, find_lost
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.reader import Reader
from mcp_memory.vault.write_result import WriteResult

_Seen = tuple[str | None, tuple[JournaledAppend, ...]]
"""A file's signature (None: no file) and what the journal said of it."""


class SharedFiles:
    """Compares files with the recovery journal, each only when either has changed. Thread-safe."""

    def __init__(
        self, reader: Reader, journal: AppendJournal, daily_log: DailyLog, is_there: Callable[[], bool]
    ) -> None:
        """`is_there`: whether the vault can be looked at; a folder that is not mounted has lost nothing."""
        self._reader = reader
        self._journal = journal
        self._daily_log = daily_log
        self._is_there = is_there
        self._comparing = threading.Lock()
        self._seen: dict[NotePath, _Seen] = {}
        self._lost: dict[NotePath, list[LostEntry]] = {}

    def compare(self) -> list[LostEntry]:
        """Every entry that is gone from its file now. Raises StorageFailed."""
        with self._comparing:
            if self._is_there():
                for path in self._journal.paths():
                    self._look(path)
            return self.last()

    def last(self) -> list[LostEntry]:
        """What the last comparison found."""
        return [lost for path in sorted(self._lost) for lost in self._lost[path]]

    def put_back(self, lost: LostEntry) -> WriteResult:
        """Add an entry again, at the end of its file and with its old time. Raises as an append."""
        stored = self._daily_log.add(lost.added.path, lost.text)
        self._journal.mark(lost.added, AppendOutcome.LANDED)
        return stored

    def dismiss(self, lost: LostEntry) -> None:
        """Its removal was meant: it is not listed any more. Raises StorageFailed."""
        self._journal.mark(lost.added, AppendOutcome.DISMISSED)

    def _look(self, path: NotePath) -> None:
        added = tuple(self._journal.entries_of(path))
        try:
            if self._seen.get(path) == (self._signature(path), added):
                return
            file = self._file(path)
        except (PathRefused, Refused):
            return  # no file that we could have written stands there now: what was lost before still is
        self._lost[path] = find_lost(added, self._journal.texts(path), file)
        for lost in self._lost[path]:
            if lost.why == "overwritten":
                # Said at once: the next save in that editor hides that the file had gone back.
                self._journal.mark(lost.added, AppendOutcome.OVERWRITTEN)
        if file is None or file.settled:
            self._seen[path] = (file.record.signature if file else None, added)

    def _signature(self, path: NotePath) -> str | None:
        try:
            return self._reader.stat(path).signature
        except NotFound:
            return None

    def _file(self, path: NotePath) -> NoteFile | None:
        try:
            return self._reader.read(path)
        except NotFound:
            return None
