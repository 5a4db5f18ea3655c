"""Import notes of another program or of an exported vault as whole files, and never overwrite an edited note.

The line `import_check: v1-<of the source>-<of the note>` in an imported note identifies the version of its source, and
shows whether the note has been edited since. Each part is 16 hexadecimal digits of a sha256: of the source's bytes, and
of the note's own bytes with these digits as zeros. So an edit is noticed on every device, without any state.
"""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

from mcp_memory.errors import AlreadyExists, NotFound, PathRefused, PreconditionFailed, Refused, StorageFailed
from mcp_memory.models import IMPORTED_ID, Etag, NoteId, NotePath, NoteRecord, NoteState, etag_of
from mcp_memory.storage.path_rules import beside, portable_path, validate_new
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.text.text_hash import text_hash
from mcp_memory.vault.journals.change_journal import acting, current_caller
from mcp_memory.vault.journals.ledger import Ledger, LedgerEntry
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import NoteFile, read_note
from mcp_memory.vault.note_store import NoteStore

SEAL_KEY = "import_check"
SEAL_BLANK = "0" * 16  # in place of the note's own digits while they are computed
BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
WRITERS = 4  # threads: a disk syncs several files in little more than the time of one
_HEAD_BYTES = 80 * 1024  # more than any frontmatter that is read
_FORM = re.compile(rb"^[ \t]*import_check: v1-([0-9a-f]{16})-([0-9a-f]{16})[ \t]*\r?$", re.MULTILINE)


class ImportSeal(NamedTuple):
    """The seal of an imported note. `source` is the digest of the version that was imported."""

    source: str
    unbroken: bool

    @staticmethod
    def read(data: bytes) -> ImportSeal | None:
        """Read a note's seal; None for a note that was not imported, or whose seal is gone."""
        found = _FORM.search(data[:_HEAD_BYTES])
        if found is None:
            return None
        start, end = found.span(2)
        opened = data[:start] + SEAL_BLANK.encode() + data[end:]
        return ImportSeal(found[1].decode(), hashlib.sha256(opened).hexdigest()[:16].encode() == found[2])


def mark_in(note_id: str) -> str | None:
    """Return the part of an imported note's id that identifies its source; None for other notes."""
    is_ours = len(note_id) == 26 and note_id.startswith(IMPORTED_ID) and set(note_id) <= set(BASE32)
    return note_id[10:16] if is_ours else None


ImportAction = Literal["new", "updated", "unchanged", "edited", "forgotten", "duplicate", "conflict", "refused"]
"""The outcomes for an incoming note, in the words of the report. `edited`: it was changed in the vault and in its
source, so the vault's version stays. `forgotten`: in this vault, and stays so. `duplicate`: the vault has the same from
another source. `conflict`: another file has its name."""

WRITTEN = frozenset({"new", "updated"})


@dataclass(frozen=True)
class IncomingNote:
    """A note to be imported."""

    path: NotePath
    data: bytes
    id: NoteId | None = None  # None for a file of an exported vault, which keeps its path and bytes


@dataclass(frozen=True)
class ImportResult:
    """The outcome of importing a note."""

    action: ImportAction
    path: NotePath  # where the note is or would be
    why: str = ""  # if nothing was written


@dataclass(frozen=True)
class _Step:
    """The plan for an incoming note."""

    incoming: IncomingNote
    taken: ImportResult
    expected: Etag | None = None  # the etag of the version that is replaced


Known = Callable[[NoteId], Sequence[NoteRecord]]  # the index's notes with an id
Same = Callable[[NoteRecord], Sequence[NoteRecord]]  # the index's notes with the same content


@dataclass(frozen=True)
class NoteImporter:
    """The importer, a part of the vault. Thread-safe; after a crash, calling it again does the rest."""

    notes: NoteStore
    ledger: Ledger
    secrets_allowed: bool

    def import_notes(
        self, incoming: Sequence[IncomingNote], known: Known, same: Same, *, dry_run: bool = False
    ) -> list[ImportResult]:
        """Import notes, or with `dry_run` only plan the import; the results are in the same order. Raises StorageFailed
        if the disk refuses, after a part of the notes is imported."""
        with ThreadPoolExecutor(WRITERS) as pool:
            steps = list(pool.map(partial(self._plan, known=known, same=same), incoming))
            if dry_run:
                return [step.taken for step in steps]
            self.notes.require_vault()
            self._announce([step for step in steps if step.incoming.id and step.taken.action in WRITTEN])
            return list(pool.map(partial(self._execute_for, current_caller()), steps))

    def _plan(self, incoming: IncomingNote, known: Known, same: Same) -> _Step:
        try:
            if incoming.id is None:
                return self._plan_exact(incoming)
            return self._plan_note(incoming, incoming.id, known, same)
        except (PathRefused, Refused) as error:
            return _Step(incoming, ImportResult("refused", incoming.path, error.message))

    def _plan_exact(self, incoming: IncomingNote) -> _Step:
        """Plan for the file's own path, even if other systems don't allow it, or for the path of an earlier import."""
        wanted = validate_new(incoming.path, portable=False)
        etags = {path: self._etag_at(path) for path in (wanted, _allowed_path(wanted))}
        for path, etag in etags.items():
            if etag == etag_of(incoming.data):
                return _Step(incoming, ImportResult("unchanged", path))
        if etags[wanted] is None:
            return _Step(incoming, ImportResult("new", wanted))
        with suppress(PathRefused, Refused):  # no note of ours can be read there
            if self.notes.read(incoming.path).record.state is NoteState.DELETED:
                return _Step(incoming, ImportResult("forgotten", incoming.path, "it was forgotten here"))
        return _Step(incoming, ImportResult("conflict", incoming.path, "the vault has another version"))

    def _etag_at(self, path: NotePath) -> Etag | None:
        try:
            return self.notes.backend.read(path).etag
        except NotFound:
            return None
        except StorageFailed as error:
            if _is_name_refused(error):
                return None
            raise

    def _plan_note(self, incoming: IncomingNote, note_id: NoteId, known: Known, same: Same) -> _Step:
        earlier = self._find_earlier(incoming, note_id, known)
        if earlier is None:
            self._check(incoming)
            path = self._free_path(incoming, note_id)
            record = self._record(incoming, path)
            for other in same(record):
                if other.title == record.title and other.id != record.id and mark_in(other.id) != mark_in(note_id):
                    return _Step(incoming, ImportResult("duplicate", path, f"the same is in {other.path}"))
            return _Step(incoming, ImportResult("new", path))
        path = earlier.record.path
        if earlier.record.state is NoteState.DELETED:
            return _Step(incoming, ImportResult("forgotten", path, "it was forgotten here"))
        found = self.notes.backend.read(path)
        mine, theirs = ImportSeal.read(found.data), ImportSeal.read(incoming.data)
        if mine and theirs and mine.source == theirs.source:
            return _Step(incoming, ImportResult("unchanged", path))
        if mine is None or not mine.unbroken:
            return _Step(incoming, ImportResult("edited", path, "it was changed here, too"))
        self._check(incoming)
        return _Step(incoming, ImportResult("updated", path), found.etag)

    def _find_earlier(self, incoming: IncomingNote, note_id: NoteId, known: Known) -> NoteFile | None:
        """Return the note from an earlier import, wherever it has been moved since."""
        for path in dict.fromkeys([incoming.path, *(record.path for record in known(note_id))]):
            with suppress(NotFound, PathRefused):
                if (file := self.notes.read(path)).record.id == note_id:
                    return file
        return None

    def _free_path(self, incoming: IncomingNote, note_id: NoteId) -> NotePath:
        """Return the note's own path, or another one if that is taken."""
        validate_new(incoming.path)
        try:
            self.notes.backend.stat(incoming.path)
        except NotFound:
            return incoming.path
        return _other_path(incoming.path, note_id)

    def _check(self, incoming: IncomingNote) -> None:
        """Check an incoming note. Raises Refused."""
        if len(incoming.data) > self.notes.max_note_bytes:
            raise Refused(f"it is larger than {self.notes.max_note_bytes:,} bytes (vault.max_note_bytes)")
        if not self.secrets_allowed and (found := find_secret(incoming.data.decode("utf-8", "replace"))):
            raise Refused(f"it seems to hold a secret ({found}); see vault.secrets")

    def _announce(self, steps: Sequence[_Step]) -> None:
        """Record the notes in the ledger before anything is written, so that they are known as ours whatever
        happens."""
        now = self.notes.clock()
        if steps:
            self.ledger.record(*(LedgerEntry.of(self._record(step.incoming, step.taken.path), now) for step in steps))

    def _execute_for(self, by: Caller, step: _Step) -> ImportResult:
        """Execute a step in a thread of a pool, which doesn't know for whom it works."""
        with acting(by):
            return self._execute(step)

    def _execute(self, step: _Step) -> ImportResult:
        incoming, taken = step.incoming, step.taken
        if taken.action not in WRITTEN:
            return taken
        try:
            if incoming.id is None:
                return self._restore(incoming, taken)
            try:
                self.notes.write(taken.path, incoming.data, step.expected)
            except AlreadyExists:
                if taken.path != incoming.path:
                    raise
                # The name differs from an existing name only in case.
                taken = replace(taken, path=_other_path(incoming.path, incoming.id))
                self._announce([replace(step, taken=taken)])
                self.notes.write(taken.path, incoming.data, None)
        except (AlreadyExists, PathRefused) as error:
            return ImportResult("conflict", taken.path, error.message)
        except (PreconditionFailed, NotFound):
            return ImportResult("edited", taken.path, "it was changed here at this very moment")
        return taken

    def _restore(self, incoming: IncomingNote, taken: ImportResult) -> ImportResult:
        """Restore a note under its own name, or under a changed name where this disk can't have its own."""
        try:
            self.notes.write(taken.path, incoming.data, None, portable=False)
            return taken
        except AlreadyExists:
            if self._etag_at(taken.path) == etag_of(incoming.data):
                return replace(taken, action="unchanged")  # another import was faster
            why = "this disk doesn't keep its name apart from another one"
        except StorageFailed as error:
            if not _is_name_refused(error):
                raise
            why = "this disk doesn't allow its name"
        renamed = replace(taken, path=_allowed_path(taken.path), why=why)
        self.notes.write(renamed.path, incoming.data, None)
        return renamed

    def _record(self, incoming: IncomingNote, path: NotePath) -> NoteRecord:
        data = incoming.data
        return read_note(path, data, etag_of(data), "", self.notes.layout, self.notes.kinds).record


def _other_path(path: NotePath, note_id: NoteId) -> NotePath:
    """Return a free name beside the path; each import gets the same one."""
    return NotePath(beside(path, f"-{note_id[-6:].lower()}"))


def _allowed_path(path: NotePath) -> NotePath:
    """Return the name for a disk that can't have the note's own; the same for each import."""
    return NotePath(beside(portable_path(path), f"-{text_hash(path, 6)}"))


def _is_name_refused(error: StorageFailed) -> bool:
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in {errno.EINVAL, errno.EILSEQ, errno.ENAMETOOLONG}
