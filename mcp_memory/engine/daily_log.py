"""Daily logs: entries that many writers add at once, each whole and once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from mcp_memory.engine import marks
from mcp_memory.engine.draft import Draft
from mcp_memory.engine.kinds import LOG
from mcp_memory.engine.ledger import Ledger
from mcp_memory.engine.patching import Patcher
from mcp_memory.engine.reader import Reader
from mcp_memory.engine.stored import ATTEMPTS, Stored
from mcp_memory.engine.vouching import Vouching
from mcp_memory.errors import AlreadyExists, NotFound, PreconditionFailed, Refused, StorageFailed
from mcp_memory.models import NoteId, NotePath, Outcome
from mcp_memory.storage.base import Blob, StorageBackend
from mcp_memory.text import logs

SAME_MINUTE_S = 60.0


class DailyLog:
    """Adds entries to `memory/YYYY-MM-DD.md`, or where the layout says. Thread-safe, except that the same content must
    come in one thread at a time."""

    def __init__(
        self,
        backend: StorageBackend,
        reader: Reader,
        ledger: Ledger,
        vouching: Vouching,
        patcher: Patcher,
        clock: Callable[[], datetime],
    ) -> None:
        self._backend = backend
        self._reader = reader
        self._ledger = ledger
        self._vouching = vouching
        self._patcher = patcher
        self._clock = clock

    def append(self, draft: Draft) -> Stored:
        """Raises Refused for a log that holds no text, StorageFailed."""
        now = self._clock()
        path = self._reader.layout.log_of(now.date())
        text = logs.render_entry(now.strftime("%H:%M"), draft.heading, draft.content)
        if recent := self._recent_entry(draft, now):
            return recent
        self._vouching.announce(draft, NoteId(f"path:{path}"), path, now)
        for _ in range(ATTEMPTS):
            try:
                blob = self._backend.read(path, limit_bytes=self._reader.max_note_bytes)
                before, etag = marks.patchable(path, blob.data), blob.etag
            except NotFound:
                before, etag = logs.new_log(now.date()), None
            else:
                if again := self._remembered_entry(path, blob, text):
                    return again
            data = logs.append_entry(before, text).encode("utf-8", "surrogateescape")
            if len(data) > self._reader.max_note_bytes:
                raise Refused(f"{path} is full", hint="store this as a note; tomorrow has a new log")
            try:
                written = self._backend.write(path, data, etag)
            except PreconditionFailed:
                continue
            except AlreadyExists:
                if self._missing(path):
                    raise  # not a faster writer: another name stands where ours would
                continue
            file = self._reader.note(path, data, written.etag, written.stat)
            entry = logs.entries(file.text, file.body_start)[-1].hash
            return Stored(file, Outcome.CREATED, entry, written.conflict)
        raise StorageFailed(f"{path} changes faster than it can be appended to", hint="try again")

    def _missing(self, path: NotePath) -> bool:
        try:
            self._backend.stat(path)
        except NotFound:
            return True
        return False

    def _recent_entry(self, draft: Draft, now: datetime) -> Stored | None:
        """The same content from the same session within a minute is a retry."""
        for known in self._ledger.written(draft.content_hash, LOG, draft.project):
            if known.session != draft.session or not 0 <= now.timestamp() - known.at <= SAME_MINUTE_S:
                continue
            try:
                file = self._reader.read(known.path)
            except NotFound:
                continue
            minute = datetime.fromtimestamp(known.at, self._reader.layout.tz).strftime("%H:%M")
            wanted = marks.hash_of(logs.render_entry(minute, draft.heading, draft.content))
            if wanted not in marks.forgotten(file) and marks.holds(file, wanted):
                return Stored(file, Outcome.DUPLICATE, wanted)
        return None

    def _remembered_entry(self, path: NotePath, blob: Blob, text: str) -> Stored | None:
        """The very entry that was forgotten in this minute, said again: it is shown again, since its twin would
        have the same hash and be as forgotten."""
        entry = marks.hash_of(text)
        file = self._reader.note(path, blob.data, blob.etag, blob.stat)
        if entry not in marks.forgotten(file) or not marks.holds(file, entry):
            return None
        shown = self._patcher.patch(path, lambda now: {"forgotten": marks.without(now, entry)})
        return Stored(shown, Outcome.CREATED, entry)
