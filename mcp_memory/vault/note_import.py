"""Imports notes of another program or of an exported vault, whole files only, and never overwrites an edited one.

The line `import_check: v1-<of the source>-<of the note>` in an imported note says which version of its source it comes
from, and whether anybody has edited it since. Each part is 16 hexadecimal digits of a sha256: of the source's bytes,
and of the note's own with these digits as zeros. So an edit is noticed on every device, and without any state.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial

from mcp_memory.errors import AlreadyExists, NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.models import Etag, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.storage.base import StorageBackend
from mcp_memory.storage.path_rules import beside, validate_new
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.topics.page import etag_of
from mcp_memory.vault.journals.ledger import Ledger, LedgerEntry
from mcp_memory.vault.note_file import NoteFile, read_note
from mcp_memory.vault.reader import Reader

SEAL_KEY = "import_check"


SEAL_BLANK = "0" * 16
"""Stands for the note's own digits while they are computed."""


BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


NO_TIME = "0" * 10
"""The part of a ULID that tells when it was made: an import makes the same id each time."""


_FORM = re.compile(rb"^[ \t]*import_check: v1-([0-9a-f]{16})-([0-9a-f]{16})[ \t]*\r?$", re.MULTILINE)


_HEAD_BYTES = 80 * 1024
"""More than any frontmatter that is read."""


@dataclass(frozen=True, slots=True)
class ImportSeal:
    """`source` is the digest of the version that was imported."""

    source: str
    unbroken: bool

    @staticmethod
    def read(data: bytes) -> ImportSeal | None:
        """None for a note that was not imported, or whose seal is gone."""
        found = _FORM.search(data[:_HEAD_BYTES])
        if found is None:
            return None
        start, end = found.span(2)
        opened = data[:start] + SEAL_BLANK.encode() + data[end:]
        return ImportSeal(found[1].decode(), hashlib.sha256(opened).hexdigest()[:16].encode() == found[2])


def mark_in(note_id: str) -> str | None:
    """The mark of the source that a note with this id was imported from, if it was."""
    is_ours = len(note_id) == 26 and note_id.startswith(NO_TIME) and set(note_id) <= set(BASE32)
    return note_id[10:16] if is_ours else None


WRITERS = 4
"""Threads that write at once: a disk syncs several files in little more than the time of one."""


class ImportAction(StrEnum):
    """What becomes of a note that comes in, in the words of the report."""

    NEW = "new"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    EDITED = "edited"
    """It was changed in the vault and in its source: the vault's stays."""
    FORGOTTEN = "forgotten"
    """It was forgotten here, and stays so."""
    DUPLICATE = "duplicate"
    """The vault has the same from elsewhere."""
    CONFLICT = "conflict"
    """Another file has its name."""
    REFUSED = "refused"


WRITTEN = frozenset({ImportAction.NEW, ImportAction.UPDATED})


@dataclass(frozen=True, slots=True)
class IncomingNote:
    """`id` is None for a file of an exported vault, which is to have just this path and these bytes."""

    path: NotePath
    data: bytes
    id: NoteId | None = None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """`path` is where the note is or would be, `why` a few words where nothing was written."""

    action: ImportAction
    path: NotePath
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Step:
    """What is to be done with one; `expected` is the etag of the version that is replaced."""

    incoming: IncomingNote
    taken: ImportResult
    expected: Etag | None = None


Known = Callable[[NoteId], Sequence[NoteRecord]]
"""The notes that carry an id, as the index knows them."""

Same = Callable[[NoteRecord], Sequence[NoteRecord]]
"""The notes that say the same as this one, as the index knows them."""


class NoteImporter:
    """Part of the vault. Thread-safe; each verb may be called again after a crash, and then does what is left."""

    def __init__(
        self,
        backend: StorageBackend,
        reader: Reader,
        ledger: Ledger,
        clock: Callable[[], datetime],
        must_be_there: Callable[[], None],
        *,
        secrets_allowed: bool,
    ) -> None:
        """`must_be_there` raises where the vault's folder is away."""
        self._backend = backend
        self._reader = reader
        self._ledger = ledger
        self._clock = clock
        self._must_be_there = must_be_there
        self._secrets_allowed = secrets_allowed

    def import_notes(
        self, incoming: Sequence[IncomingNote], known: Known, same: Same, *, dry_run: bool = False
    ) -> list[ImportResult]:
        """Put them in, or say what would be done; in their order. Raises StorageFailed where the disk says no: then a
        part of them is in."""
        with ThreadPoolExecutor(WRITERS) as crew:
            steps = list(crew.map(partial(self._decided, known=known, same=same), incoming))
            if dry_run:
                return [step.taken for step in steps]
            self._must_be_there()
            self._announce([step for step in steps if step.incoming.id and step.taken.action in WRITTEN])
            return list(crew.map(self._done, steps))

    # -- what is to be done ------------------------------------------------------------------------------------

    def _decided(self, incoming: IncomingNote, known: Known, same: Same) -> _Step:
        try:
            if incoming.id is None:
                return self._as_it_was(incoming)
            return self._brought_in(incoming, incoming.id, known, same)
        except (PathRefused, Refused) as error:
            return _Step(incoming, ImportResult(ImportAction.REFUSED, incoming.path, error.message))

    def _as_it_was(self, incoming: IncomingNote) -> _Step:
        validate_new(incoming.path)
        try:
            there = self._backend.read(incoming.path)
        except NotFound:
            return _Step(incoming, ImportResult(ImportAction.NEW, incoming.path))
        if there.etag == etag_of(incoming.data):
            return _Step(incoming, ImportResult(ImportAction.UNCHANGED, incoming.path))
        return _Step(incoming, ImportResult(ImportAction.CONFLICT, incoming.path, "the vault has another version"))

    def _brought_in(self, incoming: IncomingNote, note_id: NoteId, known: Known, same: Same) -> _Step:
        standing = self._standing(incoming, note_id, known)
        if standing is None:
            self._must_be_fit(incoming)
            path = self._free(incoming, note_id)
            record = self._record(incoming, path)
            for other in same(record):
                if other.title == record.title and other.id != record.id and mark_in(other.id) != mark_in(note_id):
                    return _Step(incoming, ImportResult(ImportAction.DUPLICATE, path, f"the same is in {other.path}"))
            return _Step(incoming, ImportResult(ImportAction.NEW, path))
        path = standing.record.path
        if standing.record.state is NoteState.DELETED:
            return _Step(incoming, ImportResult(ImportAction.FORGOTTEN, path, "it was forgotten here"))
        there = self._backend.read(path)
        mine, theirs = ImportSeal.read(there.data), ImportSeal.read(incoming.data)
        if mine and theirs and mine.source == theirs.source:
            return _Step(incoming, ImportResult(ImportAction.UNCHANGED, path))
        if mine is None or not mine.unbroken:
            return _Step(incoming, ImportResult(ImportAction.EDITED, path, "it was changed here, too"))
        self._must_be_fit(incoming)
        return _Step(incoming, ImportResult(ImportAction.UPDATED, path), there.etag)

    def _standing(self, incoming: IncomingNote, note_id: NoteId, known: Known) -> NoteFile | None:
        """The note as it came in before, wherever it has been moved since."""
        for path in dict.fromkeys([incoming.path, *(each.path for each in known(note_id))]):
            try:
                file = self._reader.read(path)
            except (NotFound, PathRefused):
                continue
            if file.record.id == note_id:
                return file
        return None

    def _free(self, incoming: IncomingNote, note_id: NoteId) -> NotePath:
        """The path that it wants, or one beside what has that."""
        validate_new(incoming.path)
        try:
            self._backend.stat(incoming.path)
        except NotFound:
            return incoming.path
        return _instead(incoming.path, note_id)

    def _must_be_fit(self, incoming: IncomingNote) -> None:
        """Raises Refused."""
        if len(incoming.data) > self._reader.max_note_bytes:
            raise Refused(f"it is larger than {self._reader.max_note_bytes:,} bytes (vault.max_note_bytes)")
        if not self._secrets_allowed and (found := find_secret(incoming.data.decode("utf-8", "replace"))):
            raise Refused(f"it seems to hold a secret ({found}); see vault.secrets")

    # -- doing it ----------------------------------------------------------------------------------------------

    def _announce(self, steps: Sequence[_Step]) -> None:
        """Before anything is written, so that the notes are known as ours whatever happens."""
        if steps:
            self._ledger.record(*(self._entry(step) for step in steps))

    def _entry(self, step: _Step) -> LedgerEntry:
        record = self._record(step.incoming, step.taken.path)
        at = self._clock().timestamp()
        return LedgerEntry(record.id, record.path, record.content_hash, record.kind, record.project, None, at)

    def _done(self, step: _Step) -> ImportResult:
        incoming, taken = step.incoming, step.taken
        if taken.action not in WRITTEN:
            return taken
        try:
            try:
                self._backend.write(taken.path, incoming.data, step.expected)
            except AlreadyExists:
                if incoming.id is None or taken.path != incoming.path:
                    raise
                # Its name differs from another's in case alone.
                taken = replace(taken, path=_instead(incoming.path, incoming.id))
                self._announce([replace(step, taken=taken)])
                self._backend.write(taken.path, incoming.data, None)
        except (AlreadyExists, PathRefused) as error:
            return ImportResult(ImportAction.CONFLICT, taken.path, error.message)
        except (PreconditionFailed, NotFound):
            return ImportResult(ImportAction.EDITED, taken.path, "it was changed here at this very moment")
        return taken

    def _record(self, incoming: IncomingNote, path: NotePath) -> NoteRecord:
        etag = Etag(etag_of(incoming.data))
        return read_note(path, incoming.data, etag, "", self._reader.layout, self._reader.kinds).record


def _instead(path: NotePath, note_id: NoteId) -> NotePath:
    """The same each time."""
    return NotePath(beside(path, f"-{note_id[-6:].lower()}"))
