"""Publishing a new note: found again where it is there already, else written under a name of its own."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from ulid import ULID

from mcp_memory.errors import AlreadyExists, NotFound, PathRefused, Refused, StorageFailed
from mcp_memory.models import NoteId, NotePath, NoteState, Outcome
from mcp_memory.storage.base import StorageBackend
from mcp_memory.storage.path_rules import validate_new
from mcp_memory.text.instruction_files import are_orders, plain_name
from mcp_memory.topics.page import is_page
from mcp_memory.topics.plan import FRESH
from mcp_memory.vault import draft as drafts
from mcp_memory.vault.draft import Draft, WriteResult
from mcp_memory.vault.journals.ledger import Ledger
from mcp_memory.vault.note_file import ALWAYS_LOAD, INBOX, NoteFile, file_stem
from mcp_memory.vault.ownership import Provenance
from mcp_memory.vault.reader import Reader
from mcp_memory.vault.retirement import retired_at

OTHER_NAME = "choose another name"

_NUMBER = re.compile(r"([0-9]{1,6})-[^/]*")
"""More digits are a date or another's own numbering."""


class NotePublisher:
    """Writes whole files. Thread-safe, except that the same content must come in one thread at a time."""

    def __init__(
        self,
        backend: StorageBackend,
        reader: Reader,
        ledger: Ledger,
        provenance: Provenance,
        clock: Callable[[], datetime],
    ) -> None:
        self._backend = backend
        self._reader = reader
        self._ledger = ledger
        self._provenance = provenance
        self._clock = clock
        self._numbering = threading.Lock()
        self._last_numbers: dict[str, int] = {}

    def already_written(self, draft: Draft, same: Sequence[NotePath]) -> WriteResult | None:
        """The note that holds this very content and counts; looked for where the ledger knows it from, and `same`. For
        a draft that is to be stored but once each counts, unless what the draft tells was said after that one was
        retired; one that is active comes first."""
        wanted = (draft.content_hash, draft.kind.name, draft.project)
        known = self._ledger.written(*wanted)
        contents = {draft.content_hash, *(each.now for each in known)}
        now = self._clock()
        retired: NoteFile | None = None
        paths = list(dict.fromkeys([*(each.path for each in reversed(known)), *same]))
        for path in paths * 2:  # while it is filed elsewhere, one look may come too early for each of its places
            try:
                file = self._reader.read(path)
            except (NotFound, Refused, PathRefused, StorageFailed):
                continue  # announced but never published, moved since, or no longer a note
            record = file.record
            if record.content_hash not in contents or (record.kind, record.project) != wanted[1:]:
                continue
            if record.state is NoteState.ACTIVE and (record.expires_at is None or record.expires_at > now):
                return WriteResult(file, Outcome.DUPLICATE)
            retired = retired or (None if _is_said_since(draft, file) else file)
        return WriteResult(retired, Outcome.DUPLICATE) if draft.once and retired else None

    def publish(self, draft: Draft, supersedes: NoteId | None) -> WriteResult:
        """Raises AlreadyExists where `draft.path` is taken, Refused, PathRefused, StorageFailed."""
        now = self._clock()
        note_id = draft.id or NoteId(str(ULID.from_datetime(now)))
        data = drafts.render(draft, note_id, now, supersedes)
        tails = [""] if draft.path else _tails(note_id)
        for tail in tails:
            path = self._place(draft, tail)
            self._provenance.announce(draft, note_id, path, now)
            try:
                written = self._backend.write(path, data, None)
            except AlreadyExists:
                if tail == tails[-1]:
                    raise
                continue
            return WriteResult(self._reader.note(path, data, written.etag, written.stat), Outcome.CREATED)
        raise AssertionError("a note has at least one name to try")

    def _place(self, draft: Draft, tail: str) -> NotePath:
        layout = self._reader.layout
        if draft.path:
            inner = layout.below_home(validate_new(draft.path))
            if inner is None:
                raise Refused(
                    f"{draft.path} is outside the managed folder", hint=f"start with {layout.home or 'notes'}/"
                )
            # Folded: on some disks, and for every other writer of such names, the spelling makes no difference.
            folded = plain_name(inner)
            for folder in (ALWAYS_LOAD, INBOX):
                if folded.startswith(f"{folder}/"):
                    raise Refused(f"only a person writes to {folder}/", hint="use another folder")
            if folded == "memory.md" or folded.startswith("memory/"):
                raise Refused(f"{draft.path} is kept for MEMORY.md and the daily log", hint="use kind='log', or notes/")
            if is_page(folded):
                raise Refused(f"{draft.path} is the page of a topic", hint=OTHER_NAME)
            if are_orders(draft.path):
                raise Refused(f"agents read {draft.path} as orders: only a person writes it", hint=OTHER_NAME)
            return NotePath(draft.path)
        folder, stem = draft.folder or draft.kind.folder, file_stem(draft.heading)
        if folder.endswith(FRESH):  # numbered in their order
            return layout.in_home(f"{folder}/{self._next_number(folder):03}-{stem}{tail}.md")
        return layout.in_home(f"{folder}/{stem}{tail}.md")

    def _next_number(self, folder: str) -> int:
        """One more than the highest number in the folder; a taken one is no harm, `id` identifies."""
        with self._numbering:
            if folder not in self._last_numbers:
                prefix = self._reader.layout.in_home(f"{folder}/")
                names = (path[len(prefix) :] for path in self._backend.list().files if path.startswith(prefix))
                numbers = (int(match[1]) for name in names if (match := _NUMBER.fullmatch(name)))
                self._last_numbers[folder] = max(numbers, default=0)
            self._last_numbers[folder] += 1
            return self._last_numbers[folder]


def _tails(note_id: NoteId) -> list[str]:
    """What tells notes of one title apart: small numbers while they last, then the id, so that the thousandth note
    costs no more than the fifth."""
    unique = note_id.lower()
    return ["", "-2", "-3", f"-{unique[-6:]}", f"-{unique}"]


def _is_said_since(draft: Draft, file: NoteFile) -> bool:
    """Whether the draft tells what was said after the note was forgotten, replaced or over. Marks have no fractions of
    a second."""
    retired = retired_at(file)
    return draft.created is not None and retired is not None and draft.created.replace(microsecond=0) > retired
