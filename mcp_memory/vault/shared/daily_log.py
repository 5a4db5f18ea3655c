"""Add entries to daily logs, which many writers do at once: each entry whole and once."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

from mcp_memory.client.credentials import PERSON
from mcp_memory.errors import McpMemoryError, NotFound, StorageFailed
from mcp_memory.models import NotePath, Outcome
from mcp_memory.text.markdown import logs
from mcp_memory.vault.draft import Draft, WriteResult
from mcp_memory.vault.journals.append_journal import AppendJournal, AppendOutcome, JournaledAppend
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.note_store import NoteStore
from mcp_memory.vault.succession.retirement import Retirement

SAME_MINUTE_S = 60.0

FULL_BYTES = 128 * 1024
"""The size of a full log, some 500 entries. It is continued in another file, since each new entry rewrites and rechunks
its whole file."""

_GAP = 3  # the most missing parts of a day before a later one
_GLUE_BYTES = 100  # bytes that an entry may need besides itself: a line break or two, the end of an open fence


class _Part(NamedTuple):
    """A file of a day's log. Numbers count from 1."""

    number: int
    path: NotePath
    size_bytes: int


@dataclass(frozen=True)
class DailyLog:
    """The writer of `memory/YYYY-MM-DD.md`, or where the layout puts it, and of further parts of a long day's log.

    Thread-safe, except that the same content must come in one thread at a time."""

    notes: NoteStore
    journal: AppendJournal
    retirement: Retirement

    def append(self, draft: Draft) -> WriteResult:
        """Add an entry to today's log. Raises Refused for a log that isn't text, StorageFailed."""
        now = self.notes.clock()
        source = None if draft.source == PERSON else draft.source
        labels = logs.Labels(draft.project, tuple(dict.fromkeys(draft.tags)), source, draft.session)
        text = logs.render_entry(now.strftime("%H:%M"), draft.heading, draft.content, labels)
        path = self._open_log(now.date(), len(text.encode("utf-8", "replace")))
        file = self.notes.find(path)
        if again := self._recent_entry(draft, now):
            return again
        entry = entry_hash(text)
        if file and entry in file.forgotten_entries and file.has_entry(entry):
            # Forgotten in this minute: a second one would have the same hash and be forgotten too.
            return WriteResult(self.retirement.restore_entry(path, entry), Outcome.CREATED, entry)
        before = file.record.etag if file else None
        added = JournaledAppend(path, entry, before, now.timestamp(), draft.content_hash, draft.project, draft.session)
        self.journal.announce(added, text)
        try:
            stored = self.add(path, text)
        except McpMemoryError:
            self._mark(added, "dismissed")
            raise
        self._mark(added, "landed")
        return stored

    def parts(self, day: date) -> list[NotePath]:
        """Return the existing files of a day's log, in order."""
        found: list[NotePath] = []
        with suppress(McpMemoryError):  # keeps those that could be read
            found.extend(part.path for part in self._parts(day))
        return found

    def add(self, path: NotePath, text: str) -> WriteResult:
        """Write an entry at the end of a log, whatever its content. Raises the errors of `append`."""
        day = logs.is_log_path(path) or self.notes.clock().date()

        def appended(file: NoteFile | None, before: str) -> str:
            return logs.append_entry(before if file else logs.new_log(day), text)

        return WriteResult(self.notes.change(path, appended, added=text), Outcome.CREATED, entry_hash(text))

    def _parts(self, day: date) -> Iterator[_Part]:
        """Yield the parts in order; some may have been removed. Raises as reading does."""
        number = missing = 0
        while missing <= _GAP:
            number += 1
            path = self.notes.layout.log_of(day, number)
            try:
                size_bytes = self.notes.stat(path).size_bytes
            except NotFound:
                missing += 1
                continue
            missing = 0
            yield _Part(number, path, size_bytes)

    def _open_log(self, day: date, more_bytes: int) -> NotePath:
        """Return the file for the next entry."""
        layout, limit = self.notes.layout, self.notes.max_note_bytes
        *_, last = _Part(1, layout.log_of(day), 0), *self._parts(day)
        is_full = last.size_bytes >= min(FULL_BYTES, limit // 2)
        fits = last.size_bytes + more_bytes + _GLUE_BYTES <= limit
        return layout.log_of(day, last.number + 1) if last.size_bytes and (is_full or not fits) else last.path

    def _mark(self, added: JournaledAppend, fate: AppendOutcome) -> None:
        # The outcome of the append is decided. Without this mark, the entry would be listed as cut short if it is lost.
        with suppress(StorageFailed):
            self.journal.mark(added, fate)

    def _recent_entry(self, draft: Draft, now: datetime) -> WriteResult | None:
        """Return the entry that a retry would repeat: the same content from the same session within a minute."""
        for known in self.journal.recent(draft.content_hash, now.timestamp() - SAME_MINUTE_S):
            if (known.session, known.project) != (draft.session, draft.project) or known.at > now.timestamp():
                continue
            file = self.notes.find(known.path)
            if file and known.entry not in file.forgotten_entries and file.has_entry(known.entry):
                return WriteResult(file, Outcome.DUPLICATE, known.entry)
        return None


def entry_hash(entry: str) -> str:
    """Return the hash of a rendered log entry."""
    return logs.entries(entry)[0].hash
