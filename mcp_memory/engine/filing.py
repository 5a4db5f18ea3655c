"""Filing: notes moved into topics, and the pages of topics written; whole files only, and never anybody else's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from mcp_memory.engine.ledger import Ledger, LedgerEntry
from mcp_memory.engine.notes import NoteFile
from mcp_memory.engine.reader import Reader
from mcp_memory.engine.vouching import Vouching
from mcp_memory.errors import NotFound, PathRefused, Refused
from mcp_memory.models import Etag, NoteId, NotePath, NoteRecord, Shelf
from mcp_memory.storage.base import StorageBackend
from mcp_memory.storage.paths import validate_new
from mcp_memory.text import frontmatter
from mcp_memory.topics.page import PAGE, etag_of

PAGE_KIND = "summary"
"""Of a page in the ledger."""


class Filing:
    """Part of the vault. Thread-safe; each verb may be called again after a crash."""

    def __init__(
        self,
        backend: StorageBackend,
        reader: Reader,
        ledger: Ledger,
        vouching: Vouching,
        clock: Callable[[], datetime],
        must_be_there: Callable[[], None],
    ) -> None:
        """`must_be_there` raises where the vault's folder is away."""
        self._backend = backend
        self._reader = reader
        self._ledger = ledger
        self._vouching = vouching
        self._clock = clock
        self._must_be_there = must_be_there

    def move(self, source: NotePath, target: NotePath, note_id: NoteId) -> NoteFile:
        """One rename; the bytes stay. Where it was done before, the note is read from its new place.

        Raises NotFound where the note is in neither place, Refused for one that we do not vouch for, AlreadyExists
        where the new place is taken, StorageFailed.
        """
        self._must_be_there()
        file = self._at(source, note_id)
        if file is None:
            if moved := self._at(target, note_id):
                return moved
            raise NotFound(f"{source} is not what it was", hint="the next compaction sees what became of it")
        if not self._vouching.vouches(source, note_id):
            raise Refused(f"{source} is a personal note: this installation did not write it")
        record = file.record
        kind = PAGE_KIND if record.shelf is Shelf.SUMMARY else record.kind
        self._record(note_id, target, record.content_hash, kind, record.project, left=source)
        self._backend.move(source, target)
        return self._reader.read(target)

    def write_page(self, path: NotePath, data: bytes, expected: Etag | None) -> NoteFile:
        """Put a page under its name; `expected` as for `StorageBackend.write`. Raises as that does."""
        self._must_be_there()
        page_id = NoteId(str(frontmatter.parse(data.decode()).meta["id"]))
        self._record(page_id, path, etag_of(data), PAGE_KIND, None)
        written = self._backend.write(path, data, expected)
        return self._reader.note(path, data, written.etag, written.stat)

    def remove_page(self, path: NotePath, expected: Etag) -> None:
        """Raises NotFound, PreconditionFailed where it is not as we wrote it, StorageFailed."""
        self._must_be_there()
        self._backend.remove_generated(path, expected)

    def remove_folder(self, folder: NotePath) -> bool:
        """False where something is in it."""
        self._backend.settle(min_age_s=0, path=NotePath(f"{folder}/{PAGE}"))  # a page just removed is held for a while
        return self._backend.rmdir_empty(folder)

    def wrote(self, page: NoteFile) -> bool:
        """Whether a page is as we wrote it, to the byte: a person's own edit is respected."""
        return bool(self._ledger.written(page.record.etag, PAGE_KIND, None))

    def made(self, path: NotePath, page: NoteRecord | None = None) -> bool:
        """Whether we ever wrote a page at this path, so that its folder is a topic of ours; or it is the `page` that we
        wrote elsewhere, since a person gave the folder another name."""
        if PAGE_KIND in self._ledger.kinds_at(path):
            return True
        return page is not None and self._is_page(page.id) and self._vouching.vouches(path, page.id)

    def may_move(self, path: NotePath, note_id: NoteId) -> bool:
        """Whether it is a note of ours, under a name that we would give."""
        try:
            validate_new(path)
        except PathRefused:
            return False
        return self._vouching.vouches(path, note_id)

    def _is_page(self, page_id: NoteId) -> bool:
        places = self._ledger.places_of(page_id)
        return bool(places) and PAGE_KIND in self._ledger.kinds_at(places[-1])

    def _at(self, path: NotePath, note_id: NoteId) -> NoteFile | None:
        try:
            file = self._reader.read(path)
        except NotFound:
            return None
        return file if file.record.id == note_id and file.record.shelf is not Shelf.DELETED else None

    def _record(
        self,
        note_id: NoteId,
        path: NotePath,
        content: str,
        kind: str,
        project: str | None,
        left: NotePath | None = None,
    ) -> None:
        """Before the file is there: a crash in between leaves a place known where nothing is."""
        at = self._clock().timestamp()
        self._ledger.record(LedgerEntry(note_id, path, content, kind, project, None, at, left))
