"""Daily logs: entries that many writers add at once, each whole and once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime

from mcp_memory.errors import AlreadyExists, McpMemoryError, NotFound, PreconditionFailed, Refused, StorageFailed
from mcp_memory.models import NotePath, Outcome
from mcp_memory.storage.base import StorageBackend
from mcp_memory.text.markdown import logs
from mcp_memory.vault.draft import Draft, WriteResult
from mcp_memory.vault.journals.append_journal import AppendJournal, AppendOutcome, JournaledAppend
from mcp_memory.vault.note_file import NoteFile, editable_text
from mcp_memory.vault.reader import Reader
from mcp_memory.vault.retirement import ATTEMPTS, Retirement

SAME_MINUTE_S = 60.0

FULL_BYTES = 128 * 1024
"""A log of this size, some 500 entries, is continued in another file: for each entry its whole file is written and cut
into chunks anew."""

_GAP = 3
"""So many parts of a day may be missing before a later one."""

_GLUE_BYTES = 100
"""What an entry may need besides itself: a line break or two, the end of an open fence."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One file of a day's log. Numbers count from 1."""

    number: int
    path: NotePath
    size_bytes: int


class DailyLog:
    """Adds entries to `memory/YYYY-MM-DD.md`, or where the layout says, and to further parts of a long day's log.
    Thread-safe, except that the same content must come in one thread at a time."""

    def __init__(
        self,
        backend: StorageBackend,
        reader: Reader,
        journal: AppendJournal,
        retirement: Retirement,
        clock: Callable[[], datetime],
    ) -> None:
        self._backend = backend
        self._reader = reader
        self._journal = journal
        self._retirement = retirement
        self._clock = clock

    def append(self, draft: Draft) -> WriteResult:
        """Raises Refused for a log that holds no text, StorageFailed."""
        now = self._clock()
        labels = logs.Labels(draft.project, tuple(dict.fromkeys(draft.tags)))
        text = logs.render_entry(now.strftime("%H:%M"), draft.heading, draft.content, labels)
        path = self._open_log(now.date(), len(text.encode("utf-8", "replace")))
        file = self._file(path)
        if again := self._recent_entry(draft, now) or self._remembered_entry(file, entry_hash(text)):
            return again
        before = file.record.etag if file else None
        added = JournaledAppend(
            path, entry_hash(text), before, now.timestamp(), draft.content_hash, draft.project, draft.session
        )
        self._journal.announce(added, text)
        try:
            stored = self.add(path, text)
        except McpMemoryError:
            self._mark(added, AppendOutcome.DISMISSED)
            raise
        self._mark(added, AppendOutcome.LANDED)
        return stored

    def parts(self, day: date) -> list[NotePath]:
        """The files of a day's log that are there, in their order."""
        found: list[NotePath] = []
        with suppress(McpMemoryError):  # what can be seen of them
            found.extend(part.path for part in self._parts(day))
        return found

    def add(self, path: NotePath, text: str) -> WriteResult:
        """Write an entry at the end of a log, whatever stands there already. Raises as `append`."""
        for _ in range(ATTEMPTS):
            try:
                blob = self._backend.read(path, limit_bytes=self._reader.max_note_bytes)
                before, etag = editable_text(path, blob.data), blob.etag
            except NotFound:
                before, etag = logs.new_log(logs.is_log_path(path) or self._clock().date()), None
            data = logs.append_entry(before, text).encode("utf-8", "surrogateescape")
            if len(data) > self._reader.max_note_bytes:
                raise Refused(f"{path} is full", hint="store this as a note")
            try:
                written = self._backend.write(path, data, etag)
            except PreconditionFailed:
                continue
            except AlreadyExists:
                if self._file(path) is None:
                    raise  # not a faster writer: another name stands where ours would
                continue
            file = self._reader.note(path, data, written.etag, written.stat)
            return WriteResult(file, Outcome.CREATED, entry_hash(text), written.conflict)
        raise StorageFailed(f"{path} changes faster than it can be appended to", hint="try again")

    def _parts(self, day: date) -> Iterator[_Part]:
        """In their order. Somebody may have taken one away. Raises as reading does."""
        number = missing = 0
        while missing <= _GAP:
            number += 1
            path = self._reader.layout.log_of(day, number)
            try:
                size_bytes = self._backend.stat(path).size_bytes
            except NotFound:
                missing += 1
                continue
            missing = 0
            yield _Part(number, path, size_bytes)

    def _open_log(self, day: date, more_bytes: int) -> NotePath:
        """Where the next entry goes."""
        *_, last = _Part(1, self._reader.layout.log_of(day), 0), *self._parts(day)
        limit = self._reader.max_note_bytes
        is_full = last.size_bytes >= min(FULL_BYTES, limit // 2)
        fits = last.size_bytes + more_bytes + _GLUE_BYTES <= limit
        return (
            self._reader.layout.log_of(day, last.number + 1) if last.size_bytes and (is_full or not fits) else last.path
        )

    def _file(self, path: NotePath) -> NoteFile | None:
        try:
            return self._reader.read(path)
        except NotFound:
            return None

    def _mark(self, added: JournaledAppend, fate: AppendOutcome) -> None:
        # The entry's own outcome is decided. Without the mark it is listed as cut short, should it ever be lost.
        with suppress(StorageFailed):
            self._journal.mark(added, fate)

    def _recent_entry(self, draft: Draft, now: datetime) -> WriteResult | None:
        """The same content from the same session within a minute is a retry."""
        for known in self._journal.recent(draft.content_hash, now.timestamp() - SAME_MINUTE_S):
            if (known.session, known.project) != (draft.session, draft.project) or known.at > now.timestamp():
                continue
            file = self._file(known.path)
            if file and known.entry not in file.forgotten_entries and file.has_entry(known.entry):
                return WriteResult(file, Outcome.DUPLICATE, known.entry)
        return None

    def _remembered_entry(self, file: NoteFile | None, entry: str) -> WriteResult | None:
        """The very entry that was forgotten in this minute, said again: it is shown again, since its twin would
        have the same hash and be as forgotten."""
        if file is None or entry not in file.forgotten_entries or not file.has_entry(entry):
            return None
        return WriteResult(self._retirement.restore_entry(file.record.path, entry), Outcome.CREATED, entry)


def entry_hash(entry: str) -> str:
    """The hash of a rendered log entry."""
    return logs.entries(entry)[0].hash
